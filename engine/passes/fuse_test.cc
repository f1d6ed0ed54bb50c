#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/passes/testing/run_pass.h"

namespace tondar {
namespace {

std::string Fuse(std::string_view text) { return NodesOf(RunPass("fuse", text)); }

TEST(FuseTest, InlinesMapsIntoMaps) {
  EXPECT_EQ(Fuse(R"(graph g {
  symbol s0 [1, 8]
  input %x: float32 [s0, 4]
  input %y: float32 [4]
  %a: float32 [s0, 4] = step.map(%x, %y, extents=[s0, 4]) program {
    %0 = in0[i0, i1]: float32
    %1 = in1[i1]: float32
    %2 = add(%0, %1): float32
    return %2
  }
  %t: float32 [4, s0] = permute(%a, dims=[1, 0])
  %b: float32 [4, s0] = step.map(%t, extents=[4, s0]) program {
    %0 = in0[i0, i1]: float32
    %1 = exp(%0): float32
    return %1
  }
  return %b
})"),
            R"(  %b: float32 [4, s0] = step.map(%x, %y, extents=[4, s0]) program {
    %0 = in0[i1, i0]: float32
    %1 = in1[i0]: float32
    %2 = add(%0, %1): float32
    %3 = exp(%2): float32
    return %3
  }
  return %b
)");
}

constexpr std::string_view kTwoReaders = R"(graph g {{
  input %x: float32 [4]
  %a: float32 [4] = step.map(%x, extents=[4]) program {{
    %0 = in0[i0]: float32
    %1 = {}(%0): float32
    return %1
  }}
  %b: float32 [4] = step.map(%a, extents=[4]) program {{
    %0 = in0[i0]: float32
    %1 = sin(%0): float32
    return %1
  }}
  %c: float32 [2] = step.map(%a, extents=[2]) program {{
    %0 = in0[2*i0]: float32
    %1 = cos(%0): float32
    return %1
  }}
  return %b, %c
}})";

TEST(FuseTest, ComputesCheapMapsAgain) {
  EXPECT_EQ(Fuse(fmt::format(fmt::runtime(kTwoReaders), "neg")), R"(  %b: float32 [4] = step.map(%x, extents=[4]) program {
    %0 = in0[i0]: float32
    %1 = neg(%0): float32
    %2 = sin(%1): float32
    return %2
  }
  %c: float32 [2] = step.map(%x, extents=[2]) program {
    %0 = in0[2*i0]: float32
    %1 = neg(%0): float32
    %2 = cos(%1): float32
    return %2
  }
  return %b, %c
)");
}

TEST(FuseTest, StoresExpensiveMapsThatAreReadTwice) {
  EXPECT_THAT(Fuse(fmt::format(fmt::runtime(kTwoReaders), "exp")), ::testing::HasSubstr("%a: float32 [4] = step.map(%x"));
}

TEST(FuseTest, KeepsWhatTheCallerReads) {
  const std::string text = R"(graph g {
  input %x: float32 [4]
  %a: float32 [4] = step.map(%x, extents=[4]) program {
    %0 = in0[i0]: float32
    %1 = neg(%0): float32
    return %1
  }
  %b: float32 [4] = step.map(%a, extents=[4]) program {
    %0 = in0[i0]: float32
    %1 = sin(%0): float32
    return %1
  }
  return %a, %b
})";
  EXPECT_THAT(Fuse(text), ::testing::HasSubstr("%b: float32 [4] = step.map(%a"));
}

TEST(FuseTest, MovesBiasActivationAndResidualIntoAMatMul) {
  EXPECT_EQ(Fuse(R"(graph g {
  symbol s0 [1, 8]
  input %x: float32 [s0, 4]
  input %r: float32 [s0, 1, 8]
  constant %w: float32 [4, 8] = 1.0
  constant %b: float32 [8] = 2.0
  %m: float32 [s0, 8] = step.matmul(%x, %w)
  %n: float32 [s0, 8] = step.map(%m, %b, extents=[s0, 8]) program {
    %0 = in0[i0, i1]: float32
    %1 = in1[i1]: float32
    %2 = add(%0, %1): float32
    return %2
  }
  %g: float32 [s0, 8] = step.map(%n, extents=[s0, 8]) program {
    %0 = in0[i0, i1]: float32
    %1 = gelu(%0): float32
    return %1
  }
  %u: float32 [s0, 1, 8] = reshape(%g, shape=[s0, 1, 8])
  %y: float32 [s0, 1, 8] = step.map(%r, %u, extents=[s0, 1, 8]) program {
    %0 = in0[i0, i1, i2]: float32
    %1 = in1[i0, i1, i2]: float32
    %2 = add(%0, %1): float32
    return %2
  }
  return %y
})"),
            R"(  %m: float32 [s0, 8] = step.matmul(%x, %w, %b, %r) epilogue {
    %0 = accumulator(0): float32
    %1 = in2[i1]: float32
    %2 = add(%0, %1): float32
    %3 = gelu(%2): float32
    %4 = in3[i0, 0, i1]: float32
    %5 = add(%4, %3): float32
    return %5
  }
  %m_reshape: float32 [s0, 1, 8] = reshape(%m, shape=[s0, 1, 8])
  return %m_reshape
)");
}

