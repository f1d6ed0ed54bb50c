#include "server/http/content_coding.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>

namespace tondar::http {
namespace {

constexpr size_t kMinCompressedSize = 1024;
constexpr int kCompressionLevel = 1;
constexpr int kGzipWindow = 15 + 16;  // zlib's way to say gzip
constexpr int kZlibWindow = 15;

struct CodingName {
  std::string_view name;
  ContentCoding coding;
};
constexpr CodingName kCodingNames[] = {{"gzip", ContentCoding::kGzip},
                                       {"deflate", ContentCoding::kDeflate},
                                       {"x-gzip", ContentCoding::kGzip},
                                       {"identity", ContentCoding::kIdentity}};

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return (x >= 'A' && x <= 'Z' ? x + 32 : x) == (y >= 'A' && y <= 'Z' ? y + 32 : y);
  });
}

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Takes the next element off a list; false at its end.
bool NextElement(std::string_view& list, char separator, std::string_view& element) {
  if (list.empty()) return false;
  const size_t end = list.find(separator);
  element = Trim(list.substr(0, end));
  list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
  return true;
}

// The q of ";q=0.5"; 1 where there is none, 0 where it makes no sense.
double Quality(std::string_view parameters) {
  std::string_view parameter;
  while (NextElement(parameters, ';', parameter)) {
    if (parameter.size() < 2 || (parameter[0] | 0x20) != 'q' || parameter[1] != '=') continue;
    double q = 0;
    const std::string_view number = parameter.substr(2);
    const auto result = std::from_chars(number.data(), number.data() + number.size(), q);
    return result.ec == std::errc() && q >= 0 && q <= 1 ? q : 0;
  }
  return 1;
}

struct ZStream {
  z_stream stream{};
  int (*end)(z_streamp) = nullptr;
  ~ZStream() {
    if (end != nullptr) end(&stream);
  }
};

// zlib counts in 32 bits.
uInt Step(size_t size) { return static_cast<uInt>(std::min<size_t>(size, 1u << 30)); }

// Inflates until the input or the room ends. Returns zlib's code.
int InflateStep(z_stream& stream, std::span<const std::byte>& input, BodyBuffer& out) {
  const auto room = out.room();
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(input.data()));
  stream.avail_in = Step(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(room.data());
  stream.avail_out = Step(room.size());
  const uInt in_before = stream.avail_in, out_before = stream.avail_out;
  const int code = inflate(&stream, Z_NO_FLUSH);
  input = input.subspan(in_before - stream.avail_in);
  out.Grow(out_before - stream.avail_out);
  return code;
}

HttpError Broken(std::string_view why) {
  return {400, "the request body is not valid in its Content-Encoding: " + std::string(why)};
}

// One byte above the limit is allowed for, to tell "exactly full" from "too large".
std::optional<HttpError> InflateAll(z_stream& stream, std::span<const std::byte> input, bool members, size_t limit,
                                    BodyBuffer& out) {
  const size_t ceiling = std::max(limit, limit + 1);
  out.Reserve(std::min(ceiling, std::max<size_t>(input.size() * 4, 4096)));
  while (true) {
    if (out.room().empty()) out.Reserve(std::min(ceiling, out.size() * 2));
    const int code = InflateStep(stream, input, out);
    if (out.size() > limit) return HttpError{413, "the decompressed request body is larger than http_max_input_size allows"};
    if (code == Z_STREAM_END) {
      if (input.empty()) return std::nullopt;
      if (!members) return Broken("bytes behind its end");
      if (inflateReset(&stream) != Z_OK) return Broken("cannot restart");
      continue;
    }
    if (code == Z_BUF_ERROR || (code == Z_OK && input.empty() && !out.room().empty())) return Broken("it is cut short");
    if (code == Z_MEM_ERROR) return HttpError{503, "out of memory while decompressing the request body"};
    if (code != Z_OK) return Broken(stream.msg != nullptr ? stream.msg : "corrupt");
  }
}

