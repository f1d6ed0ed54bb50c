#!/usr/bin/env python3
"""Makes the cases of tests/fixtures/onnx_ops whose answers come from ONNX Runtime: operators of com.microsoft, and
models of several nodes that the onnx package has no tests for.

    tools/golden/make_onnx_cases.py OUT_DIR

Needs onnx, onnxruntime and numpy. The seed is fixed; the versions go into meta.json.
"""
import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper, numpy_helper

RANDOM = np.random.default_rng(20)
MS = "com.microsoft"


def reals(*shape, scale=1.0):
    return (RANDOM.standard_normal(shape) * scale).astype(np.float32)


def ints(low, high, shape, dtype):
    return RANDOM.integers(low, high, shape).astype(dtype)


def node(op, inputs, outputs=("y",), domain=MS, **attributes):
    return helper.make_node(op, inputs, list(outputs), domain=domain, name=outputs[0], **attributes)


def model(nodes, inputs, weights, outputs=("y",), opset=17, shapes=None):
    """inputs, weights: name -> array; shapes: name -> declared extents where they are not the array's."""
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), (shapes or {}).get(n, a.shape))
             for n, a in inputs.items()]
    graph = helper.make_graph(nodes, "case", infos, [helper.make_empty_tensor_value_info(o) for o in outputs],
                              [numpy_helper.from_array(a, n) for n, a in weights.items()])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(MS, 1)], ir_version=9)
    return proto, inputs


def attention_weights(width):
    return {"w": reals(width, 3 * width, scale=0.3), "b": reals(3 * width)}


def quantised(name, shape, zero=3, scale=0.05, dtype=np.uint8):
    info = np.iinfo(dtype)
    return {name: ints(info.min, info.max + 1, shape, dtype), name + "_s": np.array(scale, np.float32),
            name + "_z": np.array(zero, dtype)}


def pack4(values):
    return (values[..., 0::2] | values[..., 1::2] << 4).astype(np.uint8)


def case_fused_matmul():
    return model([node("FusedMatMul", ["a", "b"], alpha=0.5, transB=1)], {"a": reals(2, 3, 4)}, {"b": reals(2, 5, 4)})


def case_fused_conv():
    return model([node("FusedConv", ["x", "w", "b"], activation="LeakyRelu", activation_params=[0.2], pads=[1, 1, 1, 1])],
                 {"x": reals(1, 3, 5, 6)}, {"w": reals(4, 3, 3, 3), "b": reals(4)})


def case_fused_gemm():
    return model([node("FusedGemm", ["x", "w", "b"], activation="Relu", transB=1)], {"x": reals(3, 4)}, {"w": reals(5, 4), "b": reals(5)})


def case_bias_gelu():
    return model([node("BiasGelu", ["x", "b"])], {"x": reals(3, 8)}, {"b": reals(8)})


def case_fast_gelu():
    return model([node("FastGelu", ["x", "b"])], {"x": reals(3, 8)}, {"b": reals(8)})


def case_gelu():
    return model([node("Gelu", ["x"])], {"x": reals(3, 8)}, {})


def case_quick_gelu():
    return model([node("QuickGelu", ["x"], alpha=1.5)], {"x": reals(3, 8)}, {})


def case_skip_layer_norm():
    return model([node("SkipLayerNormalization", ["x", "s", "g", "b", "c"], ["y", "", "", "sum"], epsilon=1e-5)],
                 {"x": reals(2, 3, 8), "s": reals(2, 3, 8)}, {"g": reals(8), "b": reals(8), "c": reals(8)}, ["y", "sum"])


def case_skip_rms_norm():
    return model([node("SkipSimplifiedLayerNormalization", ["x", "s", "g"], ["y", "", "", "sum"], epsilon=1e-5)],
                 {"x": reals(2, 3, 8), "s": reals(2, 3, 8)}, {"g": reals(8)}, ["y", "sum"])


