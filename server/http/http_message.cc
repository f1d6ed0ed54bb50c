#include "server/http/http_message.h"

#include "server/http/json_writer.h"
#include "server/http/status_code.h"

namespace tondar::http {

HttpResponse ErrorResponse(int http_status, std::string_view text) {
  HttpResponse response;
  response.status = http_status;
  JsonWriter json(response.text);
  json.BeginObject();
  json.Key("error");
  json.String(text);
  json.EndObject();
  return response;
}

HttpResponse ErrorResponse(const Status& status) {
  return ErrorResponse(HttpStatusOf(status.code()), status.message());
}

}  // namespace tondar::http
