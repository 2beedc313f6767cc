#include "compiler/tile/rewrite_emit.h"

#include <algorithm>

namespace nautilus::tile::rw {
namespace {

class Emitter {
 public:
  Emitter(const Module& m, const Graph& g, const Extraction& e) : m_(m), g_(g), e_(e) {}

  std::optional<Emission> run() {
    const size_t n = e_.best.size();
    place_.assign(n, -1);
    needed_.assign(n, 0);
    value_.assign(n, -1);
    stamp_.assign(n, 0);
    for (ClassId c : e_.order) needed_[c] = 1;
    find_live();
    place_all();
    if (failed_) return std::nullopt;
    const Kernel& old = *g_.kernel;
    out_.kernel.name = old.name;
    out_.kernel.grid = old.grid;
    out_.kernel.shared = old.shared;
    out_.kernel.comment = old.comment;
    out_.kernel.body = region(0, {}, {});
    if (failed_) return std::nullopt;
    return std::move(out_);
  }

 private:
  const Module& m_;
  const Graph& g_;
  const Extraction& e_;
  Emission out_;
  bool failed_ = false;
  std::vector<int> place_;  // region of each needed class
  std::vector<char> needed_;
  std::vector<ValueId> value_;
  std::vector<unsigned> stamp_;
  unsigned now_ = 0;
  std::vector<std::vector<int>> slots_;        // per loop: the variables that are carried
  std::vector<std::vector<ClassId>> results_;  // per branch: its results
  std::vector<char> live_region_;              // contains an effect that must happen
  std::map<std::tuple<int, ValueId, ValueId>, ValueId> products_;

  const ENode& node(ClassId c) const { return *e_.best[g_.find(c)]; }
  const NodeInfo& info(ClassId c) const { return g_.info(node(c)); }

  // --- what is left
  // -------------------------------------------------------------------------------
  void find_live() {
    slots_.resize(g_.loops.size());
    results_.resize(g_.branches.size());
    for (ClassId c : e_.order) {
      const NodeInfo& i = info(c);
      if (i.kind == Kind::Arg || i.kind == Kind::LoopResult) {
        auto& s = slots_[size_t(i.control)];
        if (std::find(s.begin(), s.end(), i.slot) == s.end()) s.push_back(i.slot);
      }
      if (i.kind == Kind::IfResult) results_[size_t(i.control)].push_back(c);
    }
    for (auto& s : slots_) std::sort(s.begin(), s.end());
    live_region_.assign(g_.regions.size(), 0);
    for (size_t r = g_.regions.size(); r-- > 0;)
      for (const Effect& f : g_.regions[r].effects)
        if (live(f)) live_region_[r] = 1;
  }
  // Regions of an effect come after its own region, so going backwards they are known.
  bool live(const Effect& f) const {
    if (f.pinned) return g_.find(*f.pinned) < needed_.size() && needed_[g_.find(*f.pinned)];
    if (f.loop >= 0)
      return !slots_[size_t(f.loop)].empty() ||
             live_region_[size_t(g_.loops[size_t(f.loop)].region)];
    if (f.branch >= 0) {
      const BranchInfo& b = g_.branches[size_t(f.branch)];
      return !results_[size_t(f.branch)].empty() || live_region_[size_t(b.regions[0])] ||
             live_region_[size_t(b.regions[1])];
    }
    return true;
  }

  // --- placement
  // ----------------------------------------------------------------------------------
  int common(int a, int b) const {
    if (a < 0) return b;
    while (a != b) {
      auto& deeper = g_.regions[size_t(a)].depth >= g_.regions[size_t(b)].depth ? a : b;
      deeper = g_.regions[size_t(deeper)].parent;
      if (a < 0 || b < 0) return 0;
    }
    return a;
  }
  void use(ClassId c, int region, std::vector<int>& uses) const {
    uses[g_.find(c)] = common(uses[g_.find(c)], region);
  }