def case_rms_norm():
    return model([node("SimplifiedLayerNormalization", ["x", "g"], domain="", axis=-1, epsilon=1e-5)], {"x": reals(2, 3, 8)}, {"g": reals(8)})


def case_embed_layer_norm():
    return model([node("EmbedLayerNormalization", ["i", "t", "we", "pe", "se", "g", "b", "m"], ["y", "mask"], epsilon=1e-5)],
                 {"i": ints(0, 9, (2, 4), np.int32), "t": ints(0, 2, (2, 4), np.int32), "m": np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)},
                 {"we": reals(9, 8), "pe": reals(6, 8), "se": reals(2, 8), "g": reals(8), "b": reals(8)}, ["y", "mask"])


def case_attention():
    return model([node("Attention", ["x", "w", "b", "m"], num_heads=2)],
                 {"x": reals(2, 4, 8), "m": np.array([[1, 1, 1, 0], [1, 1, 1, 1]], np.int32)}, attention_weights(8))


def case_attention_causal_past():
    return model([node("Attention", ["x", "w", "b", "", "past"], ["y", "present"], num_heads=2, unidirectional=1)],
                 {"x": reals(2, 3, 8), "past": reals(2, 2, 2, 5, 4)}, attention_weights(8), ["y", "present"])


def case_multi_head_attention():
    return model([node("MultiHeadAttention", ["q", "k", "v", "b", "m"], num_heads=2)],
                 {"q": reals(2, 3, 8), "k": reals(2, 5, 8), "v": reals(2, 5, 8), "m": np.array([[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]], np.int32)}, {"b": reals(24)})


def case_multi_head_attention_bias():
    return model([node("MultiHeadAttention", ["q", "k", "v", "", "", "bias"], num_heads=2, scale=0.3)],
                 {"q": reals(1, 3, 8), "k": reals(1, 3, 8), "v": reals(1, 3, 8), "bias": reals(1, 2, 3, 3)}, {})


def case_rotary():
    return model([node("RotaryEmbedding", ["x", "p", "c", "s"])], {"x": reals(2, 3, 8), "p": ints(0, 10, (2, 3), np.int64)},
                 {"c": reals(10, 2), "s": reals(10, 2)})


def case_rotary_interleaved():
    return model([node("RotaryEmbedding", ["x", "p", "c", "s"], interleaved=1)], {"x": reals(2, 2, 3, 4), "p": np.array([4], np.int64)},
                 {"c": reals(10, 2), "s": reals(10, 2)})


def case_matmul_nbits():
    n, k, block = 6, 40, 16
    packed = pack4(ints(0, 16, (n, 3, block), np.uint8))
    return model([node("MatMulNBits", ["x", "w", "s"], bits=4, block_size=block, N=n, K=k)], {"x": reals(3, k)},
                 {"w": packed, "s": reals(n * 3, scale=0.1)})


def case_matmul_nbits_zero_points():
    n, k, block = 6, 48, 16
    packed = pack4(ints(0, 16, (n, 3, block), np.uint8))
    zeros = pack4(ints(0, 16, (n, 4), np.uint8)).reshape(-1)
    return model([node("MatMulNBits", ["x", "w", "s", "z"], bits=4, block_size=block, N=n, K=k)], {"x": reals(2, 3, k)},
                 {"w": packed, "s": reals(n * 3, scale=0.1), "z": zeros})


def case_qlinear_add():
    a, b, y = quantised("a", (3, 4)), quantised("b", (4,), 100), quantised("c", (), 5, 0.137)  # no ties
    return model([node("QLinearAdd", ["a", "a_s", "a_z", "b", "b_s", "b_z", "c_s", "c_z"])], {"a": a.pop("a")}, {**a, **b, **y})


def case_qlinear_mul():
    a, b, y = quantised("a", (3, 4), 3, 0.05, np.int8), quantised("b", (3, 1), -7, 0.05, np.int8), quantised("c", (), 5, 0.3, np.int8)
    return model([node("QLinearMul", ["a", "a_s", "a_z", "b", "b_s", "b_z", "c_s", "c_z"])], {"a": a.pop("a"), "b": b.pop("b")}, {**a, **b, **y})


