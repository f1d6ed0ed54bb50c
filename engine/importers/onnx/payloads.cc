#include "engine/importers/onnx/payloads.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tondar::onnx_format {
namespace {

// Messages on the way to a TensorProto. kOther is copied as it is.
enum class Message : uint8_t { kOther, kModel, kGraph, kNode, kAttribute, kTensor, kSparseTensor, kFunction };

struct Path {
  Message from;
  uint32_t field;
  Message to;
};

// Numbers from the ONNX specification, as in proto/onnx.proto.
constexpr Path kPaths[] = {
    {Message::kModel, 7, Message::kGraph},          {Message::kModel, 25, Message::kFunction},
    {Message::kGraph, 1, Message::kNode},           {Message::kGraph, 5, Message::kTensor},
    {Message::kGraph, 15, Message::kSparseTensor},  {Message::kFunction, 7, Message::kNode},
    {Message::kFunction, 11, Message::kAttribute},  {Message::kNode, 5, Message::kAttribute},
    {Message::kAttribute, 5, Message::kTensor},     {Message::kAttribute, 6, Message::kGraph},
    {Message::kAttribute, 10, Message::kTensor},    {Message::kAttribute, 11, Message::kGraph},
    {Message::kAttribute, 22, Message::kSparseTensor},
    {Message::kSparseTensor, 1, Message::kTensor},  {Message::kSparseTensor, 2, Message::kTensor},
};

constexpr uint32_t kRawData = 9, kRawOffset = 1000, kRawLength = 1001;
constexpr int kMaxDepth = 100;
constexpr uint64_t kMaxCopied = uint64_t{1} << 31;  // protobuf's own limit
constexpr uint64_t kMaxNameBytes = 4096;  // of producer_name and its like

Message Inside(Message from, uint32_t field) {
  for (const Path& path : kPaths) {
    if (path.from == from && path.field == field) return path.to;
  }
  return Message::kOther;
}

// Reads a file piece by piece, forwards for the most part. After a failure everything is zero; see status().
class Window {
 public:
  explicit Window(const ByteSource& file) : file_(file) {}

  uint64_t file_size() const { return file_.size(); }
  const Status& status() const { return status_; }

  // `at` lies within the file.
  uint8_t Byte(uint64_t at) {
    if (!Holds(at, 1)) Fill(at);
    return status_.ok() ? static_cast<uint8_t>(piece_[at - begin_]) : uint8_t{0};
  }
  // Appends `size` bytes from `at` on, which lie within the file.
  void Append(uint64_t at, uint64_t size, std::string& to) {
    if (size > kPieceBytes) return AppendLarge(at, size, to);
    if (!Holds(at, size)) Fill(at);
    if (status_.ok()) to.append(reinterpret_cast<const char*>(piece_.data()) + (at - begin_), size);
  }

 private:
  static constexpr uint64_t kPieceBytes = 16 << 10;  // weights lie between the pieces and are skipped

  bool Holds(uint64_t at, uint64_t size) const {
    return at >= begin_ && at - begin_ <= piece_.size() && size <= piece_.size() - (at - begin_);
  }
  void Fill(uint64_t at) {
    begin_ = at;
    piece_.resize(std::min(kPieceBytes, file_.size() - at));
    Take(file_.Read(at, piece_));
  }
  void AppendLarge(uint64_t at, uint64_t size, std::string& to) {
    const size_t before = to.size();
    to.resize(before + size);
    Take(file_.Read(at, std::as_writable_bytes(std::span(to).subspan(before))));
  }
  void Take(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  const ByteSource& file_;
  Status status_;
  std::vector<std::byte> piece_;
  uint64_t begin_ = 0;  // of the piece, in the file
};

// Reads and writes varints; protobuf's encoding documentation is the source.
class Cursor {
 public:
  Cursor(Window& file, uint64_t begin, uint64_t end) : file_(file), at_(begin), end_(end) {}

  bool done() const { return at_ == end_; }
  uint64_t at() const { return at_; }
  uint64_t left() const { return end_ - at_; }
  void Skip(uint64_t count) { at_ += count; }

