// nautilusc: specs in, schedules and kernels out.
#include <cstring>
#include <iostream>

#include "compiler/driver/common.h"
#include "compiler/runtime/gpu/worker.h"
#ifdef NAUTILUS_HAVE_CLANG
#include "compiler/runtime/runtime.h"
#endif

int main(int argc, char** argv) {
  using namespace nautilus::driver;
#ifdef NAUTILUS_HAVE_CLANG
  if (argc > 1 && std::strcmp(argv[1], "__worker") == 0)
    return nautilus::runtime::worker_main(argc, argv);
#endif
  if (argc > 1 && std::strcmp(argv[1], "__gpu_worker") == 0) return nautilus::gpu::worker_main();
  install_interrupt_handler();
  CLI::App app{"Nautilus: from the mathematics of a tensor operator to a verified, tiled kernel.",
               "nautilusc"};
  app.set_version_flag("--version", NAUTILUS_VERSION);
  app.require_subcommand(1);
  app.footer(
      "exit status: 0 good; 1 the answer is no; 2 bad input; 3 a budget ran out; 4 something is "
      "missing here");
  int status = kGood;
  add_check(app, status);
  add_explain(app, status);
  add_explore(app, status);
  add_compile(app, status);
  add_run(app, status);
  add_apply(app, status);
  add_corpus(app, status);
  add_transforms(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kGood : kBadInput;
  } catch (const std::exception& e) {
    std::cerr << "nautilusc: internal error: " << e.what()
              << "\n  this is a bug in nautilusc; please report the command\n";
    return 70;
  }
  return status;
}
