#include "compiler/driver/gpu_code.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <utility>

#include "autosched/open_sizes.h"
#include "compiler/lower/lower.h"
#include "compiler/memory/lower.h"
#include "compiler/profile/profile.h"
#include "compiler/profile/resources.h"

namespace nautilus::driver {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

double since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}

// Capability in a target's name: 90 of "sm_90a"; 0 if it is none.
int capability(const std::string& target) {
  auto t = memory::parse_target(target);
  return t ? t->capability : 0;
}

std::string lowercase(std::string s) {
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  s.erase(std::remove(s.begin(), s.end(), ' '), s.end());
  return s;
}

// Emission and compilation of c.memory. No compiler is no refusal unless code is needed.
std::optional<Refusal> emit(GpuCode& c, const GpuFlags& flags, StageWatcher& watcher) {
  auto source = cuda::emit(c.memory, {.contract = c.choice.plan.numerics != "strict"});
  if (!source) return source.error();
  c.source = *std::move(source);
  if (flags.open) c.source.facts = flags.open->facts;
  watcher.on_source(c.source);
  if (!flags.compile) return std::nullopt;
  const auto start = std::chrono::steady_clock::now();
  if (!cuda::find_compiler()) {
    auto refused = cuda::compile(c.source);
    if (!refused) c.no_compiler = refused.error();
    if (flags.need_code) return c.no_compiler;
    return std::nullopt;
  }
  auto code = cuda::compile(c.source);
  if (!code) return code.error();
  c.code = *std::move(code);
  c.compile_seconds = since(start);
  return std::nullopt;
}

// What the plan costs on the machine, without the compiler's word.
Expected<sched::ResourceProfile> resources_of(const sched::Plan& plan,
                                              const sched::Machine& machine,
                                              const tile::RewriteOptions& options) {
  auto ops =
      profile::tile_ops_provider(options.numerics, options.costs)->structure_ops(plan.schedule);
  if (!ops) return ops.error();
  return sched::profile(plan, machine, *ops);
}

// What the plan costs on the machine, with what the compiler says of its kernels.
void evaluate(GpuCode& c, const sched::Machine& machine, const tile::RewriteOptions& options) {
  const auto resources = resources_of(c.choice.plan, machine, options);
  if (!resources) return;
  c.useful_flops = resources->useful_flops;
  if (!c.code) return;
  c.cost = sched::cost(
      profile::with_resources(*resources, machine, c.source.launches, c.code->kernels), machine);
}

int64_t spills(const GpuCode& c) {
  int64_t bytes = 0;
  if (c.code)
    for (const cuda::Resources& r : c.code->kernels) bytes += r.spill_bytes;
  return bytes;
}

constexpr int kMostWarps = 16;
constexpr double kSpillsCost = 2;   // times: one that does not spill may be predicted slower
constexpr double kFarSlower = 20;   // than the best plan: not what was asked for
constexpr int64_t kLeastTile = 16;  // of what is halved
constexpr size_t kBeside = 4;       // plans beside one that are tried
// The lowering counts what is live, not what the compiler shares and reorders: where there is a
// compiler it decides, also of what is only shown before it was asked.
constexpr int64_t kRegistersWhereAsked = 320;

// From a choice to code.
class Generation {
 public:
  Generation(const sched::Machine& machine, const GpuFlags& flags, StageWatcher& watcher)
      : machine_(machine), flags_(flags), watcher_(watcher) {
    how_.rewriting.costs = op_costs(machine);
    how_.after = [this](const std::string& stage, const tile::Module& m) {
      watcher_.on_tile(stage, m);
    };
    how_.memory.target = flags.target;
    if (cuda::find_compiler()) how_.memory.most_registers = kRegistersWhereAsked;
    how_.memory.after = [this](const std::string& pass, const memory::Module& m) {
      watcher_.on_memory(pass, m);
    };
  }