TEST(FuseTest, MovesMapsIntoReductions) {
  EXPECT_EQ(Fuse(R"(graph g {
  symbol s0 [1, 8]
  input %x: float32 [s0, 4]
  %a: float32 [s0, 4] = step.map(%x, extents=[s0, 4]) program {
    %0 = in0[i0, i1]: float32
    %1 = mul(%0, %0): float32
    return %1
  }
  %s: float32 [s0] = step.reduce(%a, extents=[s0, 4], reduced=1, op="sum", accumulator=float32) program {
    %0 = in0[i0, i1]: float32
    return %0
  }
  %y: float32 [s0] = step.map(%s, extents=[s0]) program {
    %0 = in0[i0]: float32
    %1 = sqrt(%0): float32
    return %1
  }
  return %y
})"),
            R"(  %s: float32 [s0] = step.reduce(%x, accumulator=float32, extents=[s0, 4], op="sum", reduced=1) program {
    %0 = in0[i0, i1]: float32
    %1 = mul(%0, %0): float32
    return %1
  } finish {
    %0 = accumulator(0): float32
    %1 = sqrt(%0): float32
    return %1
  }
  return %s
)");
}

TEST(FuseTest, DoesNotComputeAnExpensiveMapForEveryRow) {
  const std::string text = R"(graph g {
  symbol s0 [1, 8]
  input %x: float32 [4]
  input %y: float32 [s0, 4]
  %a: float32 [4] = step.map(%x, extents=[4]) program {
    %0 = in0[i0]: float32
    %1 = exp(%0): float32
    return %1
  }
  %b: float32 [s0, 4] = step.map(%a, %y, extents=[s0, 4]) program {
    %0 = in0[i1]: float32
    %1 = in1[i0, i1]: float32
    %2 = add(%0, %1): float32
    return %2
  }
  return %b
})";
  EXPECT_THAT(Fuse(text), ::testing::HasSubstr("step.map(%a, %y"));
}

TEST(FuseTest, LooksUpInComputedIndices) {
  EXPECT_EQ(Fuse(R"(graph g {
  symbol s0 [1, 8]
  input %table: float32 [10, 4]
  %i: int64 [s0] = step.map(extents=[s0]) program {
    %0 = index(0): int64
    %1 = 2: int64
    %2 = mul(%0, %1): int64
    return %2
  }
  %b: float32 [s0, 4] = step.map(%table, %i, extents=[s0, 4]) program {
    %0 = in1[i0]: int64
    %1 = in0[%0, i1]: float32
    return %1
  }
  return %b
})"),
            R"(  %b: float32 [s0, 4] = step.map(%table, extents=[s0, 4]) program {
    %0 = index(0): int64
    %1 = 2: int64
    %2 = mul(%0, %1): int64
    %3 = in0[%2, i1]: float32
    return %3
  }
  return %b
)");
}

TEST(FuseTest, FusesTheLaterOfTwoConvolutionsWithTheirSum) {
  EXPECT_EQ(Fuse(R"(graph g {
  input %x: float32 [1, 3, 8, 8]
  constant %w: float32 [4, 3, 1, 1] = 1.0
  constant %v: float32 [4, 3, 1, 1] = 2.0
  %a: float32 [1, 4, 8, 8] = step.conv(%x, %w, stride=[1, 1], padding=[0, 0], dilation=[1, 1])
  %b: float32 [1, 4, 8, 8] = step.conv(%x, %v, stride=[1, 1], padding=[0, 0], dilation=[1, 1])
  %c: float32 [1, 4, 8, 8] = step.map(%b, %a, extents=[1, 4, 8, 8]) program {
    %0 = in0[i0, i1, i2, i3]: float32
    %1 = in1[i0, i1, i2, i3]: float32
    %2 = add(%0, %1): float32
    %3 = relu(%2): float32
    return %3
  }
  return %c
})"),
            R"(  %a: float32 [1, 4, 8, 8] = step.conv(%x, %w, dilation=[1, 1], groups=1, output_padding=[], padding=[0, 0], stride=[1, 1], transposed=false)
  %b: float32 [1, 4, 8, 8] = step.conv(%x, %v, %a, dilation=[1, 1], groups=1, output_padding=[], padding=[0, 0], stride=[1, 1], transposed=false) epilogue {
    %0 = accumulator(0): float32
    %1 = in2[i0, i1, i2, i3]: float32
    %2 = add(%0, %1): float32
    %3 = relu(%2): float32
    return %3
  }
  return %b
)");
}

}  // namespace
}  // namespace tondar
