// What the verbs of nautilusc share: inputs, exit statuses, JSON, progress, interruption.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "autosched/search.h"
#include "compiler/driver/exit_status.h"
#include "polyhedral/program.h"

namespace nautilus::driver {

// How a verb is told which operator at which sizes.
struct Input {
  std::string spec;                // path, or the name of a corpus kernel
  std::string kernel;              // which one, when a file has several
  std::vector<std::string> sizes;  // "N=4096"
  std::string model, phase = "prefill";
  int64_t batch = 1, seq = 4096, tensor_parallel = 1;
  bool json = false;
};
// Adds the operator and its sizes (and --json) to a verb.
void add_input(CLI::App& app, Input& in);

struct Loaded {
  poly::Program general;   // before sizes were bound
  poly::Program program;   // demanded instances only, sizes in param_context
  poly::Sizes sizes;       // every parameter, or those given when `all_sizes` was false
  std::string path, text;  // of the spec
  std::vector<std::string> notes;
};
// Reads the spec, every kernel of it; with `single` several are refused, by their names.
// Diagnostics of Clang are a Refusal's `why` alone. Status of a refusal in `code`.
Expected<std::vector<Loaded>> read_input(const Input& in, bool bind, bool single, int& code);
// Reads the spec and binds sizes: those given, then the model's, then the spec's typical ones
// (noted). On failure prints why (JSON on stdout, text on stderr) and returns the exit status in
// `status`.
std::optional<Loaded> load(const Input& in, bool bind, int& status);
// Every kernel of the file, or the one chosen. A size may be one that only some of them have.
std::optional<std::vector<Loaded>> load_all(const Input& in, bool bind, int& status);

Expected<poly::Sizes> parse_sizes(const std::vector<std::string>& items);

int fail(bool json, const Refusal& r, int status);
int fail(bool json, const std::string& message, int status);
void print_json(const nlohmann::json& j);

// One line on stderr, at most ten times a second, and only after a second has passed.
class Progress {
 public:
  explicit Progress(bool enabled);
  ~Progress();
  void update(const std::string& line);
  void clear();

 private:
  bool enabled_, tty_, shown_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

// A finite number between these, for an option.
CLI::Validator amount(double least, double most);
// A whole number from 0 to 2^64 - 1: one below or above would be read as another.
CLI::Validator natural();

// Set by the first Ctrl-C (the verb ends in order); a second one ends the program at once.
std::atomic<bool>& interrupted();
// Whether what runs looks at interrupted(); else Ctrl-C ends the program (its children die with
// it).
std::atomic<bool>& interruptible();
void install_interrupt_handler();

std::string human_time(double seconds);  // "12.3 us"
std::string human_bytes(double bytes);   // "1.25 GB"
std::string human_count(double n);       // "12.4 G"

// isl's own notation of a set, map or schedule.
template <class T>
std::string isl_text(const T& object) {
  std::ostringstream s;
  s << object;
  return s.str();
}

nlohmann::json to_json(const poly::Verdict& v);
nlohmann::json to_json(const poly::Repair& r);
nlohmann::json to_json(const sched::RooflinePoint& p);

// The verbs: each adds itself to the command line and returns its exit status through `status`.
void add_check(CLI::App& app, int& status);
void add_explain(CLI::App& app, int& status);
void add_explore(CLI::App& app, int& status);
void add_compile(CLI::App& app, int& status);
void add_run(CLI::App& app, int& status);
void add_tune(CLI::App& app, int& status);
void add_apply(CLI::App& app, int& status);
void add_corpus(CLI::App& app, int& status);
void add_transforms(CLI::App& app, int& status);

}  // namespace nautilus::driver
