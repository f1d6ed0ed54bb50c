// Opening, memory, copies, fills, streams, events.
#include "tests/conformance/accelerators/conformance.h"

namespace tondar::conformance {
namespace {

using Open = DeviceTest;
using Memory = DeviceTest;
using Copy = DeviceTest;
using Fill = DeviceTest;
using Streams = DeviceTest;
using Events = DeviceTest;

std::vector<std::byte> Pattern(size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 3);
  return bytes;
}

TEST_F(Open, DevicesHaveANameAndAnArchitecture) {
  EXPECT_EQ(accelerator().name(), TestedBackend().name);
  EXPECT_GE(accelerator().DeviceCount(), 1);
  EXPECT_FALSE(device().properties().name.empty());
  EXPECT_FALSE(device().properties().architecture.empty());
  const size_t alignment = device().properties().alignment_bytes;
  EXPECT_EQ(alignment & (alignment - 1), 0u);
  EXPECT_GE(alignment, 64u);
}

TEST_F(Open, ADeviceIsOpenedOnce) { EXPECT_EQ(*accelerator().OpenDevice(0), &device()); }

TEST_F(Open, IndicesOutOfRangeAreNotFound) {
  EXPECT_EQ(accelerator().OpenDevice(accelerator().DeviceCount()).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(accelerator().OpenDevice(-1).status().code(), StatusCode::kNotFound);
}

TEST_F(Open, AnOptionalEntryWithoutItsCapabilityIsUnimplemented) {
  Result<std::unique_ptr<CapturedGraph>> graph = device().CreateGraph();
  EXPECT_EQ(graph.ok(), device().properties().capabilities.graphs);
  if (!graph.ok()) EXPECT_EQ(graph.status().code(), StatusCode::kUnimplemented);
}

TEST_F(Memory, BuffersAreAlignedAndSized) {
  for (const size_t size : {size_t{1}, size_t{100}, size_t{1} << 20, size_t{5} << 20}) {
    Result<std::unique_ptr<Buffer>> buffer = device().Allocate(size);
    ASSERT_TRUE(buffer.ok()) << buffer.status().ToString();
    EXPECT_EQ((*buffer)->size_bytes(), size);
    ASSERT_NE((*buffer)->address(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*buffer)->address()) % device().properties().alignment_bytes, 0u);
  }
}

TEST_F(Memory, NothingCanBeAllocated) { EXPECT_TRUE(device().Allocate(0).ok()); }

TEST_F(Memory, HostPointersFollowTheCapability) {
  Result<std::unique_ptr<Buffer>> buffer = device().Allocate(64);
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ((*buffer)->host_pointer() != nullptr, device().properties().capabilities.host_addressable);
}

TEST_F(Memory, TooMuchIsResourceExhaustedAndNamesTheSizes) {
  const size_t size = device().properties().memory_bytes * 16;
  const Status status = device().Allocate(size).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find(std::to_string(size)), std::string_view::npos) << status.ToString();
  EXPECT_TRUE(device().Allocate(64).ok());  // the device goes on
}

TEST_F(Copy, InAndOut) {
  std::unique_ptr<Stream> stream = MakeStream();
  Result<std::unique_ptr<Buffer>> buffer = device().Allocate(1000);
  ASSERT_TRUE(buffer.ok());
  const std::vector<std::byte> sent = Pattern(1000);
  std::vector<std::byte> received(1000);
  ASSERT_TRUE(stream->CopyIn((*buffer)->address(), sent).ok());
  ASSERT_TRUE(stream->CopyOut(received, (*buffer)->address()).ok());
  ASSERT_TRUE(stream->Synchronize().ok());
  EXPECT_EQ(sent, received);
}

TEST_F(Copy, Within) {
  std::unique_ptr<Stream> stream = MakeStream();
  Result<std::unique_ptr<Buffer>> a = device().Allocate(512), b = device().Allocate(512);
  ASSERT_TRUE(a.ok() && b.ok());
  const std::vector<std::byte> sent = Pattern(512);
  std::vector<std::byte> received(100);
  ASSERT_TRUE(stream->CopyIn((*a)->address(), sent).ok());
  ASSERT_TRUE(stream->CopyWithin((*b)->address() + 64, (*a)->address() + 128, 100).ok());
  ASSERT_TRUE(stream->CopyOut(received, (*b)->address() + 64).ok());
  ASSERT_TRUE(stream->Synchronize().ok());
  EXPECT_TRUE(std::equal(received.begin(), received.end(), sent.begin() + 128));
}

TEST_F(Copy, OfNothing) {
  std::unique_ptr<Stream> stream = MakeStream();
  Result<std::unique_ptr<Buffer>> buffer = device().Allocate(64);
  ASSERT_TRUE(buffer.ok());
  EXPECT_TRUE(stream->CopyIn((*buffer)->address(), {}).ok());
  EXPECT_TRUE(stream->CopyOut({}, (*buffer)->address()).ok());
  EXPECT_TRUE(stream->CopyWithin((*buffer)->address(), (*buffer)->address(), 0).ok());
  EXPECT_TRUE(stream->Fill((*buffer)->address(), std::byte{1}, 0).ok());
}

TEST_F(Fill, WritesExactlyTheRange) {
  std::unique_ptr<Stream> stream = MakeStream();
  Result<std::unique_ptr<Buffer>> buffer = device().Allocate(256);
  ASSERT_TRUE(buffer.ok());
  std::vector<std::byte> expected = Pattern(256), received(256);
  ASSERT_TRUE(stream->CopyIn((*buffer)->address(), expected).ok());
  ASSERT_TRUE(stream->Fill((*buffer)->address() + 10, std::byte{0xee}, 100).ok());
  ASSERT_TRUE(stream->CopyOut(received, (*buffer)->address()).ok());
  ASSERT_TRUE(stream->Synchronize().ok());
  std::fill_n(expected.begin() + 10, 100, std::byte{0xee});
  EXPECT_EQ(received, expected);
}

TEST_F(Streams, SeveralLiveSideBySide) {
  std::unique_ptr<Stream> one = MakeStream(), two = MakeStream(2);
  EXPECT_TRUE(one->Synchronize().ok());
  EXPECT_TRUE(two->Synchronize().ok());
  EXPECT_FALSE(one->IsCapturing());
}

TEST_F(Streams, ThreadCountsAreChecked) {
  EXPECT_EQ(device().CreateStream({.threads = 0}).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(Events, AnUnrecordedEventIsReached) { EXPECT_TRUE(MakeEvent()->Synchronize().ok()); }

TEST_F(Events, OrderTwoStreams) {
  std::unique_ptr<Stream> first = MakeStream(), second = MakeStream();
  std::unique_ptr<Event> event = MakeEvent();
  Result<std::unique_ptr<Buffer>> buffer = device().Allocate(4096);
  ASSERT_TRUE(buffer.ok());
  const std::vector<std::byte> sent = Pattern(4096);
  std::vector<std::byte> received(4096);
  ASSERT_TRUE(first->CopyIn((*buffer)->address(), sent).ok());
  ASSERT_TRUE(first->Record(*event).ok());
  ASSERT_TRUE(second->Wait(*event).ok());
  ASSERT_TRUE(second->CopyOut(received, (*buffer)->address()).ok());
  ASSERT_TRUE(second->Synchronize().ok());
  EXPECT_EQ(sent, received);
  ASSERT_TRUE(event->Synchronize().ok());
  Result<bool> reached = event->Query();
  ASSERT_TRUE(reached.ok());
  EXPECT_TRUE(*reached);
}

}  // namespace
}  // namespace tondar::conformance
