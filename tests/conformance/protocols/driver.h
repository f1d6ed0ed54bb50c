// What a protocol has to show to take the conformance suite: the same calls, asked its own way.
#ifndef TONDAR_TESTS_CONFORMANCE_PROTOCOLS_DRIVER_H_
#define TONDAR_TESTS_CONFORMANCE_PROTOCOLS_DRIVER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/types/dtype.h"
#include "engine/types/shape.h"
#include "server/request/request.h"
#include "server/server.h"
#include "server/service/control_service.h"

namespace tondar::conformance {

// A tensor that owns its bytes; framed as InputTensor::bytes is.
struct Tensor {
  std::string name;
  DType dtype = DType::kInvalid;
  Dims shape;
  std::string bytes;

  bool operator==(const Tensor&) const = default;
};

struct Call {
  std::string model, version, id;
  std::vector<Tensor> inputs;
  std::vector<std::string> outputs;  // empty: all
  Parameters parameters;
};

struct Answer {
  std::string model, version, id;
  std::vector<Tensor> outputs;

  bool operator==(const Answer&) const = default;
};

// One protocol, connected to one server. An error is a Status with the message as it came over the wire; a protocol with
// fewer codes than ours gives any code of the same HTTP class, which is what the suite compares. Thread-compatible.
class Driver {
 public:
  virtual ~Driver() = default;

  virtual Result<Answer> Infer(const Call& call) = 0;

  virtual bool Live() = 0;
  virtual bool Ready() = 0;
  virtual bool ModelReady(std::string_view model, std::string_view version) = 0;
  virtual ServerMetadata GetServerMetadata() = 0;
  virtual Result<ModelMetadata> GetModelMetadata(std::string_view model, std::string_view version) = 0;
  // The configuration as JSON, in the form of GET .../config.
  virtual Result<std::string> GetModelConfig(std::string_view model, std::string_view version) = 0;
  virtual Result<std::vector<ModelStatistics>> GetStatistics(std::string_view model, std::string_view version) = 0;
  virtual std::vector<ModelIndexEntry> GetIndex(bool ready_only) = 0;
  virtual Status LoadModel(std::string_view model, const Parameters& parameters) = 0;
  virtual Status UnloadModel(std::string_view model, const Parameters& parameters) = 0;
};

// A way of speaking to a server: one row for each form of a protocol that is worth its own run of the suite.
struct DriverKind {
  const char* name;
  std::unique_ptr<Driver> (*connect)(Server& server);
};

// Defined by each <protocol>_driver.cc.
std::vector<DriverKind> TestedDrivers();

// The service layer called without any codec: what all others are compared with.
std::unique_ptr<Driver> ConnectInProcess(Server& server);

}  // namespace tondar::conformance

#endif  // TONDAR_TESTS_CONFORMANCE_PROTOCOLS_DRIVER_H_
