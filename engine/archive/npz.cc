#include "engine/archive/npz.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/file_source.h"

namespace tondar {
namespace {

constexpr std::string_view kSuffix = ".npy";

}  // namespace

NpzReader::NpzReader(std::unique_ptr<const ByteSource> file, ZipReader zip)
    : file_(std::move(file)), zip_(std::move(zip)) {
  for (const ZipRecord& record : zip_.records()) {
    std::string_view name = record.name;
    if (name.ends_with(kSuffix)) names_.emplace_back(name.substr(0, name.size() - kSuffix.size()));
  }
}

Result<NpzReader> NpzReader::Open(std::unique_ptr<const ByteSource> file) {
  TONDAR_ASSIGN_OR_RETURN(ZipReader zip, ZipReader::Open(*file));
  return NpzReader(std::move(file), std::move(zip));
}

Result<NpzReader> NpzReader::Open(const std::string& path) {
  TONDAR_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> file, FileSource::Open(path));
  return Open(std::move(file));
}

Result<NpzReader> NpzReader::Open(std::string name, OwnedBytes file) {
  return Open(std::make_unique<MemorySource>(std::move(name), std::move(file)));
}

bool NpzReader::Has(std::string_view name) const { return std::find(names_.begin(), names_.end(), name) != names_.end(); }

Result<NpyArray> NpzReader::Get(std::string_view name) const {
  const ZipRecord* record = zip_.Find(fmt::format("{}{}", name, kSuffix));
  if (record == nullptr) {
    return NotFound("{}: no array '{}'; it holds {}", zip_.name(), name, fmt::join(names_, ", "));
  }
  TONDAR_ASSIGN_OR_RETURN(const OwnedBytes bytes, zip_.Read(*record));
  return ReadNpy(fmt::format("{}: array '{}'", zip_.name(), name), bytes);
}

Result<NpzWriter> NpzWriter::Create(const std::string& path) {
  TONDAR_ASSIGN_OR_RETURN(ZipWriter zip, ZipWriter::Create(path));
  return NpzWriter(std::move(zip));
}

Status NpzWriter::Add(std::string_view name, const TensorView& view) {
  TONDAR_ASSIGN_OR_RETURN(const std::string header, NpyHeader(view.dtype, view.shape));
  std::string copy;
  const std::span<const std::byte> parts[] = {std::as_bytes(std::span(header)), ContiguousBytes(view, copy)};
  return zip_.Add(fmt::format("{}{}", name, kSuffix), parts, 64);
}

}  // namespace tondar
