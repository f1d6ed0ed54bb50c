// Step bodies and loop programs as text.
#ifndef TONDAR_ENGINE_IR_STEP_TEXT_H_
#define TONDAR_ENGINE_IR_STEP_TEXT_H_

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/ir/graph.h"
#include "engine/ir/text_scanner.h"

namespace tondar {

// A step body taken apart: its parameters and its non-empty programs by name.
struct StepText {
  Attributes parameters;
  std::vector<std::pair<std::string_view, const LoopProgram*>> programs;
};
StepText TakeApart(const StepBody& body);

// The body of kind `kind` ("map") with these parameters. InvalidArgument: unknown kind, a parameter is missing, unknown
// or of the wrong type.
Result<StepBody> MakeStepBody(std::string_view kind, const Attributes& parameters);
// The program of that name in the body; null if the kind has none.
LoopProgram* ProgramOf(StepBody& body, std::string_view name);

// "{ ... }" with each line indented by `indent`.
std::string ProgramText(const LoopProgram& program, std::span<const SymbolInfo> symbols, std::string_view indent);
Result<LoopProgram> ParseProgram(TextScanner& scanner, std::span<const SymbolInfo> symbols);

}  // namespace tondar

#endif  // TONDAR_ENGINE_IR_STEP_TEXT_H_
