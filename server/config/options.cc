// The one table of options. To add one: a field in server_config.h and a row here.
#include "server/config/option_table.h"

namespace tondar {
namespace {

constexpr std::string_view kLogFormats[] = {"text", "json", "default", "ISO8601"};
constexpr std::string_view kInstructionSets[] = {"auto",   "baseline",    "avx2",
                                                 "avx512", "avx512_vnni", "avx512_bf16"};

constexpr std::string_view kGeneral = "General", kRepository = "Model repository", kHttp = "HTTP", kGrpc = "gRPC",
                           kMetrics = "Metrics", kExecution = "Execution", kLogging = "Logging";

using C = ServerConfig;

constexpr Option kOptions[] = {
    {"config", "", kGeneral, "FILE", TextField{&C::config, {}},
     "YAML or JSON file with any of the options below, under their file keys.", ""},
    {"exit-on-error", "", kGeneral, "BOOL", BoolField{&C::exit_on_error},
     "End with an error if a model wanted at start cannot be loaded; otherwise serve the others.", "true"},
    {"exit-timeout-secs", "", kGeneral, "N", SecondsField{&C::exit_timeout, 0, 86400},
     "How long requests in flight may go on after SIGTERM.", ""},

    {"model-repository", "model-store", kRepository, "DIR", ListField{&C::model_repository},
     "Directory of models: DIR/NAME/VERSION/model.pt2 or model.onnx. Repeat for more directories.", ""},
    {"model-control-mode", "", kRepository, "MODE", ModeField{&C::model_control_mode},
     "poll: load all models and follow changes of the directory. none: load all, once. explicit: load what "
     "--load-model and the repository API say.", ""},
    {"repository-poll-secs", "", kRepository, "SECS", FractionalSecondsField{&C::repository_poll, 0.01, 86400},
     "How often the directory is looked at in mode poll; fractions are fine.", ""},
    {"load-model", "", kRepository, "NAME", ListField{&C::load_model},
     "Model to load at start in mode explicit; repeat for more, * means all.", ""},
    {"strict-readiness", "", kRepository, "BOOL", BoolField{&C::strict_readiness},
     "Report ready only once the models wanted at start are loaded.", "true"},
    {"model-load-threads", "model-load-thread-count", kRepository, "N", IntField{&C::model_load_threads, 1, 256},
     "How many models load at the same time.", ""},
    {"default-max-batch-size", "", kRepository, "N", IntField{&C::default_max_batch_size, 0, 1 << 20},
     "Largest batch of a model that can batch and whose configuration names no max_batch_size; 0 leaves such models "
     "unbatched.", ""},

    {"allow-http", "", kHttp, "BOOL", BoolField{&C::allow_http}, "Serve REST.", "true"},
    {"http-address", "", kHttp, "ADDRESS", TextField{&C::http_address, {}}, "Address REST listens on.", ""},
    {"http-port", "", kHttp, "N", IntField{&C::http_port, 0, 65535}, "Port of REST; 0 takes a free one.", ""},
    {"http-threads", "http-thread-count", kHttp, "N", IntField{&C::http_threads, 1, 1024}, "Threads that serve REST.", ""},
    {"http-max-input-size", "", kHttp, "BYTES", SizeField{&C::http_max_input_size, 1, 1ull << 40},
     "Largest request body, also after decompression.", ""},

    {"allow-grpc", "", kGrpc, "BOOL", BoolField{&C::allow_grpc}, "Serve gRPC.", "true"},
    {"grpc-address", "", kGrpc, "ADDRESS", TextField{&C::grpc_address, {}}, "Address gRPC listens on.", ""},
    {"grpc-port", "", kGrpc, "N", IntField{&C::grpc_port, 0, 65535}, "Port of gRPC; 0 takes a free one.", ""},
    {"grpc-max-message-size", "", kGrpc, "BYTES", SizeField{&C::grpc_max_message_size, 1, INT32_MAX},
     "Largest message in either direction.", ""},
    {"grpc-use-ssl", "", kGrpc, "BOOL", BoolField{&C::grpc_use_ssl}, "Serve gRPC over TLS.", "true"},
    {"grpc-use-ssl-mutual", "", kGrpc, "BOOL", BoolField{&C::grpc_use_ssl_mutual},
     "Ask clients for a certificate too; implies --grpc-use-ssl.", "true"},
    {"grpc-server-cert", "", kGrpc, "FILE", TextField{&C::grpc_server_cert, {}}, "Certificate chain of the server, PEM.", ""},
    {"grpc-server-key", "", kGrpc, "FILE", TextField{&C::grpc_server_key, {}}, "Private key of the server, PEM.", ""},
    {"grpc-root-cert", "", kGrpc, "FILE", TextField{&C::grpc_root_cert, {}},
     "Authorities that client certificates must come from, PEM.", ""},

    {"allow-metrics", "", kMetrics, "BOOL", BoolField{&C::allow_metrics}, "Serve Prometheus metrics.", "true"},
    {"metrics-address", "", kMetrics, "ADDRESS", TextField{&C::metrics_address, {}}, "Address metrics listen on.", ""},
    {"metrics-port", "", kMetrics, "N", IntField{&C::metrics_port, 0, 65535}, "Port of metrics; 0 takes a free one.", ""},

    {"accelerator", "", kExecution, "NAME", TextField{&C::accelerator, {}},
     "Device that models run on: cpu, cuda:0, xpu, mps or auto.", ""},
    {"cpu-isa", "", kExecution, "NAME", TextField{&C::cpu_isa, kInstructionSets},
     "Highest CPU instruction set to use.", ""},
    {"threads", "", kExecution, "N", IntField{&C::threads, 0, 4096},
     "Threads of one inference on the CPU; 0 means one per core.", ""},

    {"log-format", "", kLogging, "FORMAT", TextField{&C::log_format, kLogFormats},
     "text for people, json for log collectors (one object a line), default and ISO8601 as other servers print.", ""},
    {"log-verbose", "", kLogging, "N", IntField{&C::log_verbose, 0, 2}, "0: off. 1: debug messages. 2: traces too.", "1"},
    {"log-info", "", kLogging, "BOOL", BoolField{&C::log_info}, "Print informative messages.", "true"},
    {"log-warning", "", kLogging, "BOOL", BoolField{&C::log_warning}, "Print warnings.", "true"},
    {"log-error", "", kLogging, "BOOL", BoolField{&C::log_error}, "Print errors.", "true"},
};

constexpr ForeignFlag kForeignFlags[] = {
    {"strict-model-config", false, "what a configuration leaves out is read from the model file"},
    {"disable-auto-complete-config", false, "what a configuration leaves out is read from the model file"},
    {"model-config-name", true, "configurations are called config.pbtxt or config.json"},
    {"model-namespacing", false, "a model's name must be unique over all repositories"},
    {"id", true, "the server is called tondar"},
    {"backend-directory", true, "there are no backend libraries"},
    {"backend-config", true, "there are no backend libraries; see --threads and --default-max-batch-size"},
    {"repoagent-directory", true, "there are no repository agents"},
    {"cache-directory", true, "there is no response cache"},
    {"cache-config", true, "there is no response cache"},
    {"response-cache-byte-size", true, "there is no response cache"},
    {"rate-limit", true, "instances are not rate limited"},
    {"rate-limit-resource", true, "instances are not rate limited"},
    {"pinned-memory-pool-byte-size", true, "memory is planned per model at load"},
    {"cuda-memory-pool-byte-size", true, "memory is planned per model at load"},
    {"cuda-virtual-address-size", true, "memory is planned per model at load"},
    {"buffer-manager-thread-count", true, "every request is gathered by the thread that runs it"},
    {"min-supported-compute-capability", true, "a device is used if its kernels compile"},
    {"model-load-gpu-limit", true, "memory is planned per model at load"},
    {"enable-peer-access", false, "one process uses one device"},
    {"host-policy", true, "there are no host policies"},
    {"allow-client-shm", false, "shared memory is not implemented"},
    {"allow-gpu-metrics", false, "metrics of GPUs come from their own exporters"},
    {"allow-cpu-metrics", false, "metrics of the machine's CPU and memory are always on"},
    {"metrics-interval-ms", true, "metrics are counted as things happen"},
    {"metrics-config", true, "histograms are always on"},
    {"grpc-infer-thread-count", true, "gRPC keeps its own threads"},
    {"grpc-infer-allocation-pool-size", true, "responses are not pooled"},
    {"grpc-infer-response-compression-level", true, "responses are not compressed"},
    {"grpc-keepalive-time", true, "gRPC's default holds"},
    {"grpc-keepalive-timeout", true, "gRPC's default holds"},
    {"grpc-keepalive-permit-without-calls", false, "pings without calls are permitted"},
    {"grpc-http2-max-pings-without-data", true, "gRPC's default holds"},
    {"grpc-http2-min-recv-ping-interval-without-data", true, "clients may ping every five seconds"},
    {"grpc-http2-max-ping-strikes", true, "gRPC's default holds"},
    {"grpc-max-connection-age", true, "connections live as long as clients keep them"},
    {"grpc-max-connection-age-grace", true, "connections live as long as clients keep them"},
    {"grpc-header-forward-pattern", true, "headers are not forwarded to models"},
    {"http-header-forward-pattern", true, "headers are not forwarded to models"},
    {"reuse-grpc-port", false, "a port belongs to one server"},
    {"reuse-http-port", false, "a port belongs to one server"},
    {"trace-file", true, "request tracing is not implemented"},
    {"trace-level", true, "request tracing is not implemented"},
    {"trace-rate", true, "request tracing is not implemented"},
    {"trace-count", true, "request tracing is not implemented"},
    {"trace-log-frequency", true, "request tracing is not implemented"},
    {"trace-config", true, "request tracing is not implemented"},
    {"log-file", true, "the log goes to standard error"},
    {"allow-sagemaker", false, "that protocol is not implemented"},
    {"sagemaker-port", true, "that protocol is not implemented"},
    {"allow-vertex-ai", false, "that protocol is not implemented"},
    {"vertex-ai-port", true, "that protocol is not implemented"},
    {"http-restricted-api", true, "access to single endpoints cannot be restricted; put a proxy in front", true},
    {"grpc-restricted-protocol", true, "access to single services cannot be restricted; put a proxy in front", true},
};

std::string Spelled(std::string_view flag, char separator, bool upper) {
  std::string text(flag);
  for (char& c : text) {
    if (c == '-') c = separator;
    if (upper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

}  // namespace

std::span<const Option> OptionTable() { return kOptions; }
std::span<const ForeignFlag> ForeignFlagTable() { return kForeignFlags; }

std::string OptionKey(const Option& option) { return Spelled(option.flag, '_', false); }
std::string OptionVariable(const Option& option) { return "TONDAR_" + Spelled(option.flag, '_', true); }

const Option* FindOptionByFlag(std::string_view flag) {
  for (const Option& option : kOptions) {
    if (option.flag == flag || (!option.alias.empty() && option.alias == flag)) return &option;
  }
  return nullptr;
}

const Option* FindOptionByKey(std::string_view key) {
  const std::string wanted = Spelled(key, '_', false);
  for (const Option& option : kOptions) {
    if (OptionKey(option) == wanted || (!option.alias.empty() && Spelled(option.alias, '_', false) == wanted)) return &option;
  }
  return nullptr;
}

}  // namespace tondar
