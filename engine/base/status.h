// Status and Result<T>: how every function that can fail says so.
#ifndef TONDAR_ENGINE_BASE_STATUS_H_
#define TONDAR_ENGINE_BASE_STATUS_H_

#include <fmt/core.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tondar {

// The 16 canonical codes; numbers equal gRPC's, so that the wire table is the identity.
enum class StatusCode : uint8_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

std::string_view StatusCodeName(StatusCode code);

// Says what failed, where, with which values. The message reads: what failed, where, expected against found, how to
// fix. Success carries no allocation. Value type; thread-compatible.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message);

  Status(const Status& other) : rep_(other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr) {}
  Status& operator=(const Status& other) {
    if (this != &other) rep_ = other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr;
    return *this;
  }
  Status(Status&&) = default;
  Status& operator=(Status&&) = default;

  bool ok() const { return rep_ == nullptr; }
  StatusCode code() const { return rep_ ? rep_->code : StatusCode::kOk; }
  std::string_view message() const { return rep_ ? std::string_view(rep_->message) : std::string_view(); }

  // "INVALID_ARGUMENT: message", or "OK".
  std::string ToString() const;

  // Prefixes the message with where it happened: "outer: message". OK stays OK.
  Status Annotated(std::string_view where) const;

  // States why a failure may be dropped here.
  void IgnoreError(std::string_view /*why*/) const {}

 private:
  struct Rep {
    StatusCode code;
    std::string message;
  };
  std::unique_ptr<Rep> rep_;  // null means OK
};

inline Status OkStatus() { return Status(); }

#define TONDAR_DEFINE_ERROR(Name)                                                        \
  template <typename... Args>                                                            \
  Status Name(fmt::format_string<Args...> format, Args&&... args) {                      \
    return Status(StatusCode::k##Name, fmt::format(format, std::forward<Args>(args)...)); \
  }
// InvalidArgument("input '{}': expected {}, found {}", ...) and so on, one maker per code in use.
TONDAR_DEFINE_ERROR(Cancelled)
TONDAR_DEFINE_ERROR(Unknown)
TONDAR_DEFINE_ERROR(InvalidArgument)
TONDAR_DEFINE_ERROR(DeadlineExceeded)
TONDAR_DEFINE_ERROR(NotFound)
TONDAR_DEFINE_ERROR(AlreadyExists)
TONDAR_DEFINE_ERROR(PermissionDenied)
TONDAR_DEFINE_ERROR(ResourceExhausted)
TONDAR_DEFINE_ERROR(FailedPrecondition)
TONDAR_DEFINE_ERROR(Aborted)
TONDAR_DEFINE_ERROR(OutOfRange)
TONDAR_DEFINE_ERROR(Unimplemented)
TONDAR_DEFINE_ERROR(Internal)
TONDAR_DEFINE_ERROR(Unavailable)
TONDAR_DEFINE_ERROR(DataLoss)
TONDAR_DEFINE_ERROR(Unauthenticated)
#undef TONDAR_DEFINE_ERROR

namespace internal {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, std::string_view message);
}  // namespace internal

// Ends the process when an invariant of ours is broken; never for input, files, network or devices.
#define TONDAR_CHECK(condition, ...)                                                             \
  do {                                                                                           \
    if (!(condition)) [[unlikely]]                                                               \
      ::tondar::internal::CheckFailed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
  } while (false)

// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                 // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {          // NOLINT: implicit by design
    TONDAR_CHECK(!status_.ok(), "a Result without a value needs an error");
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  // The value; the process ends if there is none, so test ok() first.
  T& value() & { CheckHasValue(); return *value_; }
  const T& value() const& { CheckHasValue(); return *value_; }
  T&& value() && { CheckHasValue(); return std::move(*value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  void CheckHasValue() const { TONDAR_CHECK(value_.has_value(), "{}", status_.ToString()); }

  Status status_;
  std::optional<T> value_;
};

#define TONDAR_CONCAT_INNER(a, b) a##b
#define TONDAR_CONCAT(a, b) TONDAR_CONCAT_INNER(a, b)

// Returns the error of a Status expression to the caller.
#define TONDAR_RETURN_IF_ERROR(expression)                       \
  do {                                                           \
    ::tondar::Status tondar_status = (expression);               \
    if (!tondar_status.ok()) [[unlikely]] return tondar_status;  \
  } while (false)

// TONDAR_ASSIGN_OR_RETURN(auto x, MakeX()); assigns the value or returns the error.
#define TONDAR_ASSIGN_OR_RETURN(target, expression) \
  TONDAR_ASSIGN_OR_RETURN_IMPL(TONDAR_CONCAT(tondar_result_, __LINE__), target, expression)
#define TONDAR_ASSIGN_OR_RETURN_IMPL(result, target, expression) \
  auto result = (expression);                                    \
  if (!result.ok()) [[unlikely]] return result.status();         \
  target = std::move(result).value()

}  // namespace tondar

#endif  // TONDAR_ENGINE_BASE_STATUS_H_
