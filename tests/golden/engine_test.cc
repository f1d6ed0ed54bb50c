// Every operator on the CPU: passes, compiler, kernels and session, against the values of the framework it comes from.
#include <gtest/gtest.h>

#include "engine/accelerators/accelerator.h"
#include "engine/compiler/compile.h"
#include "engine/passes/pipeline.h"
#include "engine/runtime/session.h"
#include "tests/golden/golden_case.h"
#include "tests/golden/tested_isa.h"

namespace tondar {
namespace {

// The process's CPU device; lives to its end, as the kernels that point to it do.
Result<Device*> CpuDevice() {
  static AcceleratorRegistry registry;
  static std::unique_ptr<Accelerator> cpu;
  if (cpu == nullptr) {
    RegisterBackends(registry);
    TONDAR_ASSIGN_OR_RETURN(cpu, registry.Find("cpu")->factory({.cpu_isa = TestedIsa()}));
  }
  return cpu->OpenDevice(0);
}

Signature SignatureOf(const Graph& graph) {
  Signature signature;
  for (const Value* input : graph.inputs) signature.inputs.push_back({input->name, input->dtype, input->shape});
  for (const Value* output : graph.outputs) signature.outputs.push_back({output->name, output->dtype, output->shape});
  signature.symbols = graph.symbols;
  return signature;
}

Result<std::vector<Constant>> RunOnCpu(const GoldenCase& golden) {
  TONDAR_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, BuildGraph(golden));
  const Signature signature = SignatureOf(*graph);
  TONDAR_RETURN_IF_ERROR(Optimise(*graph, {}));
  TONDAR_ASSIGN_OR_RETURN(Device * cpu, CpuDevice());
  TONDAR_ASSIGN_OR_RETURN(CompiledGraph compiled, Compile(*graph, {}));
  TONDAR_ASSIGN_OR_RETURN(auto prepared, PreparedGraph::Create(std::move(compiled), *cpu));
  TONDAR_ASSIGN_OR_RETURN(auto session, DeviceSession::Create(nullptr, signature, prepared, {}));
  std::vector<Dims> shapes;
  for (const Constant& input : golden.inputs) shapes.push_back(input.view.shape);
  TONDAR_ASSIGN_OR_RETURN(const Binding* binding, session->Bind(shapes));
  std::vector<Constant> results;
  for (int run = 0; run < 2; ++run) {  // the second may be a replay
    for (size_t i = 0; i < golden.inputs.size(); ++i) CopyElements(golden.inputs[i].view, binding->inputs[i]);
    TONDAR_RETURN_IF_ERROR(session->Run());
  }
  for (const TensorView& output : binding->outputs) results.push_back(CopyToConstant("result", output));
  return results;
}

class CpuGolden : public testing::TestWithParam<size_t> {};

TEST_P(CpuGolden, AgreesWithTheSource) {
  const GoldenCase& golden = GoldenCases()[GetParam()];
  const Result<std::vector<Constant>> actual = RunOnCpu(golden);
  if (golden.error) {
    ASSERT_FALSE(actual.ok()) << "expected " << *golden.error;
    EXPECT_EQ(StatusCodeName(actual.status().code()), *golden.error) << actual.status().ToString();
    return;
  }
  ASSERT_TRUE(actual.ok()) << actual.status().ToString();
  EXPECT_EQ(Difference(golden, *actual), "");
}

std::vector<size_t> AllCases() {
  std::vector<size_t> indices(GoldenCases().size());
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = i;
  return indices;
}

INSTANTIATE_TEST_SUITE_P(Ops, CpuGolden, testing::ValuesIn(AllCases()),
                         [](const auto& info) { return GoldenCases()[info.param].name; });

}  // namespace
}  // namespace tondar
