#include "engine/accelerators/cpu/loop_support.h"

#include "engine/accelerators/cpu/scan_functions.h"
#include "engine/accelerators/cpu/tile_evaluator.h"

namespace tondar::cpu {
namespace {

Status SupportsOperands(const Step& step) {
  for (const std::vector<Operand>* operands : {&step.inputs, &step.outputs}) {
    for (const Operand& operand : *operands) {
      if (!LaneOf(operand.dtype)) return Unimplemented("step '{}': an operand of dtype {}", step.name, Name(operand.dtype));
    }
  }
  return OkStatus();
}

Status SupportsReduce(const ReduceStep& step) {
  TONDAR_RETURN_IF_ERROR(TileEvaluator::Supports(step.program));
  return step.finish.empty() ? OkStatus() : TileEvaluator::Supports(step.finish);
}

Status SupportsScan(const ScanStep& step) {
  const bool positioned = step.op != ReduceOp::kSum && step.op != ReduceOp::kProduct;
  const std::optional<Lane> lane = LaneOf(step.accumulator);
  if (positioned && (!lane || PositionedScanFor(step.op, *lane) == nullptr)) return Unimplemented("a scan of {}", Name(step.accumulator));
  return TileEvaluator::Supports(step.program);
}

}  // namespace

Status SupportsLoopStep(const Step& step) {
  TONDAR_RETURN_IF_ERROR(SupportsOperands(step));
  Status status;
  if (const auto* map = std::get_if<MapStep>(&step.body)) status = TileEvaluator::Supports(map->program);
  if (const auto* reduce = std::get_if<ReduceStep>(&step.body)) status = SupportsReduce(*reduce);
  if (const auto* scan = std::get_if<ScanStep>(&step.body)) status = SupportsScan(*scan);
  return status.Annotated(fmt::format("step '{}'", step.name));
}

Status CheckOperands(const KernelArguments& arguments, size_t outputs, size_t rank) {
  if (arguments.outputs.size() != outputs) return Internal("{} outputs, expected {}", arguments.outputs.size(), outputs);
  for (const DeviceTensor& output : arguments.outputs) {
    if (output.shape.size() != rank) return Internal("output {} has rank {}, expected {}", ToString(output.shape), output.shape.rank(), rank);
  }
  return OkStatus();
}

std::vector<int> DimRange(int first, int count) {
  std::vector<int> dims;
  for (int i = 0; i < count; ++i) dims.push_back(first + i);
  return dims;
}

}  // namespace tondar::cpu
