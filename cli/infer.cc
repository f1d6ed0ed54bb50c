// `tondar infer`: runs a model once on arrays from a file.
#include <CLI/CLI.hpp>

#include "cli/model_run.h"
#include "cli/verbs.h"

namespace tondar {
namespace {

void PrintOutputs(const ModelRun& run) {
  const std::vector<TensorSpec>& outputs = run.model().signature().outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::printf("%s: %s %s\n", outputs[i].name.c_str(), std::string(Name(outputs[i].dtype)).c_str(),
                ToString(run.binding().outputs[i].shape).c_str());
  }
}

Status Infer(const ModelRunOptions& options, const std::string& inputs, const std::string& output) {
  TONDAR_ASSIGN_OR_RETURN(const std::unique_ptr<ModelRun> run, ModelRun::Create(options));
  TONDAR_RETURN_IF_ERROR(run->SetInputs(inputs, 0));
  TONDAR_RETURN_IF_ERROR(run->session().Run());
  if (!output.empty()) TONDAR_RETURN_IF_ERROR(run->WriteOutputs(output, false));
  PrintOutputs(*run);
  return OkStatus();
}

}  // namespace

int RunInfer(int argc, char** argv) {
  CLI::App app("Runs a model once. Arrays are named as the model's inputs and outputs.", "tondar infer");
  ModelRunOptions options;
  std::string inputs, output;
  app.add_option("--model", options.model, "model file (.pt2 or .onnx)")->required();
  app.add_option("--inputs", inputs, ".npz file with one array per input")->required();
  app.add_option("--output", output, ".npz file to write, one array per output");
  app.add_option("--accelerator", options.accelerator, "where to run")->capture_default_str();
  app.add_option("--threads", options.threads, "threads of the call; 0 = one per core")->capture_default_str()->check(CLI::Range(0, 1024));
  app.add_option("--cpu-isa", options.cpu_isa, "highest CPU instruction set to use")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const Status status = Infer(options, inputs, output);
  return status.ok() ? 0 : Fail("infer", status);
}

}  // namespace tondar