  std::optional<uint64_t> Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 70 && at_ < end_; shift += 7) {
      const uint8_t byte = file_.Byte(at_++);
      value |= static_cast<uint64_t>(byte & 0x7f) << (shift < 64 ? shift : 63);
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

 private:
  Window& file_;
  uint64_t at_, end_;
};

void AppendVarint(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

void AppendField(std::string& to, uint32_t field, uint64_t value) {
  AppendVarint(to, uint64_t{field} << 3);
  AppendVarint(to, value);
}

enum WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

class Cutter {
 public:
  Cutter(Window& file, size_t min_bytes) : file_(file), min_bytes_(min_bytes) {}

  bool has_graph() const { return has_graph_; }

  Status Copy(Message message, uint64_t begin, uint64_t end, int depth, std::string& to) {
    if (depth > kMaxDepth) return InvalidArgument("byte {}: messages nest deeper than {} levels", begin, kMaxDepth);
    Cursor cursor(file_, begin, end);
    while (!cursor.done()) TONDAR_RETURN_IF_ERROR(CopyField(message, cursor, depth, to));
    return OkStatus();
  }

 private:
  Status Broken(uint64_t at) const {
    TONDAR_RETURN_IF_ERROR(file_.status());
    return InvalidArgument("byte {} of {}: the file is truncated or not ONNX", at, file_.file_size());
  }

  Status CopyField(Message message, Cursor& cursor, int depth, std::string& to) {
    const uint64_t begin = cursor.at();
    const std::optional<uint64_t> tag = cursor.Varint();
    if (!tag || *tag >> 3 == 0 || *tag >> 32 != 0) return Broken(begin);
    const auto field = static_cast<uint32_t>(*tag >> 3);
    const auto type = static_cast<WireType>(*tag & 7);
    if (type == kBytes) return CopyBytes(message, field, cursor, depth, to);
    const uint64_t fixed = type == kFixed64 ? 8 : type == kFixed32 ? 4 : 0;
    if (type == kVarint ? !cursor.Varint() : fixed == 0 || cursor.left() < fixed) return Broken(begin);
    cursor.Skip(fixed);
    const bool ours = message == Message::kTensor && (field == kRawOffset || field == kRawLength);
    return ours ? OkStatus() : Append(begin, cursor.at(), to);
  }

  Status CopyBytes(Message message, uint32_t field, Cursor& cursor, int depth, std::string& to) {
    const uint64_t begin = cursor.at();
    const std::optional<uint64_t> length = cursor.Varint();
    if (!length || *length > cursor.left()) return Broken(begin);
    const uint64_t from = cursor.at(), size = *length;
    cursor.Skip(size);
    if (message == Message::kTensor && field == kRawData && size >= min_bytes_) {
      AppendField(to, kRawOffset, from);
      AppendField(to, kRawLength, size);
      return OkStatus();
    }
    const Message inside = Inside(message, field);
    has_graph_ = has_graph_ || (message == Message::kModel && inside == Message::kGraph);
    AppendVarint(to, uint64_t{field} << 3 | kBytes);
    if (inside == Message::kOther) {
      AppendVarint(to, size);
      return Append(from, from + size, to);
    }
    std::string inner;
    TONDAR_RETURN_IF_ERROR(Copy(inside, from, from + size, depth + 1, inner));
    AppendVarint(to, inner.size());
    to += inner;
    return OkStatus();
  }

  Status Append(uint64_t begin, uint64_t end, std::string& to) {
    copied_ += end - begin;
    if (copied_ >= kMaxCopied) {
      return Unimplemented("more than 2 GiB besides raw tensors; save weights as raw or external data");
    }
    file_.Append(begin, end - begin, to);
    return file_.status();
  }

  Window& file_;
  size_t min_bytes_;
  uint64_t copied_ = 0;
  bool has_graph_ = false;
};

struct TopField {
  uint32_t field;
  WireType type;
};
// The fields of ModelProto, deprecated and unread ones included.
constexpr TopField kModelFields[] = {{1, kVarint}, {2, kBytes}, {3, kBytes},  {4, kBytes},  {5, kVarint}, {6, kBytes},
                                     {7, kBytes},  {8, kBytes}, {14, kBytes}, {20, kBytes}, {25, kBytes}, {26, kBytes}};

}  // namespace

bool LooksLikeModel(const ByteSource& file) {
  Window window(file);
  Cursor cursor(window, 0, file.size());
  for (int fields = 0; fields < 3 && !cursor.done(); ++fields) {
    const uint64_t tag = cursor.Varint().value_or(0);
    bool known = false;
    for (const TopField& top : kModelFields) known = known || tag == (uint64_t{top.field} << 3 | top.type);
    const std::optional<uint64_t> value = known ? cursor.Varint() : std::nullopt;
    if (!value) return false;
    if (tag == 1 << 3 && (*value == 0 || *value > 255)) return false;  // ir_version
    if (tag == (7 << 3 | kBytes)) return true;  // the graph; truncated or not
    if ((tag & 7) != kBytes) continue;
    if (tag >> 3 <= 4 && *value > kMaxNameBytes) return false;  // a TensorFlow SavedModel begins so
    if (*value > cursor.left()) return fields > 0;
    cursor.Skip(*value);
  }
  return window.status().ok() && file.size() > 8;
}

Result<std::string> WithoutPayloads(const ByteSource& file, size_t min_bytes) {
  std::string copy;
  Window window(file);
  Cutter cutter(window, min_bytes);
  TONDAR_RETURN_IF_ERROR(cutter.Copy(Message::kModel, 0, file.size(), 0, copy));
  if (!cutter.has_graph()) return InvalidArgument("the model has no graph");
  return copy;
}

}  // namespace tondar::onnx_format
