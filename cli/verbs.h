// The verbs of `tondar`: one function each, in a file of its name. argv[0] is the verb; the result is the exit code:
// 0 good, 1 failed, 2 wrong usage.
#ifndef TONDAR_CLI_VERBS_H_
#define TONDAR_CLI_VERBS_H_

namespace tondar {

int RunServe(int argc, char** argv);
int RunInfer(int argc, char** argv);
int RunInspect(int argc, char** argv);
int RunBench(int argc, char** argv);
int RunRepo(int argc, char** argv);
int RunHealth(int argc, char** argv);

}  // namespace tondar

#endif  // TONDAR_CLI_VERBS_H_
