// CPU execution in a build without Clang: refused with the reason.
#include <cstdio>

#include "compiler/runtime/runtime.h"

namespace nautilus::runtime {
namespace {

Refusal no_clang(const std::string& asked) {
  return Refusal{asked, "", "this build has no Clang, which compiles CPU code (NAUTILUS_CLANG=OFF)",
                 "build with -DNAUTILUS_CLANG=ON"};
}

}  // namespace

Expected<RunResult> run_cpu(const poly::Program&, const poly::Sizes&, const tile::Module&,
                            const RunOptions&) {
  return no_clang("run on the CPU");
}
int worker_main(int, char**) {
  std::fputs("this build has no Clang, which compiles CPU code\n", stderr);
  return 4;
}

}  // namespace nautilus::runtime
