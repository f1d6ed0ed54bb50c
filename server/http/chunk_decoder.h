// Decodes the chunked transfer coding (RFC 9112, section 7.1), whatever pieces it comes in.
#ifndef TONDAR_SERVER_HTTP_CHUNK_DECODER_H_
#define TONDAR_SERVER_HTTP_CHUNK_DECODER_H_

#include <optional>
#include <span>

#include "server/http/body_buffer.h"
#include "server/http/request_head.h"

namespace tondar::http {

// One chunked body. Memory is bounded by the size limit, work by the chunk limit. Thread-compatible.
class ChunkDecoder {
 public:
  // 65,536 is the protocol's bound: a body of one-byte chunks costs a client nothing and the server a lot.
  static constexpr size_t kMaxChunks = 65536;
  static constexpr size_t kMaxLineBytes = 4096;      // size line with its extensions
  static constexpr size_t kMaxTrailerBytes = 16384;  // all trailer fields, which are dropped

  explicit ChunkDecoder(size_t max_body_size) : max_body_size_(max_body_size) {}

  // Decodes as much of `bytes` as belongs to the body and appends it to `body`; returns how many bytes it took, all of
  // them unless done() or error(). 400: malformed or too many chunks. 413: too large.
  size_t Feed(std::span<const std::byte> bytes, BodyBuffer& body);

  bool done() const { return state_ == State::kDone; }
  const std::optional<HttpError>& error() const { return error_; }

 private:
  enum class State { kSize, kExtension, kSizeEnd, kBytes, kBytesEnd1, kBytesEnd2, kTrailer, kTrailerEnd, kDone };

  void Take(unsigned char c);
  void TakeSizeDigit(unsigned char c);
  void EndSizeLine();
  void TakeTrailer(unsigned char c);
  size_t TakeBytes(std::span<const std::byte> bytes, BodyBuffer& body);
  void Fail(int status, const char* text);

  const size_t max_body_size_;
  State state_ = State::kSize;
  uint64_t chunk_left_ = 0;
  int digits_ = 0;
  size_t chunks_ = 0;
  size_t line_bytes_ = 0;     // of the current size line, or of all trailers
  size_t trailer_column_ = 0;
  uint64_t total_ = 0;
  std::optional<HttpError> error_;
};

}  // namespace tondar::http

#endif  // TONDAR_SERVER_HTTP_CHUNK_DECODER_H_
