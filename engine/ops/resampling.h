// What upsampling operators share.
#ifndef TONDAR_ENGINE_OPS_RESAMPLING_H_
#define TONDAR_ENGINE_OPS_RESAMPLING_H_

#include "engine/ir/graph.h"

namespace tondar {

// The forms without ".vec" give one optional factor per dim, where the operators have a list; 0 stands for none.
Status CollectScales(Node& node, const Attributes& arguments);

}  // namespace tondar

#endif  // TONDAR_ENGINE_OPS_RESAMPLING_H_