  void place_all() {
    std::vector<int> uses(e_.best.size(), -1);
    for (size_t r = 0; r < g_.regions.size(); ++r)
      for (const Effect& f : g_.regions[r].effects)
        if (live(f)) {
          for (ClassId c : f.operands) use(c, int(r), uses);
          if (f.branch >= 0)
            if (const auto& c = g_.branches[size_t(f.branch)].condition) use(*c, int(r), uses);
        }
    for (size_t l = 0; l < slots_.size(); ++l)
      for (int s : slots_[l]) {
        const Carried& v = g_.loops[l].carried[size_t(s)];
        use(v.init, g_.loops[l].parent, uses);
        use(v.yield, g_.loops[l].region, uses);
      }
    for (size_t k = e_.order.size(); k-- > 0;) {
      const ClassId c = e_.order[k];
      const NodeInfo& i = info(c);
      const int early = early_region(c);
      if (fixed(i.kind)) {
        place_[c] = i.place.region;
      } else {
        int r = uses[c];
        if (r < 0 || !g_.is_inside(r, early)) {
          failed_ = true;
          return;
        }
        place_[c] = r;
        for (; r != early; r = g_.regions[size_t(r)].parent) {
          const int up = g_.regions[size_t(r)].parent;
          if (g_.regions[size_t(up)].weight < g_.regions[size_t(place_[c])].weight * (1 - 1e-9))
            place_[c] = up;
        }
      }
      if (i.kind == Kind::LoopResult) continue;
      if (i.kind == Kind::IfResult) {
        for (size_t side : {0, 1})
          use(node(c).children[side], g_.branches[size_t(i.control)].regions[side], uses);
        continue;
      }
      for (ClassId x : node(c).children) use(x, place_[c], uses);
    }
  }
  static bool fixed(Kind k) {
    return k == Kind::Arg || k == Kind::Pinned || k == Kind::LoopResult || k == Kind::IfResult;
  }

  // The outermost region in which the node's operands exist, as chosen.
  int early_region(ClassId c) const { return g_.place_of(node(c)).region; }

  // --- building
  // ----------------------------------------------------------------------------------- What an
  // effect needs, directly or inside its regions.
  void needs(const Effect& f, std::vector<ClassId>& out) const {
    if (!live(f)) return;
    out.insert(out.end(), f.operands.begin(), f.operands.end());
    if (f.loop >= 0) {
      for (int s : slots_[size_t(f.loop)]) {
        const Carried& v = g_.loops[size_t(f.loop)].carried[size_t(s)];
        out.push_back(v.init);
        out.push_back(v.yield);
      }
      for (const Effect& n : g_.regions[size_t(g_.loops[size_t(f.loop)].region)].effects)
        needs(n, out);
    }
    if (f.branch >= 0) {
      if (const auto& c = g_.branches[size_t(f.branch)].condition) out.push_back(*c);
      for (ClassId c : results_[size_t(f.branch)])
        out.insert(out.end(), node(c).children.begin(), node(c).children.end());
      for (int r : g_.branches[size_t(f.branch)].regions)
        for (const Effect& n : g_.regions[size_t(r)].effects) needs(n, out);
    }
  }

  Region region(int r, const std::vector<ValueId>& args, const std::vector<ClassId>& yields) {
    Region out;
    out.args = args;
    Builder b(out_.kernel, out);
    b.module = &m_;
    for (const Effect& f : g_.regions[size_t(r)].effects) {
      if (failed_ || !live(f)) continue;
      std::vector<ClassId> wanted;
      needs(f, wanted);
      ++now_;
      for (ClassId c : wanted) supply(c, r, b);
      if (!failed_) effect(f, r, b);
    }
    ++now_;
    for (ClassId c : yields) supply(c, r, b);
    for (ClassId c : yields) {
      if (value_[g_.find(c)] < 0) failed_ = true;
      out.yields.push_back(value_[g_.find(c)]);
    }
    return out;
  }

  // Emits c and what is below it, as far as it belongs to region r.
  void supply(ClassId c, int r, Builder& b) {
    c = g_.find(c);
    if (failed_ || stamp_[c] == now_) return;
    stamp_[c] = now_;
    if (value_[c] >= 0) return;
    if (!needed_[c]) {
      failed_ = true;
      return;
    }
    const NodeInfo& i = info(c);
    if (!fixed(i.kind))
      for (ClassId x : node(c).children) supply(x, r, b);
    if (failed_ || place_[c] != r) return;
    if (fixed(i.kind)) {  // it should exist by now
      failed_ = true;
      return;
    }
    value_[c] = compute(c, r, b);
  }