  // Without spills if that can be had, from this choice or one beside it.
  Expected<GpuCode> run(const Choice& choice) {
    how_.rewriting.numerics = *tile::numerics_from_name(choice.plan.numerics);
    how_.memory.tf32 = how_.rewriting.numerics == tile::Numerics::Fast;
    auto own = lower(choice);
    if (own && spills(*own) == 0) return finish(*std::move(own));
    if (!own && own.error().suggest != "smaller tiles") return own.error();
    for (const Choice& near : beside(choice)) {
      auto code = lower(near);
      if (!code || spills(*code) > 0) continue;
      code->notes.push_back(
          "smaller tiles than the search's: " +
          (own ? std::to_string(spills(*own)) + " bytes of registers spilled" : own.error().why));
      return finish(*std::move(code));
    }
    if (!own) return own.error();
    return finish(*std::move(own));
  }

 private:
  const sched::Machine& machine_;
  const GpuFlags& flags_;
  StageWatcher& watcher_;
  PlanLowering how_;
  poly::Schedule schedule_;  // that is lowered

  // One choice through all stages, with the blocks beside each other and the warps that spill
  // least.
  Expected<GpuCode> lower(const Choice& choice) {
    how_.memory.knobs = choice.plan.knobs;
    schedule_ = choice.plan.schedule;
    if (flags_.open) {
      auto open = sched::with_open_sizes(choice.plan, flags_.open->program);
      if (!open) return open.error();
      schedule_ = *std::move(open);
    }
    auto best = lower_at(choice);
    if (!best && flags_.open && best.error().suggest != "smaller tiles") {
      Refusal r = best.error();
      r.suggest += (r.suggest.empty() ? "" : "; ") +
                   std::string("search at sizes of several tiles, or among more plans (--tries)");
      return r;
    }
    if (!best || spills(*best) == 0) return best;
    for (int warps = 2 * most_warps(*best); warps <= kMostWarps; warps *= 2) {
      how_.memory.knobs["warps"] = warps;
      auto more = lower_at(choice);
      if (more && spills(*more) < spills(*best)) best = std::move(more);
      if (spills(*best) == 0) break;
    }
    return best;
  }

  static int most_warps(const GpuCode& c) {
    int warps = 1;
    for (const memory::Kernel& k : c.memory.kernels) warps = std::max(warps, k.threads() / 32);
    return warps;
  }

  // With fewer blocks beside each other while registers spill.
  Expected<GpuCode> lower_at(const Choice& choice) {
    watcher_.on_try(choice.plan);
    auto lowered = lower_plan(schedule_, how_);
    if (!lowered) return lowered.error();
    GpuCode best;
    best.choice = choice;
    best.schedule = schedule_;
    best.notes = lowered->notes;
    if (!choice.note.empty()) best.notes.push_back(choice.note);
    best.report = lowered->report;
    best.tile = std::move(lowered->tile);
    best.memory = std::move(lowered->memory);
    best.memory_knobs = how_.memory.knobs;
    if (auto bad = emit(best, flags_, watcher_)) return *bad;
    for (GpuCode next = best; spills(best) > 0;) {
      bool fewer = false;
      for (size_t k = 0; k < next.memory.kernels.size(); ++k) {
        int& blocks = next.memory.kernels[k].blocks_per_sm;
        if (next.code->kernels[k].spill_bytes == 0 || blocks <= 1) continue;
        --blocks;
        fewer = true;
      }
      if (!fewer || emit(next, flags_, watcher_)) break;
      if (spills(next) < spills(best)) best = next;
    }
    return best;
  }

  // Checked, with its costs.
  Expected<GpuCode> finish(GpuCode c) {
    c.check.left_out = "--no-check";
    if (flags_.check && flags_.in) {
      how_.memory.knobs = c.memory_knobs;
      const LoweredPlan own{c.tile, c.report, c.memory, c.notes};
      auto checked = flags_.open ? check_open_kernels(*flags_.in, *flags_.open, c.choice.plan, own)
                                 : check_kernels(*flags_.in, c.choice.plan, how_, own);
      if (!checked) return checked.error();
      c.check = *std::move(checked);
    }
    evaluate(c, machine_, how_.rewriting);
    return c;
  }

