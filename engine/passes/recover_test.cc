// Pattern recovery: what exporters write out becomes one operator again, and near misses stay as they are.
#include <gtest/gtest.h>

#include "engine/passes/testing/run_pass.h"

namespace tondar {
namespace {

// Decomposed attention of torch's CPU export, its mask and guard included; the guard fills `guard_fill`.
std::string Attention(std::string_view guard_fill) {
  return fmt::format(R"(graph g {{
  symbol b [1, 8]
  symbol s [1, 64]
  input %q: float32 [b, 4, s, 8]
  input %k: float32 [b, 4, s, 8]
  input %v: float32 [b, 4, s, 8]
  input %mask: float32 [b, 1, 1, s]
  constant %zero: float32 [] = {}
  %kt: float32 [b, 4, 8, s] = permute(%k, dims=[0, 1, 3, 2])
  %qs: float32 [b, 4, s, 8] = mul(%q, _, other=0.5)
  %ks: float32 [b, 4, 8, s] = mul(%kt, _, other=0.5)
  %q3: float32 [4*b, s, 8] = reshape(%qs, shape=[4*b, s, 8])
  %k3: float32 [4*b, 8, s] = reshape(%ks, shape=[4*b, 8, s])
  %qk: float32 [4*b, s, s] = bmm(%q3, %k3)
  %qk4: float32 [b, 4, s, s] = reshape(%qk, shape=[b, 4, s, s])
  %scores: float32 [b, 4, s, s] = add(%qk4, %mask)
  %p: float32 [b, 4, s, s] = softmax(%scores, dim=-1)
  %hidden: bool [b, 4, s, s] = eq(%scores, _, other=-inf)
  %seen: bool [b, 4, s, s] = logical_not(%hidden)
  %any: bool [b, 4, s, 1] = any(%seen, dim=[-1], keepdim=true)
  %none: bool [b, 4, s, 1] = logical_not(%any)
  %guarded: float32 [b, 4, s, s] = where(%none, %zero, %p)
  %p3: float32 [4*b, s, s] = reshape(%guarded, shape=[4*b, s, s])
  %v3: float32 [4*b, s, 8] = reshape(%v, shape=[4*b, s, 8])
  %pv: float32 [4*b, s, 8] = bmm(%p3, %v3)
  return %pv
}})", guard_fill);
}

bool Contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(RecoverAttentionTest, FindsTheDecomposedForm) {
  const std::string nodes = NodesOf(RunPass("recover_attention", Attention("0")));
  EXPECT_TRUE(Contains(nodes, "= attention")) << nodes;
  EXPECT_TRUE(Contains(nodes, "scale=0.25")) << nodes;
  EXPECT_TRUE(Contains(nodes, "%mask")) << nodes;
}

TEST(RecoverAttentionTest, AGuardThatFillsSomethingElseStays) {
  EXPECT_FALSE(Contains(NodesOf(RunPass("recover_attention", Attention("1"))), "= attention"));
}

TEST(RecoverAttentionTest, FindsTheGuardOfOnnxExports) {
  const std::string nodes = NodesOf(RunPass("recover_attention", R"(graph g {
  symbol b [1, 8]
  input %q: float32 [b, 4, 3, 8]
  input %k: float32 [b, 4, 8, 3]
  input %v: float32 [b, 4, 3, 8]
  constant %zero: float32 [] = 0
  %scores: float32 [b, 4, 3, 3] = matmul(%q, %k)
  %p: float32 [b, 4, 3, 3] = softmax(%scores, dim=-1)
  %hidden: bool [b, 4, 3, 3] = isnan(%p)
  %guarded: float32 [b, 4, 3, 3] = where(%hidden, %zero, %p)
  %out: float32 [b, 4, 3, 8] = matmul(%guarded, %v)
  return %out
})"));
  EXPECT_TRUE(Contains(nodes, "= attention")) << nodes;
}

// w is [3, 2]; the bias has `columns` elements.
std::string Layer(int columns) {
  return fmt::format(R"(graph g {{
  symbol b [1, 8]
  input %x: float32 [b, 5, 3]
  constant %w: float32 [3, 2] = {{1, 2, 3, 4, 5, 6}}
  constant %bias: float32 [{0}] = {1}
  %xw: float32 [b, 5, 2] = matmul(%x, %w)
  %y: float32 [b, 5, 2] = add(%bias, %xw)
  return %y
}})", columns, columns == 1 ? "{7}" : "{7, 8}");
}

TEST(RecoverLinearTest, JoinsAProductAndItsBias) {
  const std::string nodes = NodesOf(RunPass("recover_linear", Layer(2)));
  EXPECT_TRUE(Contains(nodes, "= linear(%x")) << nodes;
}

