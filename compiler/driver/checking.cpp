#include <algorithm>
#include <numeric>
#include <random>

#include "compiler/driver/checking_runs.h"
#include "compiler/lower/lower.h"
#include "compiler/runtime/runtime.h"
#include "compiler/tile/narrow.h"

namespace nautilus::driver {

namespace {

// Instructions of a kernel in order, without what they work on.
void outline(const memory::Region& r, std::string& out) {
  for (const memory::Instr& i : r.body) {
    out += std::string(memory::code_name(i.code)) + " ";
    for (const memory::Region& inner : i.regions) outline(inner, out += "{"), out += "}";
  }
}
std::string outline(const memory::Module& m) {
  std::string out;
  for (const memory::Kernel& k : m.kernels)
    for (const memory::Role& r : k.roles)
      outline(r.body, out += r.name + " " + std::to_string(r.warps) + " ");
  return out;
}

// The plan at other sizes: the same script, lowered the same way.
struct Sibling {
  poly::ProgramPtr program;
  LoweredPlan lowered;
};
Expected<Sibling> sibling(const Loaded& in, const sched::Plan& plan, const PlanLowering& how,
                          const poly::Sizes& sizes) {
  auto bound = poly::bind_sizes(in.general, sizes);
  if (!bound) return bound.error();
  auto program = poly::with_quota(bound->context->get(), poly::kDefaultQuota, [&] {
    return std::make_shared<const poly::Program>(poly::restrict_to_demanded(*bound));
  });
  if (!program) return program.error();
  const poly::Replay r = poly::replay(*program, plan.script, false);
  if (!r.schedule)
    return Refusal{"replay the plan", "", "a step does not apply at " + poly::sizes_text(sizes),
                   ""};
  PlanLowering quiet = how;
  quiet.after = nullptr;
  quiet.memory.after = nullptr;
  auto lowered = lower_plan(*r.schedule, quiet);
  if (!lowered) return lowered.error();
  return Sibling{*program, *std::move(lowered)};
}

}  // namespace

Expected<LoweredPlan> lower_plan(const poly::Schedule& s, const PlanLowering& how) {
  LoweredPlan out;
  auto module = lower::lower(s, {true, how.rewriting.numerics});
  if (!module) return module.error();
  if (how.after) how.after("lower", *module);
  out.notes = module->notes;
  out.tile = tile::rewrite(*module, how.rewriting, &out.report);
  if (how.after) how.after("rewrite", out.tile);
  out.tile = tile::narrow_factors(out.tile, how.rewriting.numerics);
  if (how.after) how.after("narrow", out.tile);
  if (auto bad = tile::verify(out.tile)) return *bad;
  auto memory = memory::lower(out.tile, how.memory);
  if (!memory) return memory.error();
  out.memory = *std::move(memory);
  if (auto bad = memory::verify(out.memory)) return *bad;
  return out;
}

poly::Sizes small_sizes(const Loaded& in, const sched::Plan& plan, const memory::Module& kernels,
                        int64_t times, bool together) {
  std::set<std::string> counted;  // axes that are dims of every grid
  for (size_t k = 0; k < kernels.kernels.size(); ++k) {
    std::set<std::string> own;
    for (const tile::GridDim& g : kernels.kernels[k].grid)
      if (k == 0 || counted.count(g.iv)) own.insert(g.iv);
    counted = std::move(own);
  }
  auto stages = plan.knobs.find("stages");
  const int64_t tiles = stages == plan.knobs.end() ? 2 : std::clamp<int64_t>(stages->second, 1, 4);
  struct Group {
    int64_t step = 1, least = 1;
    bool keep = false;
  };
  const auto key = [&](const std::string& name, int64_t value) {
    return std::pair(value, together ? std::string() : name);
  };
  std::map<std::pair<int64_t, std::string>, Group> groups;
  for (const auto& [name, value] : in.sizes) {
    Group& g = groups[key(name, value)];
    const std::set<std::string> axes = dims_of(in.general, in.sizes, name);
    for (const std::string& a : axes) {
      const int64_t t = tile_of(plan.knobs, a);
      if (t) {
        g.step = std::lcm(g.step, t);
        g.least = std::max(g.least, times * (tiles + 1));
      } else if (!counted.count(a)) {
        g.keep = true;
      } else {
        g.least = std::max<int64_t>(g.least, 2);
      }
    }
    if (axes.empty()) g.least = std::max<int64_t>(g.least, 8);  // what gathers reach
  }
  poly::Sizes out = in.sizes;
  for (auto& [name, value] : out)
    if (const Group& g = groups.at(key(name, value)); !g.keep)
      value = std::min(value, value % g.step + g.least * g.step);
  return out;
}

namespace {

// At the smallest sizes at which the kernel is the same, else at the largest that were tried and
// its own.
class Checking {
 public:
  Checking(const Loaded& in, const sched::Plan& plan, const PlanLowering& how,
           const LoweredPlan& own)
      : in_(in), plan_(plan), how_(how), own_(own) {}

