// Weights: the tensors of an archive by their names in the model.
#ifndef TONDAR_ENGINE_IMPORTERS_PT2_WEIGHTS_H_
#define TONDAR_ENGINE_IMPORTERS_PT2_WEIGHTS_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "engine/importers/pt2/archive.h"
#include "engine/importers/problems.h"
#include "engine/importers/pt2/program.h"
#include "engine/ir/graph.h"

namespace tondar::pt2 {

// A record is the image of one storage; tensors are strided views of it, and several may share one. Records are read
// when first asked for, once: what no node uses (the float weights of a quantised model) costs nothing.
class Weights {
 public:
  // Reads the payload configurations of program `program_name`. All outlive this.
  Weights(const Archive& archive, std::string_view program_name, Problems& problems);

  // The tensor that the specification of a graph input names and Check has found good. nullopt with a problem added if
  // it is unsupported or cannot be read. `node` is where it is used, for messages.
  std::optional<Constant> Get(InputSpec::Kind kind, const std::string& name, std::string_view node);
  // Checks that the tensor exists and fits its record, without reading it; false with a problem added if not.
  bool Check(InputSpec::Kind kind, const std::string& name);

 private:
  struct Folder {
    std::string path;  // "data/weights/"
    Payloads payloads;
  };
  // Where a tensor lies in its record, checked.
  struct Extent {
    DType dtype = DType::kInvalid;
    Dims sizes, strides;
    uint64_t offset_bytes = 0;
  };

  Folder ReadFolder(std::string path, std::string_view program_name, std::initializer_list<std::string_view> configs);
  std::pair<const Folder*, const Payload*> Find(const std::string& name) const;
  std::optional<Extent> Locate(const std::string& name, const Payload& payload, const ZipRecord& record);
  std::optional<OwnedBytes> Storage(const ZipRecord& record);

  const Archive& archive_;
  Problems& problems_;
  Folder weights_, constants_;
  std::map<std::string, OwnedBytes> storages_;  // by record name
};

}  // namespace tondar::pt2

#endif  // TONDAR_ENGINE_IMPORTERS_PT2_WEIGHTS_H_
