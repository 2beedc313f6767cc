// What a well-formed module is. Everything later (interpreter, rewriter, back ends) relies on it.
#include <algorithm>
#include <set>

#include "compiler/tile/ir.h"
#include "compiler/tile/text.h"

namespace nautilus::tile {
namespace {

constexpr int kDeepest = 64;
constexpr int64_t kMaxLanes = int64_t(1) << 31;
constexpr size_t kMaxRank = 16;

class Verifier {
 public:
  explicit Verifier(const Module& m) : m_(m) {}

  std::optional<Refusal> run() {
    std::set<std::string> names(m_.sizes.begin(), m_.sizes.end());
    if (names.size() != m_.sizes.size()) fail("a size is named twice");
    sizes_ = names;
    if (std::string why = check_multiples(m_.sizes, m_.multiples); !why.empty()) fail(why);
    std::set<std::string> tensors;
    for (const TensorDecl& t : m_.tensors) declaration(t, tensors);
    for (const TensorDecl& t : m_.tensors)
      if (t.scope != poly::Scope::Global) fail("tensor " + t.name + " of a module must be global");
    std::set<std::string> kernels;
    for (const Kernel& k : m_.kernels) {
      if (!kernels.insert(k.name).second) fail("kernel " + k.name + " is there twice");
      if (!error_) kernel(k, tensors);
    }
    return error_;
  }

 private:
  const Module& m_;
  const Kernel* k_ = nullptr;
  std::optional<Refusal> error_;
  std::set<std::string> sizes_, ivs_, axes_;
  std::set<ValueId> defined_ever_;
  std::vector<ValueId> scope_;  // values visible, innermost last
  std::set<ValueId> visible_;
  int nesting_ = 0;

  void fail(std::string why, const Instr* i = nullptr) {
    if (error_) return;
    Refusal r{"verify tile module " + m_.name, k_ ? "kernel " + k_->name : "", std::move(why), ""};
    if (i) r.where += ": " + print(*i, *k_);
    error_ = std::move(r);
  }

  void names_in(const IndexExpr& e, const std::set<std::string>& allowed_axes, bool ivs,
                const Instr* i) {
    std::vector<std::string> vars;
    e.collect_vars(vars);
    for (const std::string& v : vars)
      if (!sizes_.count(v) && !(ivs && ivs_.count(v)) && !allowed_axes.count(v))
        fail("unknown name " + v + " in " + to_string(e), i);
  }
  void names_in(const Cond& c, const std::set<std::string>& axes, const Instr* i) {
    for (const auto& conj : c.any)
      for (const auto& a : conj) names_in(a.expr, axes, true, i);
  }

  void declaration(const TensorDecl& t, std::set<std::string>& names) {
    if (!names.insert(t.name).second) fail("tensor " + t.name + " is there twice");
    if (t.extents.size() > kMaxRank)
      fail("tensor " + t.name + " has more than " + std::to_string(kMaxRank) + " dimensions");
    for (const IndexExpr& e : t.extents) {
      names_in(e, {}, false, nullptr);
      if (e.is_const() && e.constant() < 0) fail("tensor " + t.name + " has a negative extent");
    }
  }

  void kernel(const Kernel& k, std::set<std::string> tensors) {
    k_ = &k;
    ivs_.clear();
    defined_ever_.clear();
    visible_.clear();
    scope_.clear();
    for (const GridDim& g : k.grid) {
      names_in(g.extent, {}, false, nullptr);
      bind_iv(g.iv, nullptr);
    }
    for (const TensorDecl& t : k.shared) {
      declaration(t, tensors);
      if (t.scope != poly::Scope::Shared || t.kind != poly::TensorKind::Temp)
        fail("buffer " + t.name + " of a kernel must be a shared temp");
    }
    axes_.clear();
    for (const auto& [v, t] : k.types) type_of_value(v, t);
    if (!k.body.args.empty() || !k.body.yields.empty())
      fail("a kernel's body has no arguments and no yields");
    if (!error_) region(k.body);
    k_ = nullptr;
  }

