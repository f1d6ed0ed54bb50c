// Reads the JSON records of a PT2 archive. Field-driven: unknown members are ignored, as older and newer releases of
// PyTorch have other ones; unknown union tags are not.
#ifndef TONDAR_ENGINE_IMPORTERS_PT2_PROGRAM_READER_H_
#define TONDAR_ENGINE_IMPORTERS_PT2_PROGRAM_READER_H_

#include <memory>
#include <string>
#include <string_view>

#include "engine/importers/problems.h"
#include "engine/importers/pt2/program.h"

namespace tondar::pt2 {

// Both add what is wrong to `problems`; the result is only fit for use if nothing there is broken. `record` names the
// text in messages.
std::unique_ptr<Program> ReadProgram(const std::string& record, std::string_view text, Problems& problems);
Payloads ReadPayloads(const std::string& record, std::string_view text, Problems& problems);

}  // namespace tondar::pt2

#endif  // TONDAR_ENGINE_IMPORTERS_PT2_PROGRAM_READER_H_
