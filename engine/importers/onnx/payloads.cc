#include "engine/importers/onnx/payloads.h"

#include <cstdint>
#include <optional>

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
constexpr uint64_t kMaxNameBytes = 4096;  // of producer_name and its like

Message Inside(Message from, uint32_t field) {
  for (const Path& path : kPaths) {
    if (path.from == from && path.field == field) return path.to;
  }
  return Message::kOther;
}

// Reads and writes varints; protobuf's encoding documentation is the source.
class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, size_t begin, size_t end) : bytes_(bytes), at_(begin), end_(end) {}

  bool done() const { return at_ == end_; }
  size_t at() const { return at_; }
  size_t left() const { return end_ - at_; }
  void Skip(size_t count) { at_ += count; }

  std::optional<uint64_t> Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 70 && at_ < end_; shift += 7) {
      const auto byte = static_cast<uint8_t>(bytes_[at_++]);
      value |= static_cast<uint64_t>(byte & 0x7f) << (shift < 64 ? shift : 63);
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

 private:
  std::span<const std::byte> bytes_;
  size_t at_, end_;
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
  Cutter(std::span<const std::byte> file, size_t min_bytes) : file_(file), min_bytes_(min_bytes) {}

  bool has_graph() const { return has_graph_; }

  Status Copy(Message message, size_t begin, size_t end, int depth, std::string& to) {
    if (depth > kMaxDepth) return InvalidArgument("byte {}: messages nest deeper than {} levels", begin, kMaxDepth);
    Cursor cursor(file_, begin, end);
    while (!cursor.done()) TONDAR_RETURN_IF_ERROR(CopyField(message, cursor, depth, to));
    return OkStatus();
  }

 private:
  Status Broken(size_t at) const {
    return InvalidArgument("byte {} of {}: the file is truncated or not ONNX", at, file_.size());
  }

  Status CopyField(Message message, Cursor& cursor, int depth, std::string& to) {
    const size_t begin = cursor.at();
    const std::optional<uint64_t> tag = cursor.Varint();
    if (!tag || *tag >> 3 == 0 || *tag >> 32 != 0) return Broken(begin);
    const auto field = static_cast<uint32_t>(*tag >> 3);
    const auto type = static_cast<WireType>(*tag & 7);
    if (type == kBytes) return CopyBytes(message, field, cursor, depth, to);
    const size_t fixed = type == kFixed64 ? 8 : type == kFixed32 ? 4 : 0;
    if (type == kVarint ? !cursor.Varint() : fixed == 0 || cursor.left() < fixed) return Broken(begin);
    cursor.Skip(fixed);
    const bool ours = message == Message::kTensor && (field == kRawOffset || field == kRawLength);
    if (!ours) Append(begin, cursor.at(), to);
    return OkStatus();
  }

  Status CopyBytes(Message message, uint32_t field, Cursor& cursor, int depth, std::string& to) {
    const size_t begin = cursor.at();
    const std::optional<uint64_t> length = cursor.Varint();
    if (!length || *length > cursor.left()) return Broken(begin);
    const size_t from = cursor.at(), size = static_cast<size_t>(*length);
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
      Append(from, from + size, to);
      return OkStatus();
    }
    std::string inner;
    TONDAR_RETURN_IF_ERROR(Copy(inside, from, from + size, depth + 1, inner));
    AppendVarint(to, inner.size());
    to += inner;
    return OkStatus();
  }

  void Append(size_t begin, size_t end, std::string& to) const {
    to.append(reinterpret_cast<const char*>(file_.data()) + begin, end - begin);
  }

  std::span<const std::byte> file_;
  size_t min_bytes_;
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

bool LooksLikeModel(std::span<const std::byte> file) {
  Cursor cursor(file, 0, file.size());
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
    cursor.Skip(static_cast<size_t>(*value));
  }
  return file.size() > 8;
}

Result<std::string> WithoutPayloads(std::span<const std::byte> file, size_t min_bytes) {
  std::string copy;
  Cutter cutter(file, min_bytes);
  TONDAR_RETURN_IF_ERROR(cutter.Copy(Message::kModel, 0, file.size(), 0, copy));
  if (!cutter.has_graph()) return InvalidArgument("the model has no graph");
  return copy;
}

}  // namespace tondar::onnx_format
