#include "server/grpc/grpc_status.h"

namespace tondar {
namespace {

// Bytes that are not printable ASCII take three on the wire, so the worst case stays below 8 KiB.
constexpr size_t kLongestMessage = 2000;

std::string Cut(std::string_view message) {
  if (message.size() <= kLongestMessage) return std::string(message);
  size_t end = kLongestMessage;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0) == 0x80) --end;  // not inside a UTF-8 sequence
  return std::string(message.substr(0, end)) + " ...";
}

}  // namespace

grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()), Cut(status.message())};
}

}  // namespace tondar
