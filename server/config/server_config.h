// ServerConfig: the validated settings of the process, made from flags, environment and file by options.cc.
#ifndef TONDAR_SERVER_CONFIG_SERVER_CONFIG_H_
#define TONDAR_SERVER_CONFIG_SERVER_CONFIG_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tondar {

enum class ModelControlMode : uint8_t { kNone, kPoll, kExplicit };

// One row of options.cc fills each field; names equal the flags with underscores.
struct ServerConfig {
  std::string config;  // the file that some of the rest came from; "" = none

  std::vector<std::string> model_repository;
  ModelControlMode model_control_mode = ModelControlMode::kPoll;
  std::chrono::milliseconds repository_poll{1000};
  std::vector<std::string> load_model;  // explicit mode: loaded at start; "*" = all
  bool strict_readiness = true;
  bool exit_on_error = true;
  std::chrono::seconds exit_timeout{30};
  int model_load_threads = 2;
  int32_t default_max_batch_size = 64;

  bool allow_http = true, allow_grpc = true, allow_metrics = true;
  std::string http_address = "0.0.0.0", grpc_address = "0.0.0.0", metrics_address = "0.0.0.0";
  int http_port = 8000, grpc_port = 8001, metrics_port = 8002;  // 0 = any free port, printed at start
  int http_threads = 2;
  size_t http_max_input_size = 64u << 20;  // bytes of a body, also after decompression
  size_t grpc_max_message_size = INT32_MAX;
  // TLS of the gRPC front end, all files in PEM. Mutual: clients must show a certificate signed by grpc_root_cert.
  bool grpc_use_ssl = false, grpc_use_ssl_mutual = false;
  std::string grpc_server_cert, grpc_server_key, grpc_root_cert;

  std::string accelerator = "cpu";
  std::string cpu_isa = "auto";
  int threads = 0;  // of one inference; 0 = one per core

  std::string log_format = "text";  // text, json, default, ISO8601
  int log_verbose = 0;
  bool log_info = true, log_warning = true, log_error = true;
};

}  // namespace tondar

#endif  // TONDAR_SERVER_CONFIG_SERVER_CONFIG_H_
