// The verb `tune`: the search's best plans measured on this host's GPU, the fastest right one kept.
#include <cstdlib>
#include <filesystem>

#include "autosched/file.h"
#include "compiler/backend/cuda/cuda.h"
#include "compiler/driver/tuning.h"

namespace nautilus::driver {

namespace {

// A folder that goes when this does.
class Scratch {
 public:
  Scratch() {
    std::error_code none;
    std::string path =
        (std::filesystem::temp_directory_path(none) / "nautilus-tune-XXXXXX").string();
    if (!none && mkdtemp(path.data())) path_ = path;
  }
  ~Scratch() {
    std::error_code none;
    if (!path_.empty()) std::filesystem::remove_all(path_, none);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }  // "": it cannot be made

 private:
  std::string path_;
};

int tune(const Input& in, SearchFlags search, const TuneFlags& f) {
  if (!f.session.empty())
    if (auto bad = sched::check_file(f.session)) return fail(in.json, *bad, kBadInput);
  if (!f.output.empty())
    if (auto bad = sched::check_directory(f.output)) return fail(in.json, *bad, kBadInput);
  int status = kGood;
  const auto gpu = host_gpu("tune", f.target, search.machine, in.json, status);
  if (!gpu) return status;
  search.machine = gpu->machine;
  if (!cuda::find_compiler())
    return fail(in.json,
                {"tune", "", "no CUDA compiler is found", "./nautilus cuda, or nvcc on PATH"},
                kEnvironment);
  const Scratch scratch;
  if (scratch.path().empty())
    return fail(
        in.json,
        {"tune", "", "no folder can be made for temporary files", "TMPDIR names another place"},
        kEnvironment);
  // What children leave when they are ended goes with it.
  setenv("TMPDIR", scratch.path().c_str(), 1);
  auto loaded = load(in, true, status);
  if (!loaded) return status;
  auto found = run_search(*loaded, search, in.json, status);
  if (!found) return status;
  interrupted() = false;  // a Ctrl-C ended the search: what it found is measured
  interruptible() = true;
  status = tune_plans(in, *loaded, *found, search, f, *gpu, scratch.path());
  interruptible() = false;
  return status;
}

}  // namespace

void add_tune(CLI::App& app, int& status) {
  auto in = std::make_shared<Input>();
  auto search = std::make_shared<SearchFlags>();
  auto f = std::make_shared<TuneFlags>();
  search->machine = "";
  search->seconds = 30;
  search->max_plans = 1000;
  CLI::App* verb = app.add_subcommand(
      "tune", "search, then measure the best plans on this host's GPU and keep the fastest");
  verb->footer(
      "example: nautilusc tune attention_causal --size N=4096 M=4096 -o out --session "
      "s.nautilus.json");
  add_input(*verb, *in);
  add_search_flags(*verb, *search);
  verb->add_option("--target", f->target, "compile for this (default: the device's)");
  verb->add_option("--candidates", f->candidates, "plans measured at most")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  verb->add_option("--jobs", f->jobs, "compiled side by side (0: as many as cores)")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  verb->add_option("--repeats", f->repeats, "timed runs of each")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb->add_option("--finalists", f->finalists, "fastest ones that are measured again, in turns")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  verb->add_option("--rounds", f->rounds, "how often they are")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  verb->add_option("--limit", f->limit, "seconds that a candidate may take on the device")
      ->check(amount(1e-3, 1e6))
      ->capture_default_str();
  verb->add_flag("--flush", f->flush, "empty the L2 cache before each timed run");
  verb->add_option("-o,--output", f->output,
                   "directory for the fastest plan's files, as compile's");
  verb->add_option("--session", f->session,
                   "session file of the search, with what was measured, for the explorer");
  verb->callback([=, &status] { status = tune(*in, *search, *f); });
}

}  // namespace nautilus::driver