  void type_of_value(ValueId v, const TileType& t) {
    const std::string name = "type of %" + std::to_string(v);
    if (v < 0 || v >= k_->next_value)
      fail("%" + std::to_string(v) + " is outside the kernel's value numbers");
    for (size_t n = 0; n < t.axes.size(); ++n) {
      if (n && !(t.axes[n - 1].name < t.axes[n].name))
        fail(name + ": axes are not sorted or not unique");
      if (t.axes[n].extent < 1)
        fail(name + ": axis " + t.axes[n].name + " has extent " + std::to_string(t.axes[n].extent));
      axes_.insert(t.axes[n].name);
    }
    if (lanes(t) > kMaxLanes) fail(name + " has too many lanes");
  }

  void bind_iv(const std::string& iv, const Instr* i) {
    if (sizes_.count(iv)) fail("loop variable " + iv + " has the name of a size", i);
    if (!ivs_.insert(iv).second) fail("loop variable " + iv + " is bound twice", i);
  }

  void define(ValueId v, const Instr* i) {
    if (!k_->types.count(v)) fail("%" + std::to_string(v) + " has no type", i);
    if (!defined_ever_.insert(v).second) fail("%" + std::to_string(v) + " is defined twice", i);
    visible_.insert(v);
    scope_.push_back(v);
  }
  void use(ValueId v, const Instr* i) {
    if (!visible_.count(v)) fail("%" + std::to_string(v) + " is used where it is not defined", i);
  }

  void region(const Region& r) {
    if (++nesting_ > kDeepest) fail("nested too deeply");
    const size_t mark = scope_.size();
    for (ValueId a : r.args) define(a, nullptr);
    for (const Instr& i : r.body) {
      if (error_) break;
      instr(i);
    }
    for (ValueId y : r.yields) use(y, nullptr);
    for (; scope_.size() > mark; scope_.pop_back()) visible_.erase(scope_.back());
    --nesting_;
  }

  std::set<std::string> axis_names(const std::vector<Axis>& axes) {
    std::set<std::string> s;
    for (const Axis& a : axes) {
      s.insert(a.name);
      if (ivs_.count(a.name) || sizes_.count(a.name))
        fail("axis " + a.name + " has the name of a loop variable or size");
    }
    return s;
  }

  // Axes that the lanes of a Load or Store run over.
  std::vector<Axis> lane_axes(const Instr& i) {
    if (i.code != Code::Store)
      return i.results.empty() ? std::vector<Axis>{} : k_->types.at(i.results[0]).axes;
    std::map<std::string, int64_t> all;
    for (const Axis& a : i.span) all[a.name] = a.extent;
    for (ValueId v : i.operands)
      for (const Axis& a : k_->types.at(v).axes) all[a.name] = a.extent;
    std::vector<Axis> out;
    for (const auto& [n, e] : all) out.push_back({n, e});
    return out;
  }

  void memory(const Instr& i) {
    const TensorDecl* t = find_tensor(m_, *k_, i.tensor);
    if (!t) return fail("unknown tensor " + i.tensor, &i);
    if (i.index.size() != t->extents.size())
      return fail(i.tensor + " has " + std::to_string(t->extents.size()) + " dimensions, not " +
                      std::to_string(i.index.size()),
                  &i);
    const size_t first = i.code == Code::Store ? 1 : 0;
    if (i.operands.size() < first) return fail("a store needs a value", &i);
    if (!i.gather.empty() && i.gather.size() != i.index.size())
      return fail("gather has the wrong length", &i);
    size_t next = first;
    for (int g : i.gather) {
      if (g < 0) continue;
      if (size_t(g) != next || next >= i.operands.size())
        return fail("gathers are not in order of the dimensions", &i);
      if (is_float(k_->types.at(i.operands[next]).elem))
        return fail("a gathered index must be an integer", &i);
      ++next;
    }
    if (next != i.operands.size()) return fail("operands that gather nothing", &i);
    const auto axes = axis_names(lane_axes(i));
    for (size_t d = 0; d < i.index.size(); ++d)
      if (i.gather.empty() || i.gather[d] < 0) names_in(i.index[d], axes, true, &i);
    names_in(i.cond, axes, &i);
    if (i.code == Code::Load) {
      if (k_->types.at(i.results[0]).elem != t->type)
        fail("the result must have the tensor's element type", &i);
    } else {
      if (k_->types.at(i.operands[0]).elem != t->type)
        fail("the value must have the tensor's element type", &i);
      if (t->kind == poly::TensorKind::Input) fail("store to input " + i.tensor, &i);
    }
  }

