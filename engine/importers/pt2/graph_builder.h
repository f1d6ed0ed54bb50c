// Makes the engine's graph and signature of a program.
#ifndef TONDAR_ENGINE_IMPORTERS_PT2_GRAPH_BUILDER_H_
#define TONDAR_ENGINE_IMPORTERS_PT2_GRAPH_BUILDER_H_

#include "engine/importers/importer.h"
#include "engine/importers/problems.h"
#include "engine/importers/pt2/program.h"
#include "engine/importers/pt2/weights.h"

namespace tondar::pt2 {

// Adds all that is broken or unsupported to `problems`; the result is only fit for use if there is nothing.
ImportedModel BuildModel(const Program& program, Weights& weights, Problems& problems);

}  // namespace tondar::pt2

#endif  // TONDAR_ENGINE_IMPORTERS_PT2_GRAPH_BUILDER_H_
