// npz: named arrays, a zip archive of npy records.
#ifndef TONDAR_ENGINE_ARCHIVE_NPZ_H_
#define TONDAR_ENGINE_ARCHIVE_NPZ_H_

#include <string>
#include <string_view>
#include <vector>

#include "engine/archive/npy.h"
#include "engine/archive/zip_reader.h"
#include "engine/archive/zip_writer.h"
#include "engine/base/status.h"
#include "engine/types/tensor_view.h"

namespace tondar {

//   TONDAR_ASSIGN_OR_RETURN(const NpzReader inputs, NpzReader::Open("inputs_0.npz"));
//   for (const std::string& name : inputs.names()) { TONDAR_ASSIGN_OR_RETURN(NpyArray array, inputs.Get(name)); ... }
// Thread-safe after opening.
class NpzReader {
 public:
  static Result<NpzReader> Open(const std::string& path);
  static Result<NpzReader> Open(std::string name, OwnedBytes file);

  // Without ".npy", in the order of the file.
  const std::vector<std::string>& names() const { return names_; }
  bool Has(std::string_view name) const;
  // NotFound: no such array. Else as ReadNpy.
  Result<NpyArray> Get(std::string_view name) const;

 private:
  NpzReader(std::unique_ptr<const ByteSource> file, ZipReader zip);
  static Result<NpzReader> Open(std::unique_ptr<const ByteSource> file);

  std::unique_ptr<const ByteSource> file_;  // what zip_ reads from
  ZipReader zip_;
  std::vector<std::string> names_;
};

// Streams arrays into an npz file, stored; complete only after Close(). Names are taken without ".npy".
class NpzWriter {
 public:
  static Result<NpzWriter> Create(const std::string& path);
  static NpzWriter ToMemory(std::string* out) { return NpzWriter(ZipWriter::ToMemory(out)); }

  // Any strides. bfloat16 and the 8-bit floats are written as uint16 and uint8 bits.
  Status Add(std::string_view name, const TensorView& view);
  Status Close() { return zip_.Close(); }

 private:
  explicit NpzWriter(ZipWriter zip) : zip_(std::move(zip)) {}

  ZipWriter zip_;
};

}  // namespace tondar

#endif  // TONDAR_ENGINE_ARCHIVE_NPZ_H_
