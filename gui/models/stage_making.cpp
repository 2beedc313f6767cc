// A plan from stage to stage. What fits no block is tried as `nautilusc compile` does, by the same
// library.
#include <chrono>

#include "autosched/file.h"
#include "compiler/driver/gpu_code.h"
#include "compiler/driver/searching.h"
#include "compiler/lower/lower.h"
#include "compiler/memory/lines.h"
#include "compiler/memory/liveness.h"
#include "compiler/memory/lower.h"
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

// Texts are made from stage to stage; what comes after a refusal says so in its place.
class Making : public driver::StageWatcher {
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
  // Stages of the first try, which is the plan itself, and where tries begin among all.
  std::vector<Stage> first_;
  size_t begin_ = 0;
  int tries_ = 0;

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

  void lower(sched::Plan plan) {
    if (!tile::numerics_from_name(plan.numerics)) plan.numerics = sched::Plan().numerics;
    driver::PlanLowering how;
    how.rewriting.costs = driver::op_costs(w_.options.machine);
    how.rewriting.numerics = *tile::numerics_from_name(plan.numerics);
    out_.contract = how.rewriting.numerics != tile::Numerics::Strict;
    cost(plan, how);
    if (!gpu()) return cpu(plan, how);
    const auto known = driver::target_of_machine(w_.options.machine.id);
    if (!known)
      out_.notes.push_back(QStringLiteral("the machine names no target: sm_80 is assumed"));
    driver::GpuFlags flags;
    flags.target = known.value_or("sm_80");
    flags.need_code = flags.check = flags.compile = false;
    begin_ = out_.stages.size();
    auto code = driver::generate({driver::Choice{plan}}, w_.options.machine, flags, *this);
    if (!code) return refuse_lowering(code.error());
    differs(plan.knobs, code->choice.plan.knobs);
    for (const std::string& n : code->notes) out_.notes.push_back(QString::fromStdString(n));
    tight(code->memory);
    add("memory", "Memory IR", Syntax::Memory, memory::to_lines(code->memory), false);
    out_.memory = std::move(code->memory);
    out_.stages.push_back(cuda_stage(code->source, out_.tree));
    out_.source = std::move(code->source);
    out_.stages.push_back(assembly_to_come(Assembly::Ptx));
    out_.stages.push_back(assembly_to_come(Assembly::Sass));
  }
  // Of the plan itself, not of those beside it that were tried.
  void refuse_lowering(const Refusal& why) {
    if (tries_ > 1) {
      out_.stages.resize(begin_);
      out_.stages.insert(out_.stages.end(), first_.begin(), first_.end());
      out_.notes.push_back(QStringLiteral("smaller tiles of the same structure do not fit either"));
    }
    const bool tiles = out_.find("tile.rewrite");
    refuse(tiles ? "memory" : "tile.lower", tiles ? "Memory IR" : "Tile IR",
           tiles ? Syntax::Memory : Syntax::Tile, why);
    missing(tiles ? 3 : 2);
  }
  // More than the lowering by itself would take: it is up to the compiler, which nobody asked here.
  void tight(const memory::Module& m) {
    for (const memory::Kernel& k : m.kernels)
      if (const int64_t most = memory::register_pressure(k);
          most > memory::LowerOptions().most_registers)
        out_.notes.push_back(
            QStringLiteral(
                "kernel %1 takes %2 registers a thread by the lowering's count: nvcc may "
                "spill them, and nautilusc compile then takes other tiles")
                .arg(QString::fromStdString(k.name))
                .arg(most));
  }
  void differs(const sched::Knobs& asked, const sched::Knobs& taken) {
    QStringList parts;
    for (const auto& [name, value] : taken)
      if (const auto at = asked.find(name); at == asked.end() || at->second != value)
        parts << QStringLiteral("%1 %2 → %3")
                     .arg(QString::fromStdString(name))
                     .arg(at == asked.end() ? QStringLiteral("–") : QString::number(at->second))
                     .arg(value);
    out_.lowered_with = parts.join(QStringLiteral(", "));
  }

  void on_try(const sched::Plan&) override {
    if (++tries_ == 1) return;
    if (tries_ == 2) first_.assign(out_.stages.begin() + int64_t(begin_), out_.stages.end());
    out_.stages.resize(begin_);
  }
  void on_tile(const std::string& stage, const tile::Module& m) override {
    const char* title = stage == "lower"     ? "Tile IR"
                        : stage == "rewrite" ? "Tile IR after rewriting"
                                             : "Tile IR, factors of products rounded";
    add(QStringLiteral("tile.") + QString::fromStdString(stage), title, Syntax::Tile,
        tile::to_lines(m), true);
  }
  // Of the kernel under way: those before it do not change any more.
  void on_memory(const std::string& pass, const memory::Module& m) override {
    memory::Module one = m;
    one.kernels.erase(one.kernels.begin(), one.kernels.end() - 1);
    const int number = int(m.kernels.size()), warps = one.kernels[0].threads() / 32;
    add(pass_id(pass, number), pass_title(pass, number, warps), Syntax::Memory,
        memory::to_lines(one), true);
  }

  // The same pass may run several times on a kernel, with more warps or fewer slots.
  QString pass_id(const std::string& pass, int kernel) const {
    const QString plain = QStringLiteral("memory.%1.%2").arg(kernel).arg(pass.c_str());
    QString id = plain;
    for (int n = 2; out_.find(id); ++n) id = QStringLiteral("%1.%2").arg(plain).arg(n);
    return id;
  }
  static QString pass_title(const std::string& pass, int kernel, int warps) {
    QString name = QString::fromStdString(pass);
    name[0] = name[0].toUpper();
    return QStringLiteral("%1, kernel %2, %3 warps (memory IR)").arg(name).arg(kernel).arg(warps);
  }

  void cpu(const sched::Plan& plan, const driver::PlanLowering& how) {
    auto module = lower::lower(plan.schedule, {true, how.rewriting.numerics});
    if (!module) {
      refuse("tile.lower", "Tile IR", Syntax::Tile, module.error());
      return missing(2);
    }
    on_tile("lower", *module);
    const tile::Module rewritten = tile::rewrite(*module, how.rewriting);
    on_tile("rewrite", rewritten);
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

PlanStages make_stages(const Workpiece& w, const CancelToken& cancel,
                       const std::vector<sched::SearchNode>& path, const SpecText& spec) {
  const auto start = std::chrono::steady_clock::now();
  const poly::DeadlineGuard guard(w.program->context->get(),
                                  poly::DeadlineGuard::Clock::now() + kLongest, cancel.flag());
  PlanStages out = Making(w, spec).run(path);
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

}  // namespace nautilus::gui
