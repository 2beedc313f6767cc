// nautilusc: specs in, schedules and kernels out.
#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "compiler/driver/common.h"
#include "compiler/runtime/gpu/worker.h"
#ifdef NAUTILUS_HAVE_CLANG
#include "compiler/runtime/runtime.h"
#endif

namespace {

// Whether --json is among the arguments, also where parsing did not get that far.
bool asks_for_json(int argc, char** argv) {
  bool found = false;
  for (int n = 1; n < argc; ++n) found |= std::strcmp(argv[n], "--json") == 0;
  return found;
}

// What was wrong with the options, as a refusal: the verb asked for (of a nested verb both names),
// and where its options are told.
nautilus::Refusal option_error(const CLI::App& app, const CLI::ParseError& e) {
  std::string verb = app.get_name();
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().back();
    verb += " " + at->get_name();
  }
  return {verb, "command line", e.what(), verb + " --help"};
}

// A standard stream that is closed would be the next file opened, and words would go into it.
void open_standard_streams() {
  for (int fd = 0; fd < 3; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != fd) return;
}

// An answer that could not be written, to a full disk for example, is none.
int written(int status) {
  errno = 0;
  if (std::cout.flush()) return status;
  std::cerr << "nautilusc: write the answer: standard output: "
            << (errno ? std::strerror(errno) : "it takes no more")
            << " (try: free space, or another place)\n";
  return status == nautilus::driver::kGood ? nautilus::driver::kEnvironment : status;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace nautilus::driver;
#ifdef NAUTILUS_HAVE_CLANG
  if (argc > 1 && std::strcmp(argv[1], "__worker") == 0)
    return nautilus::runtime::worker_main(argc, argv);
#endif
  if (argc > 1 && std::strcmp(argv[1], "__gpu_worker") == 0) return nautilus::gpu::worker_main();
  open_standard_streams();
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
  add_tune(app, status);
  add_apply(app, status);
  add_corpus(app, status);
  add_transforms(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const bool wrong = e.get_exit_code() != 0;  // help and version end the parsing as well
    if (wrong && asks_for_json(argc, argv)) return fail(true, option_error(app, e), kBadInput);
    app.exit(e);
    return wrong ? kBadInput : kGood;
  } catch (const std::exception& e) {
    std::cerr << "nautilusc: internal error: " << e.what()
              << "\n  this is a bug in nautilusc; please report the command\n";
    return 70;
  }
  return written(status);
}