  Expected<KernelCheck> run() {
    const auto start = std::chrono::steady_clock::now();
    if (auto bad = all()) return *bad;
    c_.seconds = seconds_since(start);
    return c_;
  }

 private:
  const Loaded& in_;
  const sched::Plan& plan_;
  const PlanLowering& how_;
  const LoweredPlan& own_;
  KernelCheck c_;

  void leave_out(const std::string& what) {
    c_.left_out += (c_.left_out.empty() ? "" : "; ") + what;
  }

  // The plan at the smallest sizes at which it gives the same kernel (true), else at the largest of
  // those tried; `small` and c_.sizes stay as they are if there are none.
  bool find_small(bool together, std::optional<Sibling>& small) {
    const std::string text = outline(own_.memory);
    for (int64_t times = 1; times <= 4; times *= 2) {
      auto sizes = poly::with_quota(in_.general.context->get(), poly::kDefaultQuota, [&] {
        return small_sizes(in_, plan_, own_.memory, times, together);
      });
      if (!sizes || *sizes == in_.sizes) return false;
      auto s = sibling(in_, plan_, how_, *sizes);
      if (!s) {
        if (!small) leave_out("smaller sizes: " + s.error().why);
        return false;
      }
      small = *std::move(s);
      c_.sizes = *sizes;
      if (outline(small->lowered.memory) == text) return true;
    }
    return false;
  }

  std::optional<Refusal> all() {
    c_.sizes = in_.sizes;
    std::optional<Sibling> small;
    bool same = find_small(true, small);
    if (!small || (!same && elements_of(small->lowered.memory) > kElements))
      same = find_small(false, small);
    if (!small)
      return blocks({std::make_shared<const poly::Program>(in_.program), own_}, in_.sizes, true);
    c_.reduced = true;
    if (auto bad = blocks(*small, c_.sizes, true)) return bad;
    if (same) return std::nullopt;
    if (elements_of(own_.memory) <= kElements)
      return blocks({std::make_shared<const poly::Program>(in_.program), own_}, in_.sizes, false);
    leave_out("the kernel at the smaller sizes is not the same instruction by instruction");
    return std::nullopt;
  }

  // Blocks at the corners of the grid, then, if wanted and not too many, all with their values.
  std::optional<Refusal> blocks(const Sibling& at, const poly::Sizes& sizes, bool every) {
    const memory::Module& m = at.lowered.memory;
    if (elements_of(m) > kElements) {
      leave_out("its tensors are too large to interpret");
      return std::nullopt;
    }
    const poly::Buffers inputs = runtime::make_inputs(*at.program, sizes, 1);
    auto corners = run_blocks(m, {}, inputs, false);
    if (!corners) {
      leave_out(corners.error().why);
      return std::nullopt;
    }
    c_.operations += corners->result.ops;
    if (!corners->result.faults.empty()) return faulty(m.name, sizes, corners->result.faults[0]);
    c_.done = true;
    const double total = double(corners->result.ops) * double(corners->of) /
                         double(std::max<uint64_t>(1, corners->blocks));
    if (!corners->finished)
      leave_out("blocks at the corners of the grid after " + std::to_string(kOperations) +
                " operations");
    if (!every) return std::nullopt;
    if (!corners->finished || total > double(kOperations)) {
      leave_out("blocks other than those at the corners of the grid");
      return std::nullopt;
    }
    return whole(at, sizes, inputs);
  }

