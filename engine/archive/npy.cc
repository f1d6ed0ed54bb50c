#include "engine/archive/npy.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <optional>
#include <vector>

#include "engine/base/file_source.h"

namespace tondar {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kAlignment = 64;
constexpr size_t kMaxHeaderBytes = 1 << 16;

// How the format spells each dtype. The first row of a dtype is the one written; bits-only rows are written, not read.
struct Spelling {
  DType dtype;
  std::string_view descr;
  bool bits_only = false;
};
constexpr Spelling kSpellings[] = {
    {DType::kBool, "|b1"},
    {DType::kUInt8, "|u1"},
    {DType::kUInt16, "<u2"},
    {DType::kUInt32, "<u4"},
    {DType::kUInt64, "<u8"},
    {DType::kInt8, "|i1"},
    {DType::kInt16, "<i2"},
    {DType::kInt32, "<i4"},
    {DType::kInt64, "<i8"},
    {DType::kFloat16, "<f2"},
    {DType::kFloat32, "<f4"},
    {DType::kFloat64, "<f8"},
    {DType::kComplex64, "<c8"},
    {DType::kComplex128, "<c16"},
    {DType::kBFloat16, "<u2", true},
    {DType::kFloat8E4M3FN, "|u1", true},
    {DType::kFloat8E5M2, "|u1", true},
    {DType::kFloat8E4M3FNUZ, "|u1", true},
    {DType::kFloat8E5M2FNUZ, "|u1", true},
    {DType::kFloat8E8M0, "|u1", true},
};

// Parses the header, a Python dict literal of three known keys.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  struct Header {
    std::string descr;
    bool fortran_order = false;
    std::vector<int64_t> shape;
  };

  std::optional<Header> Parse() {
    Header header;
    int seen = 0;
    if (!Take('{')) return std::nullopt;
    while (!Take('}')) {
      const std::optional<std::string> key = String();
      if (!key || !Take(':')) return std::nullopt;
      bool good = false;
      if (*key == "descr") good = Descr(header.descr), seen |= 1;
      if (*key == "fortran_order") good = Bool(header.fortran_order), seen |= 2;
      if (*key == "shape") good = Tuple(header.shape), seen |= 4;
      if (!good) return std::nullopt;
      if (!Take(',') && !Peek('}')) return std::nullopt;
    }
    SkipSpace();
    if (seen != 7 || at_ != text_.size()) return std::nullopt;
    return header;
  }

 private:
  void SkipSpace() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool Peek(char c) {
    SkipSpace();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool Take(char c) {
    const bool there = Peek(c);
    if (there) ++at_;
    return there;
  }
  std::optional<std::string> String() {
    SkipSpace();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return std::nullopt;
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == text_.npos) return std::nullopt;
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  // A structured dtype is a list; its text is kept for the message.
  bool Descr(std::string& descr) {
    if (Peek('[')) {
      const size_t end = std::min(text_.find(']', at_), text_.size() - 1);
      descr = text_.substr(at_, end - at_ + 1);
      at_ = end + 1;
      return true;
    }
    std::optional<std::string> text = String();
    if (text) descr = std::move(*text);
    return text.has_value();
  }
  bool Word(std::string_view word) {
    SkipSpace();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  bool Bool(bool& value) {
    value = Word("True");
    return value || Word("False");
  }
  bool Tuple(std::vector<int64_t>& values) {
    if (!Take('(')) return false;
    while (!Take(')')) {
      SkipSpace();
      int64_t value = 0;
      const size_t begin = at_;
      for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])); ++at_) {
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text_[at_] - '0', &value)) {
          return false;
        }
      }
      if (at_ == begin || values.size() > 64) return false;
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2
      values.push_back(value);
      if (!Take(',') && !Peek(')')) return false;
    }
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<DType> DTypeOf(const std::string& where, std::string_view descr) {
  std::string spelled(descr);
  if (spelled.size() == 3 && spelled[2] == '1') spelled[0] = '|';  // one byte has no order
  if (spelled.starts_with('=')) spelled[0] = '<';
  for (const Spelling& row : kSpellings) {
    if (row.descr == spelled && !row.bits_only) return row.dtype;
  }
  if (spelled.starts_with('>')) {
    return Unimplemented("{}: dtype '{}' is big-endian; save it little-endian (array.astype('<{}'))", where,
                         descr.substr(0, 40), descr.substr(1, 8));
  }
  if (descr.find('O') != descr.npos) {
    return Unimplemented("{}: holds pickled Python objects, which are never opened; save a plain array", where);
  }
  return Unimplemented("{}: dtype '{}' is not supported; save numbers or booleans", where, descr.substr(0, 40));
}

Dims FortranStrides(const Dims& shape) {
  Dims strides = Dims::Filled(shape.rank(), 1);
  for (size_t i = 1; i < shape.size(); ++i) strides[i] = strides[i - 1] * shape[i - 1];
  return strides;
}

std::shared_ptr<std::byte> AlignedCopy(std::span<const std::byte> bytes) {
  auto* memory = static_cast<std::byte*>(::operator new(bytes.size() + 1, std::align_val_t(kAlignment)));
  if (!bytes.empty()) std::memcpy(memory, bytes.data(), bytes.size());
  return {memory, [](std::byte* owned) { ::operator delete(owned, std::align_val_t(kAlignment)); }};
}