  void span(const Instr& i) {
    for (size_t n = 0; n < i.span.size(); ++n) {
      const Axis& s = i.span[n];
      if (s.extent < 1) fail("span axis " + s.name + " has no lanes", &i);
      if (n && !(i.span[n - 1].name < s.name)) fail("span is not sorted or not unique", &i);
      for (ValueId v : i.operands)
        for (const Axis& a : k_->types.at(v).axes)
          if (a.name == s.name) fail("span axis " + s.name + " is an axis of an operand", &i);
      if (i.code == Code::Reduce && std::find(i.axes.begin(), i.axes.end(), s.name) == i.axes.end())
        fail("span axis " + s.name + " is not reduced", &i);
    }
    if (!i.span.empty() && i.code != Code::Store && i.code != Code::Reduce)
      fail("only Store and Reduce have a span", &i);
    TileType all{Type::F32, i.span};
    for (ValueId v : i.operands)
      for (const Axis& a : k_->types.at(v).axes)
        if (i.code != Code::For && std::find(all.axes.begin(), all.axes.end(), a) == all.axes.end())
          all.axes.push_back(a);
    if (lanes(all) > kMaxLanes) fail("too many lanes", &i);
  }

  void instr(const Instr& i) {
    for (ValueId v : i.operands) use(v, &i);
    if (i.code != Code::For && i.code != Code::If && !i.regions.empty())
      fail("only For and If have regions", &i);
    for (ValueId v : i.results)
      if (!k_->types.count(v)) fail("%" + std::to_string(v) + " has no type", &i);
    if (error_) return;
    if (i.code == Code::For) return loop(i);
    if (i.code == Code::If) return branch(i);
    if (i.code == Code::Map && (op_arity(i.op) == 0 || i.op == Op::Cast))
      return fail("not an operation on tiles", &i);
    check_types(i);
    if (error_) return;
    span(i);
    if (i.code == Code::Load || i.code == Code::Store) memory(i);
    if (i.code == Code::Iota && !i.results.empty())
      names_in(i.index[0], axis_names(k_->types.at(i.results[0]).axes), true, &i);
    if (i.code == Code::Mask) names_in(i.cond, axis_names(k_->types.at(i.results[0]).axes), &i);
    if (i.code == Code::Reduce) reduction(i);
    if (i.code == Code::Dot) {
      Type e = k_->types.at(i.results[0]).elem;
      if (e != Type::F32 && e != Type::F64 && e != Type::I32)
        fail("a dot accumulates in f32, f64 or i32", &i);
    }
    for (ValueId v : i.results) define(v, &i);
  }

  void reduction(const Instr& i) {
    std::set<std::string> unique(i.axes.begin(), i.axes.end());
    if (unique.size() != i.axes.size()) fail("an axis is reduced twice", &i);
    if (i.reduce != poly::ReduceOp::User) return;
    if (!i.combine || !i.identity) return fail("a user reduction needs combine and identity", &i);
    for (const std::string& v : free_vars(i.combine))
      if (v != "a" && v != "b") fail("combine may only use a and b", &i);
    if (!free_vars(i.identity).empty()) fail("identity must be a constant", &i);
  }

  // The recorded types must be those inferred from the operands.
  void check_types(const Instr& i) {
    const size_t wanted = i.code == Code::Store || i.code == Code::Barrier ? 0 : 1;
    if (i.results.size() != wanted) return fail("wrong number of results", &i);
    std::map<std::string, int64_t> axes;
    Type elem = Type::F32;
    if (wanted) {
      const TileType& t = k_->types.at(i.results[0]);
      elem = t.elem;
      for (const Axis& a : t.axes) axes[a.name] = a.extent;
    }
    auto types = infer_types(*k_, i, axes, elem);
    if (!types) return fail(types.error().why, &i);
    if (wanted && !((*types)[0] == k_->types.at(i.results[0])))
      fail("the type should be " + to_string((*types)[0]), &i);
  }

