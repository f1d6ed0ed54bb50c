// gzip and deflate of request and response bodies.
#ifndef TONDAR_SERVER_HTTP_CONTENT_CODING_H_
#define TONDAR_SERVER_HTTP_CONTENT_CODING_H_

#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "server/http/body_buffer.h"
#include "server/http/request_head.h"

namespace tondar::http {

enum class ContentCoding : uint8_t { kIdentity, kGzip, kDeflate };  // deflate means zlib's format, as RFC 9110 says

// What Accept-Encoding of a 415 answer lists.
inline constexpr std::string_view kAcceptedCodings = "gzip, deflate";

// The coding a Content-Encoding value names; nullopt for unknown ones and for lists.
std::optional<ContentCoding> ParseContentEncoding(std::string_view value);

// The coding to answer in, by the q-values of an Accept-Encoding value: the highest wins, a coding named there before
// identity, gzip before deflate. Identity where nothing offered is acceptable.
ContentCoding NegotiateCoding(std::string_view accept_encoding);

// Decodes a whole body into `out`, several gzip members included. 400: broken or cut short, or bytes behind its end;
// 413: more than `limit` bytes come out, of which no more than that were ever held; 503: out of memory.
std::optional<HttpError> Decompress(std::span<const std::byte> body, ContentCoding coding, size_t limit, BodyBuffer& out);

// Encodes text and tensors of `response` in place, if the body is large enough to gain (1 KiB). Level 1: on a network
// of 1 Gbit/s more costs more than it saves.
void Compress(HttpResponse& response, ContentCoding coding);

}  // namespace tondar::http

#endif  // TONDAR_SERVER_HTTP_CONTENT_CODING_H_
