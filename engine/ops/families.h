// The families of operators: one function per file, listed here once.
#ifndef TONDAR_ENGINE_OPS_FAMILIES_H_
#define TONDAR_ENGINE_OPS_FAMILIES_H_

#include <vector>

#include "engine/ops/op_schema.h"

namespace tondar {

std::vector<OpSchema> ViewOps();
std::vector<OpSchema> CastOps();
std::vector<OpSchema> FactoryOps();
std::vector<OpSchema> UnaryOps();
std::vector<OpSchema> BinaryOps();
std::vector<OpSchema> ActivationOps();
std::vector<OpSchema> MatMulOps();
std::vector<OpSchema> ConvolutionOps();
std::vector<OpSchema> PoolingOps();
std::vector<OpSchema> ReductionOps();
std::vector<OpSchema> NormalisationOps();
std::vector<OpSchema> AttentionOps();
std::vector<OpSchema> IndexingOps();
std::vector<OpSchema> QuantisationOps();
std::vector<OpSchema> ResizeOps();
std::vector<OpSchema> ScatterOps();
std::vector<OpSchema> OrderingOps();
std::vector<OpSchema> EmbeddingBagOps();
std::vector<OpSchema> LossOps();
std::vector<OpSchema> ResamplingOps();
std::vector<OpSchema> ContractionOps();
std::vector<OpSchema> SpecialOps();
std::vector<OpSchema> ArrangementOps();
std::vector<OpSchema> DataSizeOps();
std::vector<OpSchema> ControlOps();
std::vector<OpSchema> RecurrentOps();
std::vector<OpSchema> LinalgOps();
std::vector<OpSchema> CompositionOps();

inline constexpr std::vector<OpSchema> (*kFamilies[])() = {
    ViewOps, CastOps, FactoryOps, UnaryOps, BinaryOps, ActivationOps,
    MatMulOps, ConvolutionOps, PoolingOps, ReductionOps, NormalisationOps, AttentionOps, IndexingOps, QuantisationOps,
    ResizeOps,
    ScatterOps, OrderingOps, EmbeddingBagOps, LossOps, ResamplingOps, ContractionOps,
    SpecialOps, ArrangementOps, DataSizeOps, ControlOps, RecurrentOps, LinalgOps, CompositionOps,
};

}  // namespace tondar

#endif  // TONDAR_ENGINE_OPS_FAMILIES_H_
