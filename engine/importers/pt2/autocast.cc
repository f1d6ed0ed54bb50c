#include "engine/importers/pt2/autocast.h"

#include <algorithm>

namespace tondar::pt2 {
namespace {

// Operators that run in the region's dtype, whatever the device.
constexpr std::string_view kLower[] = {
    "conv1d", "conv2d",           "conv3d",           "conv_tbc",         "_convolution", "convolution", "bmm",    "mm",
    "mv",     "baddbmm",          "addmm",            "addbmm",           "addmv",        "addr",        "linear", "matmul",
    "einsum", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "prelu",        "lstm_cell",   "gru_cell",
    "rnn_tanh_cell", "rnn_relu_cell", "chain_matmul", "linalg_multi_dot", "linalg_vecdot", "scaled_dot_product_attention",
    "lstm", "gru", "rnn_tanh", "rnn_relu",
};
// Operators that run in float32 on either device.
constexpr std::string_view kFloat32[] = {
    "prod", "cdist", "mse_loss", "nll_loss", "nll_loss2d", "smooth_l1_loss", "l1_loss", "huber_loss", "kl_div", "cosine_embedding_loss",
    "hinge_embedding_loss", "margin_ranking_loss", "triplet_margin_loss", "multi_margin_loss", "soft_margin_loss", "poisson_nll_loss",
    "binary_cross_entropy_with_logits", "multilabel_margin_loss", "cross_entropy_loss",
};
constexpr std::string_view kFloat32Cpu[] = {
    "avg_pool3d", "binary_cross_entropy", "grid_sampler", "polar", "quantile", "nanquantile", "stft", "trace", "view_as_complex",
    "cholesky_inverse", "cholesky_solve", "inverse", "pinverse", "max_pool3d", "adaptive_avg_pool3d", "reflection_pad1d",
    "reflection_pad2d", "replication_pad1d", "replication_pad2d", "replication_pad3d", "linalg_cond", "linalg_matrix_rank",
    "linalg_solve", "linalg_cholesky", "linalg_svdvals", "linalg_eigvalsh", "linalg_inv", "linalg_qr", "linalg_svd", "linalg_eigh",
    "linalg_lstsq",
};
constexpr std::string_view kFloat32Cuda[] = {
    "acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p", "reciprocal", "rsqrt", "sinh", "tan", "pow",
    "softplus", "layer_norm", "native_layer_norm", "group_norm", "norm", "cumprod", "cumsum", "dist", "pdist", "renorm", "logsumexp",
    "softmax", "log_softmax", "sum", "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "upsample_linear1d",
    "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d", "cosine_similarity", "softmin",
};
// Operators whose tensors take the widest of their dtypes.
constexpr std::string_view kWidest[] = {"stack", "cat", "index_copy"};
constexpr std::string_view kWidestCuda[] = {"addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "grid_sampler",
                                            "index_put", "scatter_add", "tensordot"};

bool Holds(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "linear" of "aten.linear.default".
std::string_view NameOf(std::string_view target) {
  if (!target.starts_with("aten.")) return {};
  target.remove_prefix(5);
  return target.substr(0, target.find('.'));
}

}  // namespace

DType AutocastDType(const Autocast& region, std::string_view target, std::span<Value* const> inputs) {
  const std::string_view name = NameOf(target);
  const bool cuda = region.device == "cuda";
  if (Holds(kLower, name)) return region.dtype;
  if (Holds(kFloat32, name) || Holds(cuda ? std::span<const std::string_view>(kFloat32Cuda) : kFloat32Cpu, name)) return DType::kFloat32;
  if (!Holds(kWidest, name) && !(cuda && Holds(kWidestCuda, name))) return DType::kInvalid;
  const bool wide = std::any_of(inputs.begin(), inputs.end(), [](const Value* x) { return x != nullptr && x->dtype == DType::kFloat32; });
  return wide ? DType::kFloat32 : DType::kInvalid;
}

}  // namespace tondar::pt2
