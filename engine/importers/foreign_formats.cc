#include "engine/importers/foreign_formats.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "engine/archive/zip_reader.h"

namespace tondar {
namespace {

constexpr std::string_view kExport =
    "torch.export.save(torch.export.export(model.eval(), example_inputs), \"model.pt2\")";

struct ForeignFormat {
  std::string_view name, remedy;
};

constexpr ForeignFormat kAoti{
    "an AOTInductor package without a program",
    "it holds machine code for one processor only; save the exported program instead"};
constexpr ForeignFormat kOldPt2{"a PT2 archive of torch 2.8 or older, whose weights are pickled",
                                "load it there and save it again with torch 2.9 or later"};
constexpr ForeignFormat kTorchScript{"a TorchScript archive", "export the Python model"};
constexpr ForeignFormat kCheckpoint{"a PyTorch checkpoint: weights in a pickle, without a program",
                                    "load it into its Python model and export that"};
constexpr ForeignFormat kKerasZip{"a Keras archive", "export the model as ONNX (tf2onnx), or write it in PyTorch"};
constexpr ForeignFormat kSavedModel{"a TensorFlow SavedModel", "convert it to ONNX: python -m tf2onnx.convert"};
constexpr ForeignFormat kOpenVino{"OpenVINO IR", "use the model it was converted from"};
constexpr ForeignFormat kTensorRt{"a TensorRT plan, which fits one GPU and one release only",
                                  "use the model it was built from"};
constexpr ForeignFormat kPickle{"a Python pickle, which is never opened for it may run code",
                                "load it in Python and export the model"};
constexpr ForeignFormat kSafetensors{"a safetensors file: weights without a program",
                                     "load it into its Python model and export that"};
constexpr ForeignFormat kGguf{"a GGUF file: weights without a program", "export the original model"};
constexpr ForeignFormat kHdf5{"an HDF5 file (Keras)", "export the model as ONNX, or write it in PyTorch"};

Status Refuse(const std::string& path, const ForeignFormat& format) {
  return Unimplemented("{}: this is {}; {}. To export: {}", path, format.name, format.remedy, kExport);
}

// ---- Zip archives, told apart by their records ----

struct ZipMark {
  std::string_view part;  // of a record's name
  bool at_end;            // the name ends so; else it only contains it
  const ForeignFormat* format;
};
// The first row that any record fits decides.
constexpr ZipMark kZipMarks[] = {
    {"data/aotinductor/", false, &kAoti},
    {"serialized_exported_program.json", true, &kOldPt2},
    {"data/weights/model.pt", true, &kOldPt2},
    {"constants.pkl", true, &kTorchScript},
    {"/code/", false, &kTorchScript},
    {"data.pkl", true, &kCheckpoint},
    {"model.weights.h5", true, &kKerasZip},
    {"saved_model.pb", true, &kSavedModel},
};

Status DescribeZip(const ByteSource& file) {
  TONDAR_ASSIGN_OR_RETURN(const ZipReader zip, ZipReader::Open(file));
  for (const ZipMark& mark : kZipMarks) {
    for (const ZipRecord& record : zip.records()) {
      const bool fits = mark.at_end ? record.name.ends_with(mark.part) : record.name.find(mark.part) != std::string::npos;
      if (fits) return Refuse(file.name(), *mark.format);
    }
  }
  return InvalidArgument("{}: a zip archive without a model: it has no record models/<name>.json. To export: {}",
                         file.name(), kExport);
}

// ---- Other files, told apart by their first bytes or their names ----

// The first bytes of a file, and how many it has in all.
struct Head {
  std::string_view text;
  uint64_t file_size = 0;
};
constexpr uint64_t kHeadBytes = 4096;

bool IsSafetensors(const Head& head) {
  const std::string_view text = head.text;
  // A length of 8 bytes, then a JSON object.
  if (text.size() < 10 || text[8] != '{') return false;
  uint64_t length = 0;
  for (size_t i = 0; i < 8; ++i) length |= static_cast<uint64_t>(static_cast<uint8_t>(text[i])) << (8 * i);
  return length >= 2 && length <= head.file_size - 8 && length < (uint64_t{1} << 30);
}
bool IsPickle(const Head& head) {
  const std::string_view text = head.text;
  return text.size() > 2 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5;
}
bool IsGguf(const Head& head) { return head.text.starts_with("GGUF"); }
bool IsHdf5(const Head& head) { return head.text.starts_with("\x89HDF\r\n\x1a\n"); }
bool IsTensorRt(const Head& head) { return head.text.starts_with("ptrt") || head.text.starts_with("ftrt"); }
bool IsOpenVino(const Head& head) {
  return head.text.substr(0, 200).find("<?xml") != std::string_view::npos && head.text.find("<net ") < 1000;
}
struct FileMark {
  bool (*matches)(const Head& head);
  std::string_view suffix;  // of the path, where the bytes do not tell; may be empty
  const ForeignFormat* format;
};
constexpr FileMark kFileMarks[] = {
    {IsPickle, ".pkl", &kPickle},           {IsGguf, ".gguf", &kGguf},
    {IsSafetensors, ".safetensors", &kSafetensors}, {IsHdf5, ".h5", &kHdf5},
    {IsTensorRt, ".plan", &kTensorRt},      {IsOpenVino, ".xml", &kOpenVino},
};

}  // namespace

Status DescribeForeignFormat(const ByteSource& file) {
  if (LooksLikeZip(file)) return DescribeZip(file);
  const std::string& path = file.name();
  TONDAR_ASSIGN_OR_RETURN(const OwnedBytes bytes, ReadBytes(file, 0, std::min(file.size(), kHeadBytes)));
  const Head head{{reinterpret_cast<const char*>(bytes.bytes.data()), bytes.bytes.size()}, file.size()};
  for (const FileMark& mark : kFileMarks) {
    if (mark.matches(head)) return Refuse(path, *mark.format);
  }
  for (const FileMark& mark : kFileMarks) {
    if (path.ends_with(mark.suffix)) return Refuse(path, *mark.format);
  }
  if (path.ends_with("saved_model.pb")) return Refuse(path, kSavedModel);
  if (path.ends_with(".engine")) return Refuse(path, kTensorRt);
  if (path.ends_with(".bin") && std::filesystem::exists(path.substr(0, path.size() - 4) + ".xml")) {
    return Refuse(path, kOpenVino);
  }
  return InvalidArgument("{}: {} bytes of no known model format. To export: {}", path, file.size(), kExport);
}

Status DescribeForeignFolder(const std::string& path) {
  std::error_code ignored;  // not a folder is no error here
  if (!std::filesystem::is_directory(path, ignored)) return OkStatus();
  if (std::filesystem::exists(path + "/saved_model.pb", ignored)) return Refuse(path, kSavedModel);
  return InvalidArgument("{}: a folder, not a model file", path);
}

}  // namespace tondar
