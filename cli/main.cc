// `tondar VERB ...`: finds the verb and hands over.
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "cli/verbs.h"
#include "engine/base/version.h"

namespace {

struct Verb {
  std::string_view name;
  std::string_view help;
  int (*run)(int argc, char** argv);
};

constexpr Verb kVerbs[] = {
    {"serve", "serve a model repository over gRPC and REST", tondar::RunServe},
    {"infer", "run a model once on arrays from an .npz file", tondar::RunInfer},
    {"inspect", "show what a model file takes, gives and does", tondar::RunInspect},
    {"bench", "measure a model on this machine", tondar::RunBench},
    {"repo", "list, load and unload the models of a running server", tondar::RunRepo},
    {"health", "ask a running server whether it is live and ready", tondar::RunHealth},
};

void PrintHelp(std::FILE* out) {
  std::fprintf(out, "tondar %s, an inference server for exported graphs\n\nUsage: tondar VERB [options]\n\nVerbs:\n",
               tondar::kVersion);
  for (const Verb& verb : kVerbs) {
    std::fprintf(out, "  %-10.*s %.*s\n", static_cast<int>(verb.name.size()), verb.name.data(),
                 static_cast<int>(verb.help.size()), verb.help.data());
  }
  std::fprintf(out, "\n'tondar VERB --help' tells the options of a verb; 'tondar --version' the version.\n"
                    "Try: tondar serve --model-repository=models/repository\n");
}

}  // namespace

int main(int argc, char** argv) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("cli"));  // stdout is for results
  const std::string_view word = argc > 1 ? argv[1] : "--help";
  if (word == "--help" || word == "-h" || word == "help") {
    PrintHelp(argc > 1 ? stdout : stderr);
    return argc > 1 ? 0 : 2;
  }
  if (word == "--version" || word == "version") {
    std::printf("tondar %s\n", tondar::kVersion);
    return 0;
  }
  for (const Verb& verb : kVerbs) {
    if (verb.name == word) return verb.run(argc - 1, argv + 1);
  }
  std::fprintf(stderr, "tondar: unknown verb '%s'\n\n", argv[1]);
  PrintHelp(stderr);
  return 2;
}
