// Tensors: TensorProtos become constants.
#ifndef TONDAR_ENGINE_IMPORTERS_ONNX_TENSORS_H_
#define TONDAR_ENGINE_IMPORTERS_ONNX_TENSORS_H_

#include <map>
#include <memory>
#include <span>
#include <string>

#include "engine/base/file_source.h"
#include "engine/base/status.h"
#include "engine/ir/graph.h"

namespace onnx {
class SparseTensorProto;
class TensorProto;
}  // namespace onnx

namespace tondar::onnx_format {

// The engine's dtype for a TensorProto.DataType. Unimplemented: there is none, with its ONNX name.
Result<DType> DTypeOf(int32_t onnx_dtype);
// "FLOAT16"; "data type 77" if the number is unknown.
std::string DTypeName(int32_t onnx_dtype);

class Tensors {
 public:
  // `file` is the model, what raw_offset counts in; external data lies in its folder. Outlives this.
  explicit Tensors(const ByteSource& file) : file_(file) {}

  // The elements of `tensor` as a constant called `name`, a copy of its own. 4-bit and 2-bit integers are unpacked to
  // int8 and uint8.
  // InvalidArgument: the bytes do not fit the shape, a negative size, an external file outside the model's folder or
  // too short. NotFound: no such external file. Unimplemented: the dtype, or a rank above kMaxRank. ResourceExhausted: no
  // memory. Else as ByteSource::Read.
  Result<Constant> Read(const onnx::TensorProto& tensor, const std::string& name);
  // A sparse tensor, made dense.
  Result<Constant> ReadSparse(const onnx::SparseTensorProto& tensor, const std::string& name);

  // What Read would say without reading the elements: of a tensor that nothing uses.
  Status Check(const onnx::TensorProto& tensor);

  // Whether the external files stayed the same while they were read. Unavailable: one did not.
  Status CheckUnchanged() const;

 private:
  // A run of bytes: `size` from `offset` of a file, or `held` by the message.
  struct Place {
    const ByteSource* file = nullptr;
    uint64_t offset = 0, size = 0;
    bool open_ended = false;  // `size` is all there is, and may be more than belongs here
    std::span<const std::byte> held;
  };
  // A tensor as it is stored, checked.
  struct Stored {
    Dims shape;
    bool typed = false;  // the elements are in the message's typed fields; else at `place`
    Place place;
  };
  Result<Stored> Locate(const onnx::TensorProto& tensor);
  Result<Place> Raw(const onnx::TensorProto& tensor);
  Result<Place> External(const onnx::TensorProto& tensor);
  static Status Copy(const Place& place, std::span<std::byte> to);

  const ByteSource& file_;
  std::map<std::string, std::unique_ptr<const FileSource>> external_;  // by location
};

}  // namespace tondar::onnx_format

#endif  // TONDAR_ENGINE_IMPORTERS_ONNX_TENSORS_H_
