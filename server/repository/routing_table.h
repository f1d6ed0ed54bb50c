// RoutingTable: from (name, version) to the version that answers; the lookup of every request.
#ifndef TONDAR_SERVER_REPOSITORY_ROUTING_TABLE_H_
#define TONDAR_SERVER_REPOSITORY_ROUTING_TABLE_H_

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/base/mutex.h"
#include "server/repository/model_version.h"

namespace tondar {

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

// The ready versions of each model, ascending, never empty.
using Routes = std::unordered_map<std::string, std::vector<ModelHandle>, StringHash, std::equal_to<>>;

// Readers hold a lock for one hash lookup, each thread mostly its own: a reader never waits for another reader's cache
// line, nor for a load. Handles are counted per version, so a request delays the end of its own version only.
// Thread-safe.
class RoutingTable {
 public:
  RoutingTable();

  // The version with this number, or the highest if `version` is ""; null if it is not ready.
  ModelHandle Find(std::string_view name, std::string_view version) const;
  // All ready versions of a model, ascending.
  std::vector<ModelHandle> FindAll(std::string_view name) const;
  std::shared_ptr<const Routes> Snapshot() const;

  // Replaces all routes. Requests that come after it has returned see only the new ones. One caller at a time.
  void Publish(Routes routes);

 private:
  static constexpr size_t kShards = 8;
  struct alignas(64) Shard {
    mutable Mutex mu;
    std::shared_ptr<const Routes> routes TONDAR_GUARDED_BY(mu);  // shared_ptr: the same table in all shards
  };
  const Shard& MyShard() const;

  std::array<Shard, kShards> shards_;
};

}  // namespace tondar

#endif  // TONDAR_SERVER_REPOSITORY_ROUTING_TABLE_H_