  // The same structure with one tile size halved, then with two: what is predicted to be fastest
  // first.
  std::vector<Choice> beside(const Choice& choice) const {
    std::vector<sched::Knobs> all;
    const auto halved = [&](const sched::Knobs& from) {
      for (const auto& [name, value] : from) {
        if (name.find("tile.") == std::string::npos || value / 2 < kLeastTile) continue;
        sched::Knobs knobs = from;
        knobs[name] = value / 2;
        if (std::find(all.begin(), all.end(), knobs) == all.end()) all.push_back(knobs);
      }
    };
    halved(choice.plan.knobs);
    for (const sched::Knobs& once : std::vector<sched::Knobs>(all)) halved(once);
    const poly::ProgramPtr& program = choice.plan.schedule.program;
    std::vector<Choice> out;
    for (const sched::Knobs& knobs : all) {
      auto plan = sched::with_knobs(choice.plan, program, knobs);
      // An axis that was one tile may not be two.
      if (!plan || !poly::verify(plan->schedule).ok) continue;
      const auto resources = resources_of(*plan, machine_, how_.rewriting);
      if (!resources) continue;
      const sched::Cost cost = sched::cost(*resources, machine_);
      Choice c = choice;
      c.plan = *std::move(plan);
      c.about["predicted_seconds"] = cost.seconds;
      c.about["limiter"] = cost.limiter;
      c.about["knobs"] = knobs;
      out.push_back(std::move(c));
    }
    std::stable_sort(out.begin(), out.end(), [](const Choice& a, const Choice& b) {
      return a.about["predicted_seconds"].get<double>() <
             b.about["predicted_seconds"].get<double>();
    });
    if (out.size() > kBeside) out.resize(kBeside);
    return out;
  }
};

}  // namespace

void PassPrinter::on_tile(const std::string& stage, const tile::Module& m) {
  print(stage, "tile", tile::print(m));
}

// Printing a module of many kernels takes its time: only where it is asked for.
void PassPrinter::on_memory(const std::string& pass, const memory::Module& m) {
  const bool show = wanted(pass);
  print(pass, show ? "memory" : "", show ? memory::print(m) : "");
}

void PassPrinter::print(const std::string& pass, const std::string& kind, const std::string& text) {
  if (std::find(passes_.begin(), passes_.end(), pass) == passes_.end()) passes_.push_back(pass);
  if (kind.empty()) return;
  const bool changed = std::exchange(last_[kind], text) != text;
  if (!changed || !wanted(pass)) return;
  (json_ ? std::cerr : std::cout) << "// after " << pass << "\n" << text << "\n";
}

std::optional<Refusal> PassPrinter::check() const {
  if (which_.empty() || which_ == "all" || passes_.empty() ||
      std::find(passes_.begin(), passes_.end(), which_) != passes_.end())
    return std::nullopt;
  std::string names;
  for (const std::string& p : passes_) names += (names.empty() ? "" : ", ") + p;
  return Refusal{"print after " + which_, "", "no such pass", "all, or one of " + names};
}

std::optional<std::string> target_of_machine(const std::string& machine) {
  std::error_code none;
  fs::path file = fs::path(sched::corpus_dir()) / "machines" / (machine + ".json");
  if (!fs::is_regular_file(file, none)) file = machine;
  std::ifstream in(file);
  const json j = json::parse(in, nullptr, false);
  if (!j.is_object() || !j.contains("target") || !j["target"].is_string()) return std::nullopt;
  return j["target"].get<std::string>();
}

std::string machine_of_target(const std::string& target, const std::string& device) {
  const int wanted = capability(target);
  std::string named, nearest = "h200";
  int best = 0;
  for (const std::string& id : sched::list_machines()) {
    const auto t = target_of_machine(id);
    const int have = t ? capability(*t) : 0;
    if (have == 0) continue;
    // "NVIDIA GH200 480GB" names h200 as well: the longest name counts.
    if (lowercase(device).find(id) != std::string::npos && id.size() > named.size()) named = id;
    if (have <= wanted && (have > best || (have == best && id == "h200"))) {
      best = have;
      nearest = id;
    }
  }
  return named.empty() ? nearest : named;
}

Expected<sched::Machine> find_gpu(const std::string& machine) {
  auto m = sched::find_machine(machine);
  if (!m || m->kind == "gpu") return m;
  return Refusal{"plan for machine " + machine, "", "it is no GPU",
                 "a GPU's description with --machine, or run --on cpu"};
}

