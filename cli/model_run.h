// ModelRun: a model file, a session of it and inputs from an .npz file; what infer and bench share.
#ifndef TONDAR_CLI_MODEL_RUN_H_
#define TONDAR_CLI_MODEL_RUN_H_

#include <memory>
#include <string>
#include <vector>

#include "engine/api/engine.h"
#include "engine/archive/npz.h"

namespace tondar {

struct ModelRunOptions {
  std::string model;
  std::string accelerator = "cpu";
  std::string cpu_isa = "auto";
  int threads = 1;
  bool capture = true;
};

// Shows phases of long work on one line of stderr when that is a terminal, and nothing otherwise.
class Progress {
 public:
  Progress();
  ~Progress() { Clear(); }
  void Show(std::string_view phase);
  void Clear();

 private:
  bool terminal_;
  bool shown_ = false;
};

// How far outputs are from what was expected: max |a - b|, and max |a - b| / (1 + |b|).
struct Difference {
  double absolute = 0, scaled = 0;
};

// One thread at a time.
class ModelRun {
 public:
  static Result<std::unique_ptr<ModelRun>> Create(const ModelRunOptions& options);

  const Model& model() const { return *model_; }
  Session& session() { return *session_; }
  const Binding& binding() const { return *binding_; }

  // Reads the arrays that the signature names, repeats them along the batch dimension up to `batch` rows (0: as they
  // are), and writes them to the bound inputs. InvalidArgument: a missing, surplus or unfitting array, by name.
  Status SetInputs(const std::string& npz_path, int64_t batch);
  // Writes the outputs to an .npz file under their names, or as out_0, out_1 ... if `numbered`.
  Status WriteOutputs(const std::string& npz_path, bool numbered) const;
  // The largest differences to the arrays of an .npz file, matched by name or else by position.
  // InvalidArgument: shapes or dtypes differ, or a NaN stands against a number.
  Result<Difference> CompareOutputs(const std::string& npz_path) const;

 private:
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Session> session_;
  const Binding* binding_ = nullptr;
};

// Prints "tondar VERB: message" to stderr; the exit code of a failed verb.
int Fail(std::string_view verb, const Status& status);

}  // namespace tondar

#endif  // TONDAR_CLI_MODEL_RUN_H_
