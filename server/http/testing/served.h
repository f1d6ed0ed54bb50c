// An HttpServer over fake services, for tests that speak to it through a socket.
#ifndef TONDAR_SERVER_HTTP_TESTING_SERVED_H_
#define TONDAR_SERVER_HTTP_TESTING_SERVED_H_

#include <memory>

#include "server/http/http_server.h"
#include "server/http/testing/raw_client.h"
#include "server/service/testing/fake_services.h"

namespace tondar {

struct Served {
  explicit Served(HttpServerOptions options = {}) {
    options.address = "127.0.0.1";
    options.port = 0;
    auto created = HttpServer::Create(options, inference, control);
    TONDAR_CHECK(created.ok(), "{}", created.status().ToString());
    server = std::move(*created);
  }

  testing::FakeInferenceService inference;
  testing::FakeControlService control;
  std::unique_ptr<HttpServer> server;  // destroyed first
};

}  // namespace tondar

#endif  // TONDAR_SERVER_HTTP_TESTING_SERVED_H_
