// What a session holds: memory that a large call needed goes back.
#include <gtest/gtest.h>

#include "engine/api/engine.h"

namespace tondar {
namespace {

constexpr int64_t kLarge = int64_t{8} << 20;

class SessionMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    engine_ = Engine::Create({}).value();
    const auto model = engine_->Load(TONDAR_SOURCE_DIR "/models/repository/identity_fp32/1/model.pt2", {});
    ASSERT_TRUE(model.ok()) << model.status().ToString();
    session_ = (*model)->CreateSession({.threads = 1}).value();
  }

  // Whether `elements` come back as they went in.
  void Call(int64_t elements) {
    const Dims shapes[] = {{elements}};
    const auto binding = session_->Bind(shapes);
    ASSERT_TRUE(binding.ok()) << binding.status().ToString();
    auto* in = reinterpret_cast<float*>((*binding)->inputs[0].data);
    in[0] = 1.5F;
    in[elements - 1] = -2.5F;
    ASSERT_TRUE(session_->Run().ok());
    const auto* out = reinterpret_cast<const float*>((*binding)->outputs[0].data);
    EXPECT_EQ(out[0], elements == 1 ? -2.5F : 1.5F);
    EXPECT_EQ(out[elements - 1], -2.5F);
  }

  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
};

TEST_F(SessionMemoryTest, ALargeCallsMemoryGoesBackWhenSmallOnesFollow) {
  Call(kLarge);
  const size_t large = session_->memory().arena_bytes;
  EXPECT_GE(large, static_cast<size_t>(kLarge) * sizeof(float));
  for (int i = 0; i < 50; ++i) Call(8);
  EXPECT_EQ(session_->memory().arena_bytes, large) << "not after a few: the next large one may come";
  for (int i = 0; i < 300; ++i) Call(8 + i % 3);
  EXPECT_LT(session_->memory().arena_bytes, size_t{1} << 20);
  Call(kLarge);
}

TEST_F(SessionMemoryTest, NowAndThenALargeCallKeepsIt) {
  for (int i = 0; i < 600; ++i) Call(i % 60 == 0 ? kLarge : 8);
  EXPECT_GE(session_->memory().arena_bytes, static_cast<size_t>(kLarge) * sizeof(float));
}

}  // namespace
}  // namespace tondar