Expected<GpuCode> generate(const std::vector<Choice>& choices, const sched::Machine& machine,
                           const GpuFlags& flags, StageWatcher& watcher) {
  std::optional<Refusal> last;
  std::optional<GpuCode> spilling;  // the first that does
  std::vector<std::string> passed_over;
  const auto predicted = [](const Choice& c) { return c.about.value("predicted_seconds", 0.0); };
  // What was passed over for this, and what that costs.
  const auto tell = [&](GpuCode& code) {
    code.notes.insert(code.notes.end(), passed_over.begin(), passed_over.end());
    const double best = predicted(choices.front()), own = predicted(code.choice);
    if (!passed_over.empty() && best > 0 && own > best)
      code.notes.push_back("this plan is predicted to take " + human_time(own) +
                           ", the best found " + human_time(best));
  };
  for (const Choice& choice : choices) {
    if (spilling && predicted(choice) > kSpillsCost * predicted(choices.front())) break;
    if (last && predicted(choice) > kFarSlower * predicted(choices.front()))
      return Refusal{"find a plan that becomes a kernel",
                     choices.front().plan.schedule.program->name,
                     last->text() + "; what is left is predicted to be " +
                         std::to_string(int(kFarSlower)) + " times slower and more",
                     "more --max-plans or --seconds, or --schedule original"};
    auto code = Generation(machine, flags, watcher).run(choice);
    if (code && spills(*code) > 0 && !spilling) {
      tell(*code);
      passed_over.push_back("passed over: " + choice.about.value("plan", "a plan") + ": " +
                            std::to_string(spills(*code)) + " bytes of registers spill");
      spilling = *std::move(code);
      continue;
    }
    if (code && spills(*code) == 0) {
      tell(*code);
      return code;
    }
    if (code) continue;  // it spills, as one before it does
    last = code.error();
    // Without a compiler no other plan does better.
    if (flags.need_code && !cuda::find_compiler()) break;
    passed_over.push_back("passed over: " + choice.about.value("plan", "a plan") + ": " +
                          last->text());
  }
  if (spilling) return *std::move(spilling);
  return *last;
}

Expected<GpuCode> generate(const memory::Module& m, const std::optional<poly::Sizes>& sizes,
                           const GpuFlags& flags, StageWatcher& watcher) {
  GpuCode c;
  c.memory = m;
  if (!flags.target.empty()) c.memory.target = flags.target;
  if (auto bad = memory::verify(c.memory)) return *bad;
  if (auto bad = emit(c, flags, watcher)) return *bad;
  c.check.left_out = "--no-check";
  if (!sizes) return c;
  auto checked = check_kernels(c.memory, *sizes);
  if (!checked) return checked.error();
  c.check = *std::move(checked);
  return c;
}

json resources_json(const GpuCode& c) {
  json out = json::object(), kernels = json::array();
  int registers = 0;
  int64_t spills = 0, shared = 0;
  double occupancy = 1;
  for (size_t k = 0; k < c.source.launches.size(); ++k) {
    const cuda::Launch& l = c.source.launches[k];
    json kernel{{"kernel", l.kernel}, {"threads", l.threads}, {"dynamic_shared", l.shared_bytes}};
    kernel["grid"] = json::array();
    for (const IndexExpr& e : l.grid) kernel["grid"].push_back(to_string(e));
    if (c.code && k < c.code->kernels.size()) {
      const cuda::Resources& r = c.code->kernels[k];
      registers = std::max(registers, r.registers);
      spills += r.spill_bytes;
      shared = std::max(shared, r.shared_bytes);
      occupancy = std::min(occupancy, r.occupancy);
      kernel.update({{"registers", r.registers},
                     {"spills", r.spill_bytes},
                     {"local_bytes", r.local_bytes},
                     {"shared_bytes", r.shared_bytes},
                     {"occupancy", r.occupancy}});
    }
    kernels.push_back(kernel);
  }
  out["kernels"] = kernels;
  out["checked"] = to_json(c.check);
  if (c.code)
    out.update({{"registers", registers},
                {"spills", spills},
                {"shared_bytes", shared},
                {"occupancy", occupancy}});
  return out;
}

}  // namespace nautilus::driver