def case_qlinear_sigmoid():
    a, y = quantised("a", (3, 9), 120, 0.05), quantised("c", (), 0, 1 / 256)
    return model([node("QLinearSigmoid", ["a", "a_s", "a_z", "c_s", "c_z"])], {"a": a.pop("a")}, {**a, **y})


def case_qlinear_concat():
    a, b, y = quantised("a", (2, 3)), quantised("b", (2, 2), 9, 0.1), quantised("c", (), 5, 0.2)
    return model([node("QLinearConcat", ["c_s", "c_z", "a", "a_s", "a_z", "b", "b_s", "b_z"], axis=1)], {"a": a.pop("a"), "b": b.pop("b")}, {**a, **b, **y})


def case_qlinear_global_average_pool():
    a, y = quantised("a", (2, 3, 4, 5), 128, 0.05), quantised("c", (), 128, 0.0213)
    return model([node("QLinearGlobalAveragePool", ["a", "a_s", "a_z", "c_s", "c_z"])], {"a": a.pop("a")}, {**a, **y})


def case_qgemm():
    a, b, y = quantised("a", (3, 8), 110), quantised("b", (5, 8), 0, 0.02, np.int8), quantised("c", (), 128, 0.5)
    return model([node("QGemm", ["a", "a_s", "a_z", "b", "b_s", "b_z", "bias", "c_s", "c_z"], transB=1)], {"a": a.pop("a")},
                 {**a, **b, **y, "bias": ints(-500, 500, (5,), np.int32)})


def case_matmul_integer_to_float():
    return model([node("MatMulIntegerToFloat", ["a", "b", "as", "bs", "az", "bz", "bias"])], {"a": ints(0, 256, (2, 3, 8), np.uint8)},
                 {"b": ints(-128, 128, (8, 5), np.int8), "as": np.array(0.1, np.float32), "bs": np.abs(reals(5)), "az": np.array(100, np.uint8),
                  "bz": np.zeros(5, np.int8), "bias": reals(5)})


def case_dynamic_quantize_matmul():
    return model([node("DynamicQuantizeMatMul", ["a", "b", "bs", "bz", "bias"])], {"a": reals(2, 3, 8)},
                 {"b": ints(0, 256, (8, 5), np.uint8), "bs": np.array(0.02, np.float32), "bz": np.array(120, np.uint8), "bias": reals(5)})


def case_qdq_conv():
    x, w = quantised("x", (), 128, 0.02), quantised("w", (4, 3, 3, 3), 0, 0.01, np.int8)
    return model([node("QuantizeLinear", ["f", "x_s", "x_z"], ["q"], ""), node("DequantizeLinear", ["q", "x_s", "x_z"], ["d"], ""),
                  node("DequantizeLinear", ["w", "w_s", "w_z"], ["wd"], ""), node("Conv", ["d", "wd"], ["y"], "", strides=[2, 2])],
                 {"f": reals(2, 3, 7, 7)}, {**{k: v for k, v in x.items() if k != "x"}, **w}, shapes={"f": ["batch", 3, 7, 7]})


def case_qlinear_conv_per_channel():
    x, y = quantised("x", (2, 3, 6, 6), 120), quantised("c", (), 130, 0.3)
    return model([node("QLinearConv", ["x", "x_s", "x_z", "w", "w_s", "w_z", "c_s", "c_z", "b"], ["y"], "", pads=[1, 1, 1, 1])], {"x": x.pop("x")},
                 {**x, **y, "w": ints(-128, 128, (4, 3, 3, 3), np.int8), "w_s": np.abs(reals(4, scale=0.02)), "w_z": np.zeros(4, np.int8),
                  "b": ints(-300, 300, (4,), np.int32)})


