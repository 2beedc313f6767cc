// From a plan to CUDA code for a target, with what each stage made of it.
#pragma once

#include "compiler/backend/cuda/cuda.h"
#include "compiler/driver/checking.h"

namespace nautilus::driver {

// What sees each stage as it is made. A try is one plan with one choice of warps: its stages are
// made anew.
class StageWatcher {
 public:
  virtual ~StageWatcher() = default;
  virtual void on_try(const sched::Plan&) {}
  virtual void on_tile(const std::string& /*stage*/, const tile::Module&) {}
  virtual void on_memory(const std::string& /*pass*/, const memory::Module&) {}
  virtual void on_source(const cuda::Source&) {}
};

// Prints what passes made of a program (--print-after PASS|all): only what changed, on stdout, or
// on stderr where stdout is for JSON.
class PassPrinter : public StageWatcher {
 public:
  PassPrinter(std::string which, bool json) : which_(std::move(which)), json_(json) {}
  void on_tile(const std::string& stage, const tile::Module& m) override;
  void on_memory(const std::string& pass, const memory::Module& m) override;
  void on_source(const cuda::Source& s) override { print("cuda", "cuda", s.text); }
  // Refused if a pass was asked for that did not run; names those that did.
  std::optional<Refusal> check() const;

 private:
  bool wanted(const std::string& pass) const { return which_ == "all" || which_ == pass; }
  // `kind`: texts of one kind are compared with each other ("tile", "memory", "cuda").
  void print(const std::string& pass, const std::string& kind, const std::string& text);

  std::string which_;
  bool json_;
  std::vector<std::string> passes_;
  std::map<std::string, std::string> last_;
};

// The target of a machine of the corpus ("sm_90a" of h200), and the machine that plans for a target
// are made for: the first in the corpus that `device` names (as the driver calls it, may be empty),
// else h200 or the one of the nearest older capability.
std::optional<std::string> target_of_machine(const std::string& machine);
std::string machine_of_target(const std::string& target, const std::string& device = "");
// The description of a GPU; refused: another machine.
Expected<sched::Machine> find_gpu(const std::string& machine);

struct GpuCode {
  Choice choice;
  // What was lowered: the choice's schedule, or the same steps with sizes left open.
  poly::Schedule schedule;
  tile::Module tile;  // rewritten
  tile::RewriteReport report;
  memory::Module memory;
  sched::Knobs memory_knobs;  // that it was lowered with
  cuda::Source source;
  std::optional<cuda::Compiled> code;
  std::optional<Refusal> no_compiler;  // why there is no code
  double compile_seconds = 0;
  std::vector<std::string> notes;
  KernelCheck check;
  // Predicted with the compiler's registers, shared memory and occupancy; nothing without code.
  std::optional<sched::Cost> cost;
  double useful_flops = 0;
};
struct GpuFlags {
  std::string target;  // "": a memory program's own
  bool need_code = true;
  const Loaded* in = nullptr;  // what the plans are of: for checks
  bool check = true;
  const OpenProgram* open = nullptr;  // leaves these sizes open
  // Else the source is the last stage: of registers it may take what a compiler would be asked for.
  bool compile = true;
};
// Lowers the choices, best first, until one gives code. One that does not fit registers or shared
// memory is tried with more registers a thread, more warps, and with its tile sizes halved, before
// the next; one that spills is taken if neither what is beside it does without nor a later choice
// predicted to take up to twice the time. A choice is passed over if
// a stage refuses it, with a note; the last refusal is the answer if all are, or if what is left is
// far slower than the best. `flags.need_code`: no compiler is a refusal too.
Expected<GpuCode> generate(const std::vector<Choice>& choices, const sched::Machine& machine,
                           const GpuFlags& flags, StageWatcher& watcher);
// Memory IR as it stands (a .mtile file), checked at `sizes` where given.
Expected<GpuCode> generate(const memory::Module& m, const std::optional<poly::Sizes>& sizes,
                           const GpuFlags& flags, StageWatcher& watcher);

// "registers" (the most), "spills" (bytes), "shared_bytes" (the most), "occupancy" (the least), and
// "kernels" with these of each and its launch; without code only the launches.
nlohmann::json resources_json(const GpuCode& c);

}  // namespace nautilus::driver
