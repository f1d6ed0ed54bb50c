// Ties importers, passes, compiler and runtime together behind the engine's door.
#include <algorithm>
#include <map>

#include "engine/accelerators/accelerator.h"
#include "engine/api/engine.h"
#include "engine/base/executor.h"
#include "engine/base/log.h"
#include "engine/base/file_source.h"
#include "engine/compiler/compile.h"
#include "engine/importers/foreign_formats.h"
#include "engine/importers/importer.h"
#include "engine/importers/onnx/onnx_importer.h"
#include "engine/importers/pt2/pt2_importer.h"
#include "engine/passes/pipeline.h"
#include "engine/passes/row_independence.h"
#include "engine/runtime/session.h"

namespace tondar {
namespace {

// Source formats, in the order they are asked.
constexpr const Importer* kImporters[] = {&kPt2Importer, &kOnnxImporter};

// Every accelerator of the process, made on first use and kept.
class AcceleratorSet {
 public:
  explicit AcceleratorSet(AcceleratorOptions options) : options_(std::move(options)) { RegisterBackends(registry_); }

  // "cpu", "cuda:1", "auto". NotFound: no such accelerator in this build, or no such device.
  Result<Device*> Open(std::string_view name) TONDAR_EXCLUDES(mu_) {
    const size_t colon = name.find(':');
    const std::string kind(name == "auto" ? "cpu" : name.substr(0, colon));
    TONDAR_ASSIGN_OR_RETURN(const int index, DeviceIndex(name, colon));
    MutexLock lock(mu_);
    TONDAR_ASSIGN_OR_RETURN(Accelerator * accelerator, Make(kind));
    return accelerator->OpenDevice(index);
  }

 private:
  static Result<int> DeviceIndex(std::string_view name, size_t colon) {
    if (colon == std::string_view::npos) return 0;
    int index = 0;
    const std::string_view digits = name.substr(colon + 1);
    for (char digit : digits) {
      if (digit < '0' || digit > '9' || index > 1000) {
        return InvalidArgument("accelerator '{}': expected KIND or KIND:INDEX, as in cuda:0", name);
      }
      index = index * 10 + (digit - '0');
    }
    if (digits.empty()) return InvalidArgument("accelerator '{}': expected a device index after ':'", name);
    return index;
  }

  Result<Accelerator*> Make(const std::string& kind) TONDAR_REQUIRES(mu_) {
    std::unique_ptr<Accelerator>& made = made_[kind];
    if (made == nullptr) {
      const AcceleratorRegistry::Entry* entry = registry_.Find(kind);
      if (entry == nullptr) {
        std::string known;
        for (const auto& row : registry_.entries()) known += (known.empty() ? "" : ", ") + row.name;
        return NotFound("accelerator '{}' is not in this build; it has: {}", kind, known);
      }
      TONDAR_ASSIGN_OR_RETURN(made, entry->factory(options_));
    }
    return made.get();
  }

  const AcceleratorOptions options_;
  AcceleratorRegistry registry_;  // fixed after construction
  Mutex mu_;
  std::map<std::string, std::unique_ptr<Accelerator>> made_ TONDAR_GUARDED_BY(mu_);
};

// Compiles and runs a graph without inputs on the CPU.
Result<std::vector<Constant>> Evaluate(Graph& graph, Device& cpu) {
  TONDAR_RETURN_IF_ERROR(Optimise(graph, {}));
  TONDAR_ASSIGN_OR_RETURN(CompiledGraph compiled, Compile(graph, {}));
  TONDAR_ASSIGN_OR_RETURN(std::shared_ptr<const PreparedGraph> prepared,
                          PreparedGraph::Create(std::move(compiled), cpu));
  const Signature none;
  TONDAR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                          DeviceSession::Create(nullptr, none, prepared, {.capture = false}));
  TONDAR_ASSIGN_OR_RETURN(const Binding* binding, session->Bind({}));
  TONDAR_RETURN_IF_ERROR(session->Run());
  std::vector<Constant> results;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    results.push_back(CopyToConstant(graph.outputs[i]->name, binding->outputs[i]));
  }
  return results;
}

class LoadedModel final : public Model, public std::enable_shared_from_this<LoadedModel> {
 public:
  LoadedModel(ImportedModel imported, std::string graph_text, std::shared_ptr<const PreparedGraph> prepared,
              std::shared_ptr<AcceleratorSet> accelerators)
      : accelerators_(std::move(accelerators)),
        signature_(std::move(imported.signature)),
        platform_(std::move(imported.platform)),
        producer_(std::move(imported.producer)),
        source_operators_(imported.source_operators.begin(), imported.source_operators.end()),
        graph_text_(std::move(graph_text)),
        prepared_(std::move(prepared)) {}