// Feeds `input` and appends what comes out to `out`, which is only resized by powers of two.
bool DeflateStep(z_stream& stream, std::span<const std::byte> input, int flush, std::string& out) {
  do {
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(input.data()));
    stream.avail_in = Step(input.size());
    const uInt before = stream.avail_in;
    const bool last = before == input.size();
    do {
      const size_t used = stream.total_out;
      if (used == out.size()) out.resize(out.size() * 2);
      stream.next_out = reinterpret_cast<Bytef*>(out.data() + used);
      stream.avail_out = Step(out.size() - used);
      if (deflate(&stream, last ? flush : Z_NO_FLUSH) == Z_STREAM_ERROR) return false;
    } while (stream.avail_out == 0);
    input = input.subspan(before);
  } while (!input.empty());
  return true;
}

}  // namespace

std::optional<ContentCoding> ParseContentEncoding(std::string_view value) {
  for (const CodingName& row : kCodingNames) {
    if (EqualsIgnoringCase(value, row.name)) return row.coding;
  }
  return std::nullopt;
}

ContentCoding NegotiateCoding(std::string_view accept_encoding) {
  // Negative: not named. Identity that is not named is acceptable, but after everything that is.
  double gzip = -1, deflate = -1, identity = -1, any = -1;
  std::string_view element;
  while (NextElement(accept_encoding, ',', element)) {
    const size_t name_end = element.find(';');
    const std::string_view name = Trim(element.substr(0, name_end));
    const double q = name_end == std::string_view::npos ? 1 : Quality(element.substr(name_end + 1));
    if (name == "*") {
      any = q;
    } else if (const auto coding = ParseContentEncoding(name)) {
      (*coding == ContentCoding::kGzip ? gzip : *coding == ContentCoding::kDeflate ? deflate : identity) = q;
    }
  }
  for (double* q : {&gzip, &deflate}) {
    if (*q < 0) *q = any;
  }
  const double best = std::max(gzip, deflate);
  if (best <= 0 || identity > best) return ContentCoding::kIdentity;
  return gzip >= deflate ? ContentCoding::kGzip : ContentCoding::kDeflate;
}

std::optional<HttpError> Decompress(std::span<const std::byte> body, ContentCoding coding, size_t limit,
                                    BodyBuffer& out) {
  ZStream z;
  const bool gzip = coding == ContentCoding::kGzip;
  if (inflateInit2(&z.stream, gzip ? kGzipWindow : kZlibWindow) != Z_OK) {
    return HttpError{503, "out of memory while decompressing the request body"};
  }
  z.end = inflateEnd;
  return InflateAll(z.stream, body, gzip, limit, out);
}

void Compress(HttpResponse& response, ContentCoding coding) {
  size_t size = response.text.size();
  for (const ByteBuffer& tensor : response.tensors) size += tensor.size();
  if (coding == ContentCoding::kIdentity || size < kMinCompressedSize) return;

  ZStream z;
  const int window = coding == ContentCoding::kGzip ? kGzipWindow : kZlibWindow;
  if (deflateInit2(&z.stream, kCompressionLevel, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK) return;
  z.end = deflateEnd;
  std::string out(std::max<size_t>(size / 4, 512), '\0');
  if (!DeflateStep(z.stream, std::as_bytes(std::span(response.text)), Z_NO_FLUSH, out)) return;
  for (const ByteBuffer& tensor : response.tensors) {
    if (!DeflateStep(z.stream, tensor.span(), Z_NO_FLUSH, out)) return;
  }
  if (!DeflateStep(z.stream, {}, Z_FINISH, out)) return;
  out.resize(z.stream.total_out);
  response.text = std::move(out);
  response.tensors.clear();
  response.content_encoding = coding == ContentCoding::kGzip ? "gzip" : "deflate";
}

}  // namespace tondar::http
