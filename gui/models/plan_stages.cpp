#include "gui/models/plan_stages.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <mutex>

#include "compiler/driver/checking.h"
#include "compiler/driver/gpu_code.h"
#include "compiler/driver/searching.h"
#include "compiler/lower/lower.h"
#include "compiler/memory/lines.h"
#include "compiler/profile/profile.h"
#include "compiler/tile/lines.h"
#include "gui/models/stage_texts.h"
#include "polyhedral/deadline.h"
#include "polyhedral/loops.h"
#ifdef NAUTILUS_HAVE_CLANG
#include "compiler/backend/cpu/cpu.h"
#endif

namespace nautilus::gui {

namespace {

constexpr std::chrono::minutes kLongest{10};
constexpr size_t kMostKnown = 12;

// Texts are made from stage to stage; what comes after a refusal says so in its place.
class Making {
 public:
  Making(const Workpiece& w, const SpecText& spec) : w_(w), spec_(spec) {}

  PlanStages run(const std::vector<sched::SearchNode>& path) {
    out_.node = path.empty() ? -1 : path.back().id;
    auto plan = w_.plan(path);
    const poly::Program& program = plan ? *plan->schedule.program : *w_.program;
    for (const poly::Statement& s : program.statements)
      out_.statements.push_back(QString::fromStdString(s.name));
    out_.stages.push_back(spec_stage(program, spec_, out_.statements));
    out_.stages.push_back(naut_stage(program, out_.statements));
    if (!plan) {
      refuse("schedule", "Schedule tree", Syntax::Schedule, plan.error());
      missing(0);
      return std::move(out_);
    }
    out_.script = plan->script;
    out_.knobs = plan->knobs;
    tree(plan->schedule);
    add("schedule", "Schedule tree", Syntax::Schedule, poly::to_lines(plan->schedule), false);
    loops(plan->schedule);
    lower(*plan);
    return std::move(out_);
  }

 private:
  const Workpiece& w_;
  const SpecText& spec_;
  PlanStages out_;
  QString stopped_by_;  // the title of the first stage that was refused

  void add(const QString& id, const QString& title, Syntax syntax, MappedLines text, bool pass) {
    Stage s = mapped_stage(id, title, syntax, text, out_.statements);
    s.pass = pass;
    for (auto before = out_.stages.rbegin(); before != out_.stages.rend(); ++before)
      if (before->syntax == syntax && before->pass == pass) {
        s.changed = before->lines != s.lines;
        break;
      }
    out_.stages.push_back(std::move(s));
  }
  void refuse(const QString& id, const QString& title, Syntax syntax, const Refusal& why) {
    Stage s;
    s.id = id, s.title = title, s.syntax = syntax, s.refusal = why;
    out_.stages.push_back(std::move(s));
    if (stopped_by_.isEmpty()) stopped_by_ = title;
  }

  bool gpu() const { return w_.options.machine.kind == "gpu"; }
  // Stages that a refusal leaves out, from the n-th of the list on.
  void missing(size_t from) {
    struct Later {
      const char *id, *title;
      Syntax syntax;
      bool on_gpu, on_cpu;
    };
    static constexpr Later kLater[] = {{"loops", "Loops", Syntax::Loops, true, true},
                                       {"tile.lower", "Tile IR", Syntax::Tile, true, true},
                                       {"memory", "Memory IR", Syntax::Memory, true, false},
                                       {"cuda", "CUDA C++", Syntax::Cuda, true, false},
                                       {"cpp", "C++", Syntax::Cpp, false, true}};
    for (size_t n = from; n < std::size(kLater); ++n) {
      const Later& l = kLater[n];
      if (!(gpu() ? l.on_gpu : l.on_cpu)) continue;
      refuse(l.id, l.title, l.syntax,
             {"show " + std::string(l.title), "",
              "it is made from an earlier stage, which was refused: " + stopped_by_.toStdString(),
              "look there for the reason"});
    }
  }

  void tree(const poly::Schedule& s) {
    for (const poly::Node* n : poly::preorder(s)) {
      TreeEntry& entry = out_.tree[n->id];
      for (const std::string& name : n->statements)
        entry.statements.push_back(statement_index(out_.statements, name));
      if (n->statements.empty())  // a leaf
        if (const auto above = out_.tree.find(entry.parent); above != out_.tree.end())
          entry.statements = above->second.statements;
      for (const poly::NodePtr& c : n->children) out_.tree[c->id].parent = n->id;
    }
  }