  const Signature& signature() const override { return signature_; }
  std::string_view platform() const override { return platform_; }
  std::string_view producer() const override { return producer_; }
  size_t weight_bytes() const override { return prepared_->weight_bytes() + prepared_->packed_bytes(); }
  std::string DescribePlan() const override { return ToString(prepared_->graph()); }
  std::string DescribeGraph() const override { return graph_text_; }
  std::vector<std::pair<std::string, int>> source_operators() const override { return source_operators_; }

  Result<std::unique_ptr<Session>> CreateSession(const SessionOptions& options) const override {
    SessionOptions concrete = options;
    if (concrete.threads <= 0) concrete.threads = CoreCount();
    return DeviceSession::Create(shared_from_this(), signature_, prepared_, concrete);
  }

 private:
  // shared_ptr: devices must outlive the models and sessions on them, whatever order the user drops things in.
  const std::shared_ptr<AcceleratorSet> accelerators_;
  const Signature signature_;
  const std::string platform_, producer_;
  const std::vector<std::pair<std::string, int>> source_operators_;
  const std::string graph_text_;
  const std::shared_ptr<const PreparedGraph> prepared_;
};

class HostEngine final : public Engine {
 public:
  HostEngine(std::shared_ptr<AcceleratorSet> accelerators, Device& cpu)
      : accelerators_(std::move(accelerators)), cpu_(cpu) {}

  std::string_view cpu_isa() const override { return cpu_.properties().architecture; }

  Status CheckAccelerator(const std::string& name) override { return accelerators_->Open(name).status(); }

  Result<std::shared_ptr<const Model>> Load(const std::string& path, const LoadOptions& options) override {
    auto progress = [&](std::string_view phase) {
      if (options.progress) options.progress(phase);
    };
    TONDAR_ASSIGN_OR_RETURN(Device * device, accelerators_->Open(options.accelerator));
    progress("reading");
    TONDAR_ASSIGN_OR_RETURN(ImportedModel imported, Read(path, &Importer::import));
    for (const std::string& guard : imported.unchecked_guards) {
      LogWarning("{}: the export's condition '{}' is not checked on requests", path, guard);
    }
    progress("optimising");
    PassContext context;
    context.evaluate = [this](Graph& graph) { return Evaluate(graph, cpu_); };
    if (Status status = Optimise(*imported.graph, context); !status.ok()) return status.Annotated(path);
    if (imported.signature.batchable) {
      imported.signature.batch_doubt = WhyRowsMix(*imported.graph, imported.signature.batch_symbol);
    }
    std::string graph_text = ToText(*imported.graph);
    progress("compiling");
    Result<CompiledGraph> compiled = Compile(*imported.graph, {});
    if (!compiled.ok()) return compiled.status().Annotated(path);
    compiled->terms = InUserTerms(imported.signature);
    imported.graph.reset();  // holds weights that kernels are about to pack
    progress("preparing kernels");
    Result<std::shared_ptr<const PreparedGraph>> prepared = PreparedGraph::Create(std::move(*compiled), *device);
    if (!prepared.ok()) return prepared.status().Annotated(path);
    return std::shared_ptr<const Model>(std::make_shared<LoadedModel>(
        std::move(imported), std::move(graph_text), std::move(*prepared), accelerators_));
  }

  Result<ModelDescription> Describe(const std::string& path) override {
    TONDAR_ASSIGN_OR_RETURN(ImportedModel model, Read(path, &Importer::describe));
    return ModelDescription{std::move(model.signature), std::move(model.platform), std::move(model.producer),
                            {model.source_operators.begin(), model.source_operators.end()}, std::move(model.refusal)};
  }

 private:
  using ReadFunction = Result<ImportedModel> (*Importer::*)(const ByteSource& file);

  static Result<ImportedModel> Read(const std::string& path, ReadFunction read) {
    TONDAR_RETURN_IF_ERROR(DescribeForeignFolder(path));
    TONDAR_ASSIGN_OR_RETURN(const std::unique_ptr<FileSource> file, FileSource::Open(path));
    Result<ImportedModel> imported = ReadBytesOf(*file, read);
    // Whatever was found in a file that was written to meanwhile, good or bad, is not what the file says.
    TONDAR_RETURN_IF_ERROR(file->CheckUnchanged());
    return imported;
  }

  static Result<ImportedModel> ReadBytesOf(const ByteSource& file, ReadFunction read) {
    for (const Importer* importer : kImporters) {
      if (importer->matches(file)) return (importer->*read)(file);
    }
    return DescribeForeignFormat(file);
  }

  const std::shared_ptr<AcceleratorSet> accelerators_;
  Device& cpu_;
};

}  // namespace

Result<std::unique_ptr<Engine>> Engine::Create(const EngineOptions& options) {
  auto accelerators = std::make_shared<AcceleratorSet>(AcceleratorOptions{.cpu_isa = options.cpu_isa});
  TONDAR_ASSIGN_OR_RETURN(Device * cpu, accelerators->Open("cpu"));
  return std::unique_ptr<Engine>(std::make_unique<HostEngine>(std::move(accelerators), *cpu));
}

}  // namespace tondar
