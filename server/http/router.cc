#include "server/http/router.h"

#include <algorithm>
#include <array>
#include <new>

#include "engine/base/log.h"
#include "server/http/content_coding.h"

namespace tondar::http {
namespace {

constexpr size_t kMaxSegments = 12;  // of any path here; longer ones are unknown

// The path alone: without the query, and without scheme and authority if the client sent those.
std::string_view PathOf(std::string_view target) {
  target = target.substr(0, target.find_first_of("?#"));
  if (target.starts_with('/')) return target;
  const size_t scheme_end = target.find("://");
  if (scheme_end == std::string_view::npos) return target;
  const size_t path = target.find('/', scheme_end + 3);
  return path == std::string_view::npos ? "/" : target.substr(path);
}

// Splits "/a/b" into "a", "b". Returns kMaxSegments + 1 if there are more than fit, 0 if it is no path.
size_t SplitPath(std::string_view path, std::array<std::string_view, kMaxSegments>& segments) {
  size_t count = 0;
  while (path.starts_with('/')) {
    if (count == kMaxSegments) return kMaxSegments + 1;
    const size_t end = path.find('/', 1);
    segments[count++] = path.substr(1, end == std::string_view::npos ? end : end - 1);
    path = end == std::string_view::npos ? std::string_view() : path.substr(end);
  }
  return path.empty() ? count : 0;
}

bool IsDecimal(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string AllowLine(uint8_t methods) {
  std::string line = "Allow: ";
  if ((methods & kGet) != 0) line += "GET, HEAD";
  if ((methods & kPost) != 0) line += (methods & kGet) != 0 ? ", POST" : "POST";
  return line + "\r\n";
}

HttpResponse WithHeader(HttpResponse response, std::string header) {
  response.extra_headers = std::move(header);
  return response;
}

bool Accepts(uint8_t methods, Method method) { return ((method == kHead ? kGet : method) & methods) != 0; }

std::optional<HttpError> DecodeBody(const HttpRequest& request, size_t limit, HttpRequest& decoded) {
  const auto coding = ParseContentEncoding(request.content_encoding);
  if (!coding) {
    return HttpError{415, "Content-Encoding '" + std::string(request.content_encoding) +
                              "' is not known here; send gzip, deflate or identity"};
  }
  decoded = request;
  if (*coding == ContentCoding::kIdentity) return std::nullopt;
  auto body = std::make_shared<BodyBuffer>();
  if (auto error = Decompress(request.body, *coding, limit, *body)) return error;
  decoded.body = body->span();
  decoded.storage = std::move(body);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> PercentDecode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded.push_back(text[i]);
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = HexValue(text[i + 1]), low = HexValue(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return decoded;
}

Router::Router(const RouteServices& services, size_t max_body_size)
    : services_(services), max_body_size_(max_body_size) {
  // The hot one first.
  for (const auto& table : {InferRoutes(), HealthRoutes(), ModelRoutes(), RepositoryRoutes(), UnimplementedRoutes()}) {
    for (const Route& route : table) Add(route);
  }
}

// A pattern with an optional group becomes two rows.
void Router::Add(const Route& route) {
  const size_t open = route.pattern.find('['), close = route.pattern.find(']');
  if (open == std::string_view::npos) return AddPattern(route, {route.pattern});
  const std::string_view before = route.pattern.substr(0, open);
  const std::string_view group = route.pattern.substr(open + 1, close - open - 1);
  const std::string_view after = route.pattern.substr(close + 1);
  AddPattern(route, {before, after});
  AddPattern(route, {before, group, after});
}

void Router::AddPattern(const Route& route, const std::vector<std::string_view>& pieces) {
  CompiledRoute compiled{route.methods, route.function, {}};
  for (std::string_view piece : pieces) {
    std::array<std::string_view, kMaxSegments> segments;
    const size_t count = SplitPath(piece, segments);
    TONDAR_CHECK(count <= kMaxSegments, "route {} is too long", route.pattern);
    for (size_t i = 0; i < count; ++i) {
      const std::string_view text = segments[i];
      const Kind kind = text == "{model}"     ? Kind::kModel
                        : text == "{version}" ? Kind::kVersion
                        : text == "{any}"     ? Kind::kAny
                                              : Kind::kLiteral;
      compiled.segments.push_back({kind, text});
    }
  }
  routes_.push_back(std::move(compiled));
}

bool Router::Matches(const CompiledRoute& route, std::span<const std::string_view> path, Match& match) {
  if (route.segments.size() != path.size()) return false;
  match = Match{&route, {}, {}};
  for (size_t i = 0; i < path.size(); ++i) {
    const Segment& segment = route.segments[i];
    switch (segment.kind) {
      case Kind::kLiteral:
        if (segment.text != path[i]) return false;
        break;
      case Kind::kModel:
        if (path[i].empty()) return false;
        match.model = path[i];
        break;
      case Kind::kVersion:
        if (!IsDecimal(path[i])) return false;
        match.version = path[i];
        break;
      case Kind::kAny:
        if (path[i].empty()) return false;
        break;
    }
  }
  return true;
}

void Router::Handle(const HttpRequest& request, Exchange& exchange) {
  // The services do not throw; what decoding throws comes before they have been called.
  try {
    Call(request, exchange);
  } catch (const std::bad_alloc&) {
    exchange.Respond(ErrorResponse(503, "out of memory while decoding the request"));
  } catch (const std::exception& error) {
    LogError("http: {}: {}", request.target, error.what());
    exchange.Respond(ErrorResponse(500, "internal error"));
  }
}

void Router::Call(const HttpRequest& request, Exchange& exchange) {
  std::array<std::string_view, kMaxSegments> segments;
  const size_t count = SplitPath(PathOf(request.target), segments);
  uint8_t other_methods = 0;
  if (count > 0 && count <= kMaxSegments) {
    Match match;
    for (const CompiledRoute& route : routes_) {
      if (!Matches(route, std::span(segments.data(), count), match)) continue;
      if (Accepts(route.methods, request.method)) return CallRoute(match, request, exchange);
      other_methods |= route.methods;
    }
  }
  if (other_methods != 0) {
    return exchange.Respond(
        WithHeader(ErrorResponse(405, "this path takes another verb; see Allow"), AllowLine(other_methods)));
  }
  exchange.Respond(ErrorResponse(404, "unknown path '" + std::string(PathOf(request.target)) + "'"));
}

void Router::CallRoute(const Match& match, const HttpRequest& request, Exchange& exchange) {
  std::string decoded_model;
  RouteCall call{request, exchange, match.model, match.version};
  if (match.model.find('%') != std::string_view::npos) {
    auto decoded = PercentDecode(match.model);
    if (!decoded) return exchange.Respond(ErrorResponse(400, "the path has a broken percent-encoding"));
    decoded_model = std::move(*decoded);
    call.model = decoded_model;
  }
  if (request.content_encoding.empty() || request.body.empty()) return match.route->function(services_, call);

  HttpRequest decoded;
  if (const auto error = DecodeBody(request, max_body_size_, decoded)) {
    HttpResponse response = ErrorResponse(error->status, error->text);
    if (error->status == 415) response.extra_headers = "Accept-Encoding: " + std::string(kAcceptedCodings) + "\r\n";
    return exchange.Respond(std::move(response));
  }
  match.route->function(services_, RouteCall{decoded, exchange, call.model, call.version});
}

}  // namespace tondar::http