  void loops(const poly::Schedule& s) {
    auto made = poly::generate_loops(s);
    if (made)
      add("loops", "Loops", Syntax::Loops, poly::to_lines(*made), false);
    else
      refuse("loops", "Loops", Syntax::Loops, made.error());
  }

  void lower(const sched::Plan& plan) {
    const auto known = driver::target_of_machine(w_.options.machine.id);
    const std::string target = known.value_or("sm_80");
    if (gpu() && !known)
      out_.notes.push_back(QStringLiteral("the machine names no target: sm_80 is assumed"));
    driver::PlanLowering how;
    how.rewriting.costs = driver::op_costs(w_.options.machine);
    how.rewriting.numerics =
        tile::numerics_from_name(w_.options.numerics).value_or(tile::Numerics::Reassociate);
    out_.contract = how.rewriting.numerics != tile::Numerics::Strict;
    how.after = [this](const std::string& pass, const tile::Module& m) {
      const bool rewritten = pass == "rewrite";
      add(rewritten ? "tile.rewrite" : "tile.lower",
          rewritten ? "Tile IR after rewriting" : "Tile IR", Syntax::Tile, tile::to_lines(m), true);
    };
    cost(plan, how);
    if (!gpu()) return cpu(plan, how);
    how.memory.target = target;
    how.memory.knobs = plan.knobs;
    how.memory.tf32 = how.rewriting.numerics == tile::Numerics::Fast;
    how.memory.after = [this](const std::string& pass, const memory::Module& m) {
      // Of the kernel under way: those before it do not change any more.
      memory::Module one = m;
      one.kernels.erase(one.kernels.begin(), one.kernels.end() - 1);
      const int number = int(m.kernels.size()), warps = one.kernels[0].threads() / 32;
      add(pass_id(pass, number), pass_title(pass, number, warps), Syntax::Memory,
          memory::to_lines(one), true);
    };
    auto lowered = driver::lower_plan(plan.schedule, how);
    if (!lowered) {
      const bool tiles = out_.find("tile.rewrite");
      refuse(tiles ? "memory" : "tile.lower", tiles ? "Memory IR" : "Tile IR",
             tiles ? Syntax::Memory : Syntax::Tile, lowered.error());
      return missing(tiles ? 3 : 2);
    }
    for (const std::string& n : lowered->notes) out_.notes.push_back(QString::fromStdString(n));
    add("memory", "Memory IR", Syntax::Memory, memory::to_lines(lowered->memory), false);
    out_.memory = std::move(lowered->memory);
    auto source = cuda::emit(*out_.memory, {.contract = out_.contract});
    if (!source) return refuse("cuda", "CUDA C++", Syntax::Cuda, source.error());
    out_.stages.push_back(cuda_stage(*source, out_.tree));
    out_.source = *std::move(source);
    out_.stages.push_back(assembly_to_come(Assembly::Ptx));
    out_.stages.push_back(assembly_to_come(Assembly::Sass));
  }

  // The same pass may run several times on a kernel, with more warps or fewer slots.
  QString pass_id(const std::string& pass, int kernel) const {
    const QString plain = QStringLiteral("memory.%1.%2").arg(kernel).arg(pass.c_str());
    QString id = plain;
    for (int n = 2; out_.find(id); ++n) id = QStringLiteral("%1.%2").arg(plain).arg(n);
    return id;
  }
  static QString pass_title(const std::string& pass, int kernel, int warps) {
    return QStringLiteral("Memory IR, kernel %1 after %2 (%3 warps)")
        .arg(kernel)
        .arg(pass.c_str())
        .arg(warps);
  }