  void origin(ClassId c, Builder& b) const {
    b.origin = g_.at(c).origin;
    b.node = g_.at(c).node;
  }

  std::vector<ValueId> operands(const std::vector<ClassId>& classes) {
    std::vector<ValueId> out;
    for (ClassId x : classes) {
      out.push_back(value_[g_.find(x)]);
      if (out.back() < 0) failed_ = true;
    }
    return out;
  }

  ValueId compute(ClassId c, int r, Builder& b) {
    const ENode& n = node(c);
    const NodeInfo& i = g_.info(n);
    const std::vector<ValueId> in = operands(n.children);
    if (failed_) return -1;
    origin(c, b);
    if (i.kind != Kind::Const) {
      const int home = g_.at(c).home;
      out_.hoisted |=
          home >= 0 && g_.regions[size_t(home)].weight > g_.regions[size_t(r)].weight * (1 + 1e-9);
      out_.shared |= g_.at(c).definitions > 1;
    }
    b.axis_extents.clear();
    for (auto& [name, extent] : g_.axis_list(i.axes)) b.axis_extents[name] = extent;
    auto product = [&](ValueId x, ValueId y) {
      auto [it, fresh] = products_.emplace(std::tuple(r, std::min(x, y), std::max(x, y)), -1);
      if (fresh) it->second = b.map(Op::Mul, {x, y});
      return it->second;
    };
    auto from_proto = [&] {
      Instr p = *i.proto;
      p.results.clear();
      p.regions.clear();
      p.span.clear();
      p.operands = in;
      p.origin = b.origin;
      p.node = b.node;
      return p;
    };
    switch (i.kind) {
      case Kind::Const:
        return b.constant(i.value, i.elem);
      case Kind::Map:
        return i.op == Op::Mul && in.size() == 2 ? product(in[0], in[1]) : b.map(i.op, in);
      case Kind::Fma: {
        const ValueId p = product(in[0], in[1]);
        if (i.form == 0) return b.map(Op::Add, {p, in[2]});
        return i.form == 1 ? b.map(Op::Sub, {p, in[2]}) : b.map(Op::Sub, {in[2], p});
      }
      case Kind::Cast:
        return b.cast(in[0], i.elem);
      case Kind::Iota:
      case Kind::Load:
      case Kind::Mask:
        return b.emit(from_proto(), i.elem);
      case Kind::Reduce: {
        Instr p = from_proto();
        p.axes = names(i.axes);
        return b.emit(std::move(p));
      }
      case Kind::Dot:
        return dot(i, in, b);
      case Kind::Rename:
        return rename(i, in[0], b);
      default:
        failed_ = true;
        return -1;
    }
  }

  std::vector<std::string> names(AxisMask m) const {
    std::vector<std::string> out;
    for (auto& [name, extent] : g_.axis_list(m)) out.push_back(name);
    return out;
  }
  bool has_axis(ValueId v, const std::string& name) const {
    for (const Axis& a : out_.kernel.types.at(v).axes)
      if (a.name == name) return true;
    return false;
  }

  // An operand that turned out constant along a contracted axis makes it a reduction again.
  ValueId dot(const NodeInfo& i, const std::vector<ValueId>& in, Builder& b) {
    const auto axes = names(i.axes);
    const bool proper = std::all_of(axes.begin(), axes.end(), [&](const std::string& a) {
      return has_axis(in[0], a) && has_axis(in[1], a);
    });
    if (proper) return b.dot(in[0], in[1], axes, i.elem);
    return b.cast(b.reduce(poly::ReduceOp::Sum, b.map(Op::Mul, in), axes), i.elem);
  }

