#include "server/http/chunk_decoder.h"

#include <algorithm>

namespace tondar::http {
namespace {

int HexValue(unsigned char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const unsigned char lower = c | 0x20;
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

size_t ChunkDecoder::Feed(std::span<const std::byte> bytes, BodyBuffer& body) {
  size_t taken = 0;
  while (taken < bytes.size() && !done() && !error_) {
    if (state_ == State::kBytes) {
      taken += TakeBytes(bytes.subspan(taken), body);
    } else {
      Take(static_cast<unsigned char>(bytes[taken++]));
    }
  }
  return taken;
}

size_t ChunkDecoder::TakeBytes(std::span<const std::byte> bytes, BodyBuffer& body) {
  const size_t size = std::min<uint64_t>(bytes.size(), chunk_left_);
  body.Append(bytes.first(size), max_body_size_);
  chunk_left_ -= size;
  if (chunk_left_ == 0) state_ = State::kBytesEnd1;
  return size;
}

void ChunkDecoder::Take(unsigned char c) {
  switch (state_) {
    case State::kSize: return TakeSizeDigit(c);
    case State::kExtension:
      if (++line_bytes_ > kMaxLineBytes) return Fail(400, "chunked body: a size line is too long");
      if (c == '\n') return Fail(400, "chunked body: a bare line feed in a size line");
      if (c == '\r') state_ = State::kSizeEnd;
      return;
    case State::kSizeEnd: return c == '\n' ? EndSizeLine() : Fail(400, "chunked body: a size line without its end");
    case State::kBytesEnd1:
      if (c != '\r') return Fail(400, "chunked body: a chunk is longer than its size");
      state_ = State::kBytesEnd2;
      return;
    case State::kBytesEnd2:
      if (c != '\n') return Fail(400, "chunked body: a chunk without its end");
      state_ = State::kSize;
      digits_ = 0;
      line_bytes_ = 0;
      return;
    case State::kTrailer:
    case State::kTrailerEnd: return TakeTrailer(c);
    case State::kBytes:
    case State::kDone: return;
  }
}

void ChunkDecoder::TakeSizeDigit(unsigned char c) {
  const int digit = HexValue(c);
  if (digit >= 0) {
    if (++digits_ > 15) return Fail(400, "chunked body: a size of more than 15 hexadecimal digits");
    chunk_left_ = chunk_left_ * 16 + static_cast<uint64_t>(digit);
    return;
  }
  if (digits_ == 0) return Fail(400, "chunked body: a size that is not hexadecimal");
  if (c == '\r') {
    state_ = State::kSizeEnd;
  } else if (c == ';' || c == ' ' || c == '\t') {
    state_ = State::kExtension;
  } else {
    Fail(400, "chunked body: a size that is not hexadecimal");
  }
}

void ChunkDecoder::EndSizeLine() {
  if (chunk_left_ == 0) {
    state_ = State::kTrailer;
    line_bytes_ = 0;
    trailer_column_ = 0;
    return;
  }
  if (++chunks_ > kMaxChunks) return Fail(400, "chunked body: more than 65536 chunks");
  total_ += chunk_left_;
  if (total_ > max_body_size_) return Fail(413, "the request body is larger than http_max_input_size allows");
  state_ = State::kBytes;
}

void ChunkDecoder::TakeTrailer(unsigned char c) {
  if (++line_bytes_ > kMaxTrailerBytes) return Fail(400, "chunked body: trailers are too long");
  if (state_ == State::kTrailerEnd) {
    if (c != '\n') return Fail(400, "chunked body: a trailer line without its end");
    state_ = trailer_column_ == 0 ? State::kDone : State::kTrailer;
    trailer_column_ = 0;
  } else if (c == '\r') {
    state_ = State::kTrailerEnd;
  } else {
    ++trailer_column_;
  }
}

void ChunkDecoder::Fail(int status, const char* text) { error_ = HttpError{status, text}; }

}  // namespace tondar::http