  void cpu(const sched::Plan& plan, const driver::PlanLowering& how) {
    auto module = lower::lower(plan.schedule, {true, how.rewriting.numerics});
    if (!module) {
      refuse("tile.lower", "Tile IR", Syntax::Tile, module.error());
      return missing(2);
    }
    how.after("lower", *module);
    const tile::Module rewritten = tile::rewrite(*module, how.rewriting);
    how.after("rewrite", rewritten);
#ifdef NAUTILUS_HAVE_CLANG
    auto text = cpu::emit(rewritten, {how.rewriting.numerics});
    if (!text) return refuse("cpp", "C++", Syntax::Cpp, text.error());
    add("cpp", "C++", Syntax::Cpp, MappedLines{*text, {}}, false);
#else
    refuse("cpp", "C++", Syntax::Cpp,
           {"show C++", "", "this build has no CPU back end", "build with NAUTILUS_CLANG=ON"});
#endif
  }

  void cost(const sched::Plan& plan, const driver::PlanLowering& how) {
    auto ops = profile::tile_ops_provider(how.rewriting.numerics, how.rewriting.costs)
                   ->structure_ops(plan.schedule);
    if (!ops) return;
    auto resources = sched::profile(plan, w_.options.machine, *ops);
    if (resources) out_.cost = sched::cost(*resources, w_.options.machine);
  }
};

}  // namespace

const Stage* PlanStages::find(const QString& id) const {
  for (const Stage& s : stages)
    if (s.id == id) return &s;
  return nullptr;
}

PlanStages make_stages(const Workpiece& w, const CancelToken& cancel,
                       const std::vector<sched::SearchNode>& path, const SpecText& spec) {
  const auto start = std::chrono::steady_clock::now();
  const poly::DeadlineGuard guard(w.program->context->get(),
                                  poly::DeadlineGuard::Clock::now() + kLongest, cancel.flag());
  PlanStages out = Making(w, spec).run(path);
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

PlanStagesPtr stages_of(const Workpiece& w, const CancelToken& cancel,
                        const std::vector<sched::SearchNode>& path, const SpecText& spec) {
  struct Known {
    std::weak_ptr<const poly::Program> program;
    std::string key;
    PlanStagesPtr stages;
  };
  static std::mutex mutex;
  static std::deque<Known> known;  // last used first
  std::string key = spec.path.toStdString() + "\n";
  for (const sched::SearchNode& n : path) {
    key += std::to_string(n.id) + "\n";
    for (const poly::TransformStep& s : n.steps) key += s.name + s.params + "\n";
    for (const auto& [name, value] : n.knobs) key += name + "=" + std::to_string(value) + "\n";
  }
  {
    const std::lock_guard lock(mutex);
    for (const Known& k : known)
      if (k.key == key && k.program.lock() == w.program) return k.stages;
  }
  auto made = std::make_shared<const PlanStages>(make_stages(w, cancel, path, spec));
  if (cancel.cancelled()) return made;
  const std::lock_guard lock(mutex);
  known.push_front({w.program, key, made});
  if (known.size() > kMostKnown) known.pop_back();
  return made;
}

int relevance(const PlanStages& p, const LineTag& tag, const Focus& f) {
  const auto names = [&](const QString& statement) {
    return std::any_of(tag.statements.begin(), tag.statements.end(), [&](int s) {
      return s >= 0 && size_t(s) < p.statements.size() && p.statements[size_t(s)] == statement;
    });
  };
  if (!f.statement.isEmpty()) {
    if (names(f.statement)) return 2;
    return f.node >= 0 && tag.node == f.node && tag.statements.empty() ? 2 : 0;
  }
  if (f.node < 0) return 0;
  if (tag.node == f.node) return 2;
  for (int n = tag.node; n >= 0;) {
    const auto at = p.tree.find(n);
    if (at == p.tree.end()) break;
    n = at->second.parent;
    if (n == f.node) return 1;
  }
  // A text without nodes (spec, program) speaks of statements.
  const auto focused = p.tree.find(f.node);
  if (tag.node >= 0 || focused == p.tree.end()) return 0;
  for (int s : tag.statements)
    if (std::count(focused->second.statements.begin(), focused->second.statements.end(), s))
      return 1;
  return 0;
}

Focus focus_of(const PlanStages& p, const LineTag& tag) {
  Focus f{tag.node, {}};
  if (tag.statements.size() == 1 && size_t(tag.statements[0]) < p.statements.size())
    f.statement = p.statements[size_t(tag.statements[0])];
  return f;
}

}  // namespace nautilus::gui