def case_dynamic_upsample():
    """Sizes through floats, as exporters before operator set 11 wrote them."""
    nodes = [node("Shape", ["x"], ["s"], ""), node("Slice", ["s", "two", "four"], ["hw"], ""), node("Cast", ["hw"], ["f"], "", to=T.FLOAT),
             node("Mul", ["f", "scale"], ["g"], ""), node("Floor", ["g"], ["h"], ""), node("Cast", ["h"], ["to"], "", to=T.INT64),
             node("Slice", ["s", "zero", "two"], ["nc"], ""), node("Concat", ["nc", "to"], ["sizes"], "", axis=0),
             node("Resize", ["x", "", "", "sizes"], ["y"], "", mode="linear", coordinate_transformation_mode="half_pixel")]
    return model(nodes, {"x": reals(2, 3, 4, 5)}, {"zero": np.array([0]), "two": np.array([2]), "four": np.array([4]),
                                                   "scale": np.array([1.5, 2.0], np.float32)}, shapes={"x": ["n", 3, "h", "w"]})


def recurrent(op, gates, directions=1, peepholes=False, lengths=None, **attributes):
    steps, batch, width, hidden = 3, 2, 4, 5
    inputs = {"x": reals(steps, batch, width), "h": reals(directions, batch, hidden)}
    names = ["x", "w", "r", "b", "", "h"]
    if lengths is not None:
        inputs["n"] = np.array(lengths, np.int32)
        names[4] = "n"
    outputs = ["y", "yh"]
    if op == "LSTM":
        inputs["c"] = reals(directions, batch, hidden)
        names.append("c")
        outputs.append("yc")
    weights = {"w": reals(directions, gates * hidden, width), "r": reals(directions, gates * hidden, hidden), "b": reals(directions, 2 * gates * hidden)}
    if peepholes:
        names.append("p")
        weights["p"] = reals(directions, 3 * hidden)
    return model([node(op, names, outputs, "", hidden_size=hidden, **attributes)], inputs, weights, outputs,
                 shapes={"x": [steps, "batch", width], "h": [directions, "batch", hidden], "c": [directions, "batch", hidden], "n": ["batch"]})


def case_lstm_bidirectional():
    return recurrent("LSTM", 4, 2, direction="bidirectional", lengths=[3, 2])


def case_lstm_peepholes():
    return recurrent("LSTM", 4, peepholes=True)


def case_gru_reverse():
    return recurrent("GRU", 3, direction="reverse", lengths=[1, 3])


def case_gru_linear_before_reset():
    return recurrent("GRU", 3, linear_before_reset=1)


def case_rnn_relu():
    return recurrent("RNN", 1, activations=["Relu"])


def case_einsum_attention():
    return model([node("Einsum", ["q", "k"], ["s"], "", equation="bihd,bjhd->bhij"), node("Softmax", ["s"], ["p"], ""),
                  node("Einsum", ["p", "k"], ["y"], "", equation="...hij,bjhd->bihd".replace("...", "b"))],
                 {"q": reals(2, 3, 2, 4), "k": reals(2, 5, 2, 4)}, {}, shapes={"q": ["b", "i", 2, 4], "k": ["b", "j", 2, 4]})


def main(out):
    for name, make in sorted(globals().items()):
        if not name.startswith("case_"):
            continue
        proto, inputs = make()
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
        outputs = session.run(None, inputs)
        folder = pathlib.Path(out) / ("ort_" + name.removeprefix("case_"))
        folder.mkdir(parents=True, exist_ok=True)
        onnx.save(proto, folder / "model.onnx")
        np.savez(folder / "inputs_0.npz", **inputs)
        np.savez(folder / "outputs_0.npz", **{f"out_{i}": o for i, o in enumerate(outputs)})
        meta = {"source": f"onnxruntime {onnxruntime.__version__}, onnx {onnx.__version__}", "atol": 1e-4, "rtol": 1e-4}
        (folder / "meta.json").write_text(json.dumps(meta) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