TEST(RecoverLinearTest, ANumberIsNoBias) {
  const std::string nodes = NodesOf(RunPass("recover_linear", Layer(1)));
  EXPECT_TRUE(Contains(nodes, "= add")) << nodes;
  EXPECT_FALSE(Contains(nodes, "= linear")) << nodes;
}

TEST(RecoverGeluTest, FindsBothFormulas) {
  const std::string erf = RunPass("recover_gelu", R"(graph g {
  input %x: float32 [4]
  %a: float32 [4] = div(%x, _, other=1.4142135623730951)
  %b: float32 [4] = erf(%a)
  %c: float32 [4] = add(%b, _, other=1)
  %d: float32 [4] = mul(%x, _, other=0.5)
  %e: float32 [4] = mul(%d, %c)
  return %e
})");
  EXPECT_TRUE(Contains(erf, "gelu")) << erf;
  const std::string tanh = RunPass("recover_gelu", R"(graph g {
  input %x: float32 [4]
  %x3: float32 [4] = pow(%x, _, exponent=3)
  %a: float32 [4] = mul(%x3, _, other=0.044715)
  %b: float32 [4] = add(%x, %a)
  %c: float32 [4] = mul(%b, _, other=0.7978845608028654)
  %d: float32 [4] = tanh(%c)
  %e: float32 [4] = add(%d, _, other=1)
  %f: float32 [4] = mul(%x, %e)
  %g: float32 [4] = mul(%f, _, other=0.5)
  return %g
})");
  EXPECT_TRUE(Contains(tanh, "approximate=\"tanh\"")) << tanh;
}

TEST(RecoverLayerNormTest, TakesWeightAndBiasAlong) {
  const std::string text = RunPass("recover_layer_norm", R"(graph g {
  symbol s [1, 64]
  input %x: float32 [s, 4]
  constant %w: float32 [4] = {1, 2, 3, 4}
  constant %b: float32 [4] = {4, 3, 2, 1}
  %m: float32 [s, 1] = mean(%x, dim=[-1], keepdim=true)
  %d: float32 [s, 4] = sub(%x, %m)
  %sq: float32 [s, 4] = pow(%d, _, exponent=2)
  %v: float32 [s, 1] = mean(%sq, dim=[-1], keepdim=true)
  %ve: float32 [s, 1] = add(%v, _, other=1e-05)
  %sd: float32 [s, 1] = sqrt(%ve)
  %n: float32 [s, 4] = div(%d, %sd)
  %nw: float32 [s, 4] = mul(%n, %w)
  %y: float32 [s, 4] = add(%nw, %b)
  return %y
})");
  EXPECT_TRUE(Contains(text, "layer_norm")) << text;
  EXPECT_TRUE(Contains(text, "%w, %b")) << text;
}

TEST(FoldBatchNormTest, ScalesTheWeights) {
  const std::string text = RunPass("fold_batch_norm", R"(graph g {
  input %x: float32 [1, 1, 4, 4]
  constant %w: float32 [2, 1, 1, 1] = {1, 2}
  constant %gamma: float32 [2] = {3, 4}
  constant %beta: float32 [2] = {1, 1}
  constant %mean: float32 [2] = {1, 2}
  constant %var: float32 [2] = {4, 16}
  %c: float32 [1, 2, 4, 4] = convolution(%x, %w, _)
  %y: float32 [1, 2, 4, 4] = batch_norm(%c, %gamma, %beta, %mean, %var, eps=0.0)
  return %y
})");
  EXPECT_TRUE(Contains(text, "{1.5, 2.0}")) << text;   // weights: 1 * 3/2, 2 * 4/4
  EXPECT_TRUE(Contains(text, "{-0.5, -1.0}")) << text;  // shifts: 1 - 1 * 1.5, 1 - 2 * 1
}

TEST(ShareBatchMatrixTest, AnExpandedMatrixIsOneProduct) {
  const std::string nodes = NodesOf(RunPass("share_batch_matrix", R"(graph g {
  symbol b [1, 8]
  symbol s [1, 64]
  input %x: float32 [b, s, 2]
  constant %w: float32 [2, 3] = {1, 2, 3, 4, 5, 6}
  %e: float32 [b, 2, 3] = expand(%w, shape=[b, 2, 3])
  %y: float32 [b, s, 3] = bmm(%x, %e)
  return %y
})"));
  EXPECT_TRUE(Contains(nodes, "= mm")) << nodes;
}

}  // namespace
}  // namespace tondar
