// The one table from our status codes to HTTP's, and HTTP's reason phrases.
#ifndef TONDAR_SERVER_HTTP_STATUS_CODE_H_
#define TONDAR_SERVER_HTTP_STATUS_CODE_H_

#include <string_view>

#include "engine/base/status.h"

namespace tondar::http {

int HttpStatusOf(StatusCode code);

// "Not Found" for 404; "" for codes this server never sends.
std::string_view ReasonPhrase(int http_status);

}  // namespace tondar::http

#endif  // TONDAR_SERVER_HTTP_STATUS_CODE_H_