Result<NpyArray> MakeArray(const std::string& where, const HeaderParser::Header& header,
                           std::span<const std::byte> content, const OwnedBytes& file) {
  TONDAR_ASSIGN_OR_RETURN(const DType dtype, DTypeOf(where, header.descr));
  if (header.shape.size() > kMaxRank) {
    return Unimplemented("{}: rank {} is above {}", where, header.shape.size(), kMaxRank);
  }
  const std::optional<int64_t> count = CheckedElementCount(header.shape);
  std::vector<int64_t> at_least_one = header.shape;  // of an empty array the strides must not overflow either
  for (int64_t& extent : at_least_one) extent = std::max<int64_t>(extent, 1);
  int64_t size = 0;
  const Dims shape{std::span<const int64_t>(header.shape)};
  if (!count || !CheckedElementCount(at_least_one) || __builtin_mul_overflow(*count, static_cast<int64_t>(SizeOf(dtype)), &size) ||
      static_cast<uint64_t>(size) != content.size()) {
    return InvalidArgument("{}: {} {} does not fit the {} bytes of the array", where, Name(dtype), ToString(shape),
                           content.size());
  }
  NpyArray array;
  const auto address = reinterpret_cast<uintptr_t>(content.data());
  if (address % SizeOf(dtype) == 0) {
    array.owner = file.owner;
    array.view.data = const_cast<std::byte*>(content.data());  // never written through: the view is of const bytes
  } else {
    std::shared_ptr<std::byte> copy = AlignedCopy(content);
    array.view.data = copy.get();
    array.owner = std::move(copy);
  }
  array.view.dtype = dtype;
  array.view.shape = shape;
  array.view.strides = header.fortran_order ? FortranStrides(shape) : ContiguousStrides(shape);
  return array;
}

}  // namespace

Result<NpyArray> ReadNpy(const std::string& where, const OwnedBytes& file) {
  const std::string_view text = AsText(file.bytes);
  if (!text.starts_with(kMagic) || text.size() < 12) return InvalidArgument("{}: not an npy array", where);
  const auto major = static_cast<uint8_t>(text[6]);
  if (major < 1 || major > 3) return Unimplemented("{}: npy version {} is not known", where, major);
  const size_t length_bytes = major == 1 ? 2 : 4;
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) length |= static_cast<size_t>(static_cast<uint8_t>(text[8 + i])) << (8 * i);
  const size_t begin = 8 + length_bytes;
  if (length > kMaxHeaderBytes || length > text.size() - begin) {
    return InvalidArgument("{}: the header of {} bytes is cut off or absurd", where, length);
  }
  const std::optional<HeaderParser::Header> header = HeaderParser(text.substr(begin, length)).Parse();
  if (!header) {
    return InvalidArgument("{}: header {} is not {{'descr', 'fortran_order', 'shape'}}", where,
                           text.substr(begin, std::min<size_t>(length, 80)));
  }
  return MakeArray(where, *header, file.bytes.subspan(begin + length), file);
}

Result<std::string> NpyHeader(DType dtype, const Dims& shape) {
  const Spelling* found = nullptr;
  for (const Spelling& row : kSpellings) {
    if (row.dtype == dtype) found = &row;
  }
  if (found == nullptr) return Unimplemented("npy has no dtype for {}", Name(dtype));
  std::string extents;
  for (const int64_t extent : shape) extents += fmt::format("{}, ", extent);
  if (shape.rank() > 1) extents.resize(extents.size() - 2);
  if (shape.rank() == 1) extents.resize(extents.size() - 1);
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", found->descr, extents);
  const size_t used = kMagic.size() + 4 + dict.size() + 1;
  dict.append((kAlignment - used % kAlignment) % kAlignment, ' ');
  dict += '\n';
  std::string header(kMagic);
  header += {'\1', '\0', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
  return header + dict;
}

std::span<const std::byte> ContiguousBytes(const TensorView& view, std::string& copy) {
  if (view.contiguous()) return view.bytes();
  copy.resize(view.size_bytes());
  CopyElements(view, TensorView::Contiguous(copy.data(), view.dtype, view.shape));
  return std::as_bytes(std::span(copy));
}

Result<NpyArray> LoadNpy(const std::string& path) {
  TONDAR_ASSIGN_OR_RETURN(const std::unique_ptr<FileSource> file, FileSource::Open(path));
  TONDAR_ASSIGN_OR_RETURN(const OwnedBytes bytes, ReadBytes(*file, 0, file->size()));
  return ReadNpy(path, bytes);
}

Status SaveNpy(const std::string& path, const TensorView& view) {
  TONDAR_ASSIGN_OR_RETURN(const std::string header, NpyHeader(view.dtype, view.shape));
  std::string copy;
  const std::string_view content = AsText(ContiguousBytes(view, copy));
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return Internal("{}: cannot be created: {}", path, std::strerror(errno));
  const bool written = std::fwrite(header.data(), 1, header.size(), file) == header.size() &&
                       std::fwrite(content.data(), 1, content.size(), file) == content.size();
  if (std::fclose(file) != 0 || !written) return Internal("{}: write failed: {}", path, std::strerror(errno));
  return OkStatus();
}

}  // namespace tondar
