// Tensors: TensorProtos become constants, in place where they lie aligned.
#ifndef TONDAR_ENGINE_IMPORTERS_ONNX_TENSORS_H_
#define TONDAR_ENGINE_IMPORTERS_ONNX_TENSORS_H_

#include <map>
#include <memory>
#include <span>
#include <string>

#include "engine/archive/zip_reader.h"
#include "engine/base/mapped_file.h"
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
  // `path` is the model file's: external data lies in its folder. `file` is what raw_offset counts in.
  Tensors(std::string path, OwnedBytes file);

  // The elements of `tensor` as a constant called `name`: a view of the file or of an external file (mapped once, and
  // kept mapped by the constant) where it lies aligned for its dtype, else a copy. 4-bit and 2-bit integers are
  // unpacked to int8 and uint8.
  // InvalidArgument: the bytes do not fit the shape, a negative size, an external file outside the model's folder or
  // too short. NotFound: no such external file. Unimplemented: the dtype, or a rank above kMaxRank.
  Result<Constant> Read(const onnx::TensorProto& tensor, const std::string& name);
  // A sparse tensor, made dense.
  Result<Constant> ReadSparse(const onnx::SparseTensorProto& tensor, const std::string& name);

 private:
  Result<OwnedBytes> External(const onnx::TensorProto& tensor);
  Result<OwnedBytes> RawBytes(const onnx::TensorProto& tensor);

  std::string path_;
  OwnedBytes file_;
  std::map<std::string, std::shared_ptr<const MappedFile>> external_;  // by location
};

}  // namespace tondar::onnx_format

#endif  // TONDAR_ENGINE_IMPORTERS_ONNX_TENSORS_H_