  // A value that enters a carried argument or a result: same elem, no axis that is not there.
  void fits(ValueId v, const TileType& into, const Instr& i) {
    const TileType& t = k_->types.at(v);
    if (t.elem != into.elem)
      return fail("%" + std::to_string(v) + " has another element type than what it becomes", &i);
    for (const Axis& a : t.axes)
      if (std::find(into.axes.begin(), into.axes.end(), a) == into.axes.end())
        fail("%" + std::to_string(v) + " has axis " + a.name + ", which it may not have here", &i);
  }

  void loop(const Instr& i) {
    if (i.regions.size() != 1) return fail("a loop has one region", &i);
    const Region& r = i.regions[0];
    if (r.args.size() != i.operands.size() || r.yields.size() != i.operands.size() ||
        i.results.size() != i.operands.size())
      return fail("initial values, arguments, yields and results differ in number", &i);
    if (i.step < 1) return fail("the step must be positive", &i);
    names_in(i.lower, {}, true, &i);
    names_in(i.upper, {}, true, &i);
    for (size_t n = 0; n < r.args.size() && !error_; ++n) {
      if (!k_->types.count(r.args[n]))
        return fail("%" + std::to_string(r.args[n]) + " has no type", &i);
      fits(i.operands[n], k_->types.at(r.args[n]), i);
      if (!(k_->types.at(i.results[n]) == k_->types.at(r.args[n])))
        fail("a result has not the type of its argument", &i);
    }
    bind_iv(i.iv, &i);
    if (error_) return;
    region(r);
    ivs_.erase(i.iv);
    for (size_t n = 0; n < r.args.size() && !error_; ++n)
      fits(r.yields[n], k_->types.at(r.args[n]), i);
    for (ValueId v : i.results) define(v, &i);
  }

  void branch(const Instr& i) {
    if (i.regions.size() != 2 || i.operands.size() > 1)
      return fail("an if has two regions and at most one operand", &i);
    if (!i.operands.empty()) {
      const TileType& t = k_->types.at(i.operands[0]);
      if (t.elem != Type::Bool || !t.axes.empty())
        return fail("a branch on data needs a scalar bool", &i);
      if (!i.cond.is_always()) return fail("a branch on data has no condition beside it", &i);
    }
    names_in(i.cond, {}, &i);
    for (const Region& r : i.regions) {
      if (!r.args.empty()) fail("regions of an if have no arguments", &i);
      if (r.yields.size() != i.results.size()) fail("yields and results differ in number", &i);
      if (!error_) region(r);
    }
    if (error_) return;
    auto types = infer_types(*k_, i, {}, Type::F32);
    if (!types) return fail(types.error().why, &i);
    for (size_t n = 0; n < i.results.size(); ++n)
      if (!((*types)[n] == k_->types.at(i.results[n])))
        fail("a result's type should be " + to_string((*types)[n]), &i);
    for (ValueId v : i.results) define(v, &i);
  }
};

}  // namespace

std::string check_multiples(const std::vector<std::string>& sizes,
                            const std::map<std::string, int64_t>& multiples) {
  for (const auto& [size, n] : multiples) {
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end())
      return "a multiple of " + size + ", which is no size";
    if (n < 2) return size + " is said to be a multiple of " + std::to_string(n);
  }
  return "";
}

std::string broken_multiple(const std::map<std::string, int64_t>& multiples,
                            const poly::Sizes& sizes) {
  for (const auto& [size, n] : multiples)
    if (auto it = sizes.find(size); it != sizes.end() && it->second % n)
      return size + " is " + std::to_string(it->second) + ", no multiple of " + std::to_string(n);
  return "";
}

std::optional<Refusal> verify(const Module& m) { return Verifier(m).run(); }

}  // namespace nautilus::tile