  ValueId rename(const NodeInfo& i, ValueId in, Builder& b) {
    std::vector<std::pair<std::string, std::string>> pairs;
    for (auto [from, to] : i.renames)
      if (const std::string name = names(from)[0]; has_axis(in, name))
        pairs.emplace_back(name, names(to)[0]);
    return pairs.empty() ? in : b.rename(in, pairs);
  }

  void effect(const Effect& f, int r, Builder& b) {
    if (f.loop >= 0) return loop(f, b);
    if (f.branch >= 0) return branch(f, b);
    Instr i = *f.instr;
    i.results.clear();
    i.operands = operands(f.operands);
    if (failed_) return;
    b.axis_extents.clear();
    if (i.code == Code::Store) {  // lanes that the value no longer has
      for (const Axis& a : i.span) b.axis_extents[a.name] = a.extent;
      for (ValueId v : f.instr->operands)
        for (const Axis& a : g_.kernel->types.at(v).axes) b.axis_extents[a.name] = a.extent;
      i.span.clear();
    }
    if (!f.pinned) {
      b.emit(std::move(i));
      return;
    }
    const ClassId c = g_.find(*f.pinned);
    for (const Axis& a : g_.kernel->types.at(f.instr->results[0]).axes)
      b.axis_extents[a.name] = a.extent;
    value_[c] = b.emit(std::move(i), g_.at(c).elem);
    (void)r;
  }

  void loop(const Effect& f, Builder& b) {
    const LoopInfo& l = g_.loops[size_t(f.loop)];
    Instr i;
    i.code = Code::For;
    i.iv = f.instr->iv;
    i.lower = f.instr->lower;
    i.upper = f.instr->upper;
    i.step = f.instr->step;
    i.origin = f.instr->origin;
    i.node = f.instr->node;
    std::vector<ValueId> args;
    std::vector<ClassId> yields;
    for (int s : slots_[size_t(f.loop)]) {
      const Carried& v = l.carried[size_t(s)];
      i.operands.push_back(value_[g_.find(v.init)]);
      if (i.operands.back() < 0) failed_ = true;
      const ValueId a = b.fresh(v.type);
      args.push_back(a);
      if (const ClassId c = g_.find(v.arg);
          c < needed_.size() && needed_[c] && info(c).kind == Kind::Arg && info(c).slot == s)
        value_[c] = a;
      yields.push_back(v.yield);
    }
    if (failed_) return;
    i.regions.push_back(region(l.region, args, yields));
    for (size_t n = 0; n < args.size(); ++n) {
      const Carried& v = l.carried[size_t(slots_[size_t(f.loop)][n])];
      i.results.push_back(b.fresh(v.type));
      const ClassId c = g_.find(v.result);
      if (c < needed_.size() && needed_[c] && info(c).kind == Kind::LoopResult &&
          info(c).slot == slots_[size_t(f.loop)][n])
        value_[c] = i.results.back();
    }
    b.origin.clear();
    b.node = -1;
    b.emit(std::move(i));
  }

  void branch(const Effect& f, Builder& b) {
    const BranchInfo& info = g_.branches[size_t(f.branch)];
    Instr i;
    i.code = Code::If;
    i.cond = f.instr->cond;
    i.origin = f.instr->origin;
    i.node = f.instr->node;
    if (info.condition) i.operands = operands({*info.condition});
    for (size_t side : {0, 1}) {
      std::vector<ClassId> yields;
      for (ClassId c : results_[size_t(f.branch)]) yields.push_back(node(c).children[side]);
      i.regions.push_back(region(info.regions[side], {}, yields));
    }
    if (failed_) return;
    auto types = infer_types(out_.kernel, i, {}, Type::F32);
    if (!types) {
      failed_ = true;
      return;
    }
    for (size_t n = 0; n < types->size(); ++n) {
      i.results.push_back(b.fresh((*types)[n]));
      value_[results_[size_t(f.branch)][n]] = i.results.back();
    }
    b.origin.clear();
    b.node = -1;
    b.emit(std::move(i));
  }
};

}  // namespace

std::optional<Emission> emit(const Module& m, const Graph& g, const Extraction& e) {
  return Emitter(m, g, e).run();
}

}  // namespace nautilus::tile::rw