  std::optional<Refusal> whole(const Sibling& at, const poly::Sizes& sizes,
                               const poly::Buffers& inputs) {
    const memory::Module& m = at.lowered.memory;
    auto run = run_blocks(m, {}, inputs, true);
    if (!run) {
      leave_out(run.error().why);
      return std::nullopt;
    }
    c_.operations += run->result.ops;
    if (!run->result.faults.empty()) return faulty(m.name, sizes, run->result.faults[0]);
    if (!run->finished) {
      leave_out("blocks other than those at the corners of the grid");
      return std::nullopt;
    }
    c_.every_block = true;
    tile::InterpretOptions o;
    o.max_ops = kTileOperations;
    const auto want = tile::interpret(at.lowered.tile, {}, inputs, o);
    if (!want) {
      leave_out("values: " + want.error().why);
      return std::nullopt;
    }
    if (auto bad = output_difference(at.lowered.tile, {}, *want, run->result.outputs))
      return Refusal{"check kernel " + m.name + poly::with_sizes(sizes), "",
                     "it computes other values than the tile program: " + *bad,
                     "another plan; --no-check hands the kernel out as it is"};
    c_.values = true;
    return std::nullopt;
  }
};

}  // namespace

Expected<KernelCheck> check_kernels(const Loaded& in, const sched::Plan& plan,
                                    const PlanLowering& how, const LoweredPlan& own) {
  return Checking(in, plan, how, own).run();
}

// Inputs without a program: small integers, normal numbers.
Expected<KernelCheck> check_kernels(const memory::Module& m, const poly::Sizes& sizes) {
  const auto start = std::chrono::steady_clock::now();
  KernelCheck c;
  c.sizes = sizes;
  for (const std::string& s : m.sizes)
    if (!sizes.count(s)) c.left_out = "a memory program is checked at sizes given with --size";
  if (c.left_out.empty() && elements_of(m, sizes) > kElements)
    c.left_out = "its tensors are too large to interpret";
  if (!c.left_out.empty()) return c;
  poly::Buffers inputs;
  std::mt19937_64 rng(1);
  for (const memory::TensorDecl& t : m.tensors) {
    if (t.kind != poly::TensorKind::Input) continue;
    int64_t n = 1;
    for (const IndexExpr& e : t.extents) n *= e.evaluate(sizes);
    std::vector<double>& values = inputs[t.name];
    for (; n > 0; --n)
      values.push_back(is_float(t.type) ? double(int64_t(rng() % 2001) - 1000) / 500
                                        : double(rng() % 2));
  }
  auto run = run_blocks(m, sizes, inputs, true);
  if (!run) return run.error();
  if (!run->result.faults.empty()) return faulty(m.name, sizes, run->result.faults[0]);
  c.done = true;
  c.every_block = run->finished;
  if (!run->finished)
    c.left_out = "blocks after " + std::to_string(kOperations) + " operations";
  else
    c.left_out = "values: there is no program to compare with";
  c.operations = run->result.ops;
  c.seconds = seconds_since(start);
  return c;
}

nlohmann::json to_json(const KernelCheck& c) {
  nlohmann::json out = {{"done", c.done},       {"sizes", c.sizes},
                        {"reduced", c.reduced}, {"every_block", c.every_block},
                        {"values", c.values},   {"operations", c.operations},
                        {"seconds", c.seconds}, {"left_out", c.left_out}};
  if (!c.others.empty()) out["other_sizes"] = c.others;
  return out;
}

std::string to_text(const KernelCheck& c) {
  std::string s = c.done ? "checked by the memory interpreter" : "not checked";
  if (c.done) {
    for (const auto& [name, value] : c.sizes)
      s += (name == c.sizes.begin()->first ? " at " : " ") + name + "=" + std::to_string(value);
    if (!c.others.empty()) s += " and " + std::to_string(c.others.size()) + " other sizes";
    s += c.every_block ? ", every block" : ", not every block";
    if (c.values) s += ", values against the tile program";
    s += ", " + human_time(c.seconds);
  }
  return s + (c.left_out.empty()
                  ? ""
                  : (c.done ? " (left out: " : ": ") + c.left_out + (c.done ? ")" : ""));
}

}  // namespace nautilus::driver
