// The door of the engine: load a model file, make sessions of it.
//
//   TONDAR_ASSIGN_OR_RETURN(auto engine, Engine::Create({}));
//   TONDAR_ASSIGN_OR_RETURN(auto model, engine->Load("model.pt2", {}));
//   TONDAR_ASSIGN_OR_RETURN(auto session, model->CreateSession({.threads = 2}));
//   TONDAR_ASSIGN_OR_RETURN(const Binding* io, session->Bind(shapes));
//   ... fill io->inputs ...; TONDAR_RETURN_IF_ERROR(session->Run()); ... read io->outputs ...
#ifndef TONDAR_ENGINE_API_ENGINE_H_
#define TONDAR_ENGINE_API_ENGINE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/api/session.h"
#include "engine/api/signature.h"
#include "engine/base/status.h"

namespace tondar {

struct EngineOptions {
  // Highest CPU instruction set to use: "auto", "baseline", "avx2", "avx512", "avx512_vnni", "avx512_bf16".
  std::string cpu_isa = "auto";
};

struct LoadOptions {
  std::string accelerator = "cpu";  // "cpu", "cuda:0", "xpu", "mps", "auto"
  // Called with a short word for the phase ("reading", "optimising", ...) as loading goes on; may be empty.
  std::function<void(std::string_view phase)> progress;
};

struct SessionOptions {
  int threads = 1;           // of one call; 0 means one per core
  int max_cached_plans = 32; // shapes whose plan is kept; least recently used goes first
  bool capture = true;       // replay captured graphs; false runs step by step
};

// A loaded, optimised model: immutable, shared by its sessions. Thread-safe.
class Model {
 public:
  virtual ~Model() = default;

  virtual const Signature& signature() const = 0;
  virtual std::string_view platform() const = 0;  // "pt2" or "onnx"
  virtual std::string_view producer() const = 0;  // "torch 2.15.0"
  virtual size_t weight_bytes() const = 0;        // as in the file, and what the device packed of them

  // Unimplemented: the accelerator cannot run a step and may not fall back; names the steps.
  virtual Result<std::unique_ptr<Session>> CreateSession(const SessionOptions& options) const = 0;

  // The compiled plan, one line per step, for people.
  virtual std::string DescribePlan() const = 0;
  // The optimised graph in text IR.
  virtual std::string DescribeGraph() const = 0;
  // Operators as they came from the file and how often, sorted by name.
  virtual std::vector<std::pair<std::string, int>> source_operators() const = 0;
};

// What a file says of its model, whether or not it can be loaded.
struct ModelDescription {
  Signature signature;  // of a model that is not supported: as far as it could be read
  std::string platform, producer;
  std::vector<std::pair<std::string, int>> source_operators;
  Status refusal;  // OK, or Unimplemented with all that is not supported
};

// Holds the accelerators of the process. Thread-safe; models keep what they need of it alive.
class Engine {
 public:
  virtual ~Engine() = default;

  // InvalidArgument: an unknown instruction set, or one that this CPU lacks.
  static Result<std::unique_ptr<Engine>> Create(const EngineOptions& options);

  // OK if models can be loaded for the accelerator ("cuda:0"); else as Load would fail. Opens the device.
  virtual Status CheckAccelerator(const std::string& name) = 0;

  // Reads, optimises and compiles the file. InvalidArgument: broken, with all that is wrong in one message.
  // Unimplemented: holds operators, dtypes or payloads that are not supported, all of them listed. NotFound: no file.
  virtual Result<std::shared_ptr<const Model>> Load(const std::string& path, const LoadOptions& options) = 0;

  // Reads the file without compiling it. InvalidArgument: broken. NotFound: no file. Unimplemented: of a format that
  // holds no program that could be described.
  virtual Result<ModelDescription> Describe(const std::string& path) = 0;

  // The instruction set in use: "avx512_bf16".
  virtual std::string_view cpu_isa() const = 0;
};

}  // namespace tondar

#endif  // TONDAR_ENGINE_API_ENGINE_H_
