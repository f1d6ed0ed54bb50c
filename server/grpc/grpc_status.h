// Our Status as gRPC's.
#ifndef TONDAR_SERVER_GRPC_GRPC_STATUS_H_
#define TONDAR_SERVER_GRPC_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "engine/base/status.h"

namespace tondar {

// The codes are the same numbers. Long messages are cut: gRPC sends them in a header, and clients refuse headers above
// 8 KiB.
grpc::Status ToGrpc(const Status& status);

}  // namespace tondar

#endif  // TONDAR_SERVER_GRPC_GRPC_STATUS_H_
