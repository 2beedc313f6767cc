// What a well-formed module is. The interpreter and the back ends rely on it.
#include <algorithm>
#include <memory>
#include <numeric>

#include "compiler/memory/checks.h"
#include "compiler/memory/f2.h"
#include "compiler/tile/text.h"

namespace nautilus::memory {
namespace {

constexpr int kDeepest = 64, kMaxWarps = 32;
constexpr size_t kMaxRank = 16;
constexpr int64_t kMostBlocks = 2147483647;  // of a grid

// How finely an expression tells warps apart: floor(warp/4) only warpgroups.
Scope::Divergence divergence_of(const IndexExpr& e) {
  using D = Scope::Divergence;
  if (e.kind() == IndexExpr::Kind::Var) return e.name() == "warp" ? D::Warps : D::None;
  if (e.kind() == IndexExpr::Kind::FloorDiv && e.constant() % 4 == 0 &&
      e.args()[0] == IndexExpr::var("warp"))
    return D::Warpgroups;
  D worst = D::None;
  if (!e.is_const())
    for (const IndexExpr& a : e.args()) worst = std::max(worst, divergence_of(a));
  return worst;
}
Scope::Divergence divergence_of(const Cond& c) {
  Scope::Divergence worst = Scope::Divergence::None;
  for (const auto& conj : c.any)
    for (const auto& a : conj) worst = std::max(worst, divergence_of(a.expr));
  return worst;
}

class Verifier {
 public:
  explicit Verifier(const Module& m) : m_(m) {}

  std::optional<Refusal> run() {
    auto target = parse_target(m_.target);
    if (!target) {
      fail(target.error().text());
      return error_;
    }
    target_ = *target;
    for (const std::string& n : m_.sizes)
      if (n == "warp" || !sizes_.emplace(n, 1).second)
        fail("size " + n + " is there twice or reserved");
    fail(tile::check_multiples(m_.sizes, m_.multiples));
    for (const auto& [size, n] : m_.multiples) sizes_[size] = n;
    std::set<std::string> tensors, kernels;
    for (const TensorDecl& t : m_.tensors) {
      if (!tensors.insert(t.name).second) fail("tensor " + t.name + " is there twice");
      if (t.scope != poly::Scope::Global) fail("tensor " + t.name + " must be global");
      if (t.extents.size() > kMaxRank) fail("tensor " + t.name + " has too many dimensions");
      for (const IndexExpr& e : t.extents) over_sizes(e);
    }
    for (const Kernel& k : m_.kernels) {
      if (!kernels.insert(k.name).second) fail("kernel " + k.name + " is there twice");
      if (!error_) kernel(k);
    }
    return error_;
  }

 private:
  const Module& m_;
  const Kernel* k_ = nullptr;
  Target target_;
  std::optional<Refusal> error_;
  std::map<std::string, int64_t> sizes_;
  std::unique_ptr<Scope> scope_;
  std::set<ValueId> defined_ever_, visible_;
  std::vector<ValueId> order_;  // visible values, innermost last
  int nesting_ = 0;

  void fail(std::string why, const Instr* i = nullptr) {
    if (error_ || why.empty()) return;
    Refusal r{"verify memory module " + m_.name, k_ ? "kernel " + k_->name : "", std::move(why),
              ""};
    if (scope_ && scope_->role) r.where += ", role " + scope_->role->name;
    if (i) r.where += ": " + print(*i, *k_);
    error_ = std::move(r);
  }
  void over_sizes(const IndexExpr& e) {
    std::vector<std::string> vars;
    e.collect_vars(vars);
    for (const std::string& v : vars)
      if (!sizes_.count(v)) fail("unknown size " + v + " in " + nautilus::to_string(e));
  }

  // `outer`: the last dim before with more than a point, nullptr if there is none.
  void sections(const GridDim& g, const GridDim* outer) {
    const std::string what =
        "grid dim " + g.iv + ": " + std::to_string(g.together) + " blocks start together, ";
    if (g.together < 1)
      fail(what + "which must be 1 or more");
    else if (!outer)
      fail(what + "but no dim before it has more than one");
    else if (!outer->extent.is_const())
      fail(what + "but how many " + outer->iv + " has is open");
    else if (outer->descending || outer->together != 1)
      fail(what + "but " + outer->iv + " has an order of its own");
    else if (outer->extent.constant() % g.together != 0)
      fail(what + "which does not divide the " + std::to_string(outer->extent.constant()) + " of " +
           outer->iv);
  }

  void kernel(const Kernel& k) {
    k_ = &k;
    scope_ = std::make_unique<Scope>(Scope{m_, k, nullptr, target_, sizes_, {}});
    defined_ever_.clear();
    scope_->uniform["warp"] = 1;
    const GridDim* outer = nullptr;  // the last dim before with more than a point
    for (const GridDim& g : k.grid) {
      over_sizes(g.extent);
      bind(g.iv, 1, nullptr);
      if (g.extent.is_const() && (g.extent.constant() < 0 || g.extent.constant() > kMostBlocks))
        fail("grid dim " + g.iv + " has " + nautilus::to_string(g.extent) +
             " points; a grid has 0 to 2^31 - 1 blocks");
      if (g.together != 1) sections(g, outer);
      if (g.extent != IndexExpr(1)) outer = &g;
    }
    if (k.blocks_per_sm < 1) fail("blocks_per_sm must be positive");
    roles(k);
    if (!error_) storage(k);
    for (const auto& [v, t] : k.types)
      if (v < 0 || v >= k.next_value)
        fail("%" + std::to_string(v) + " is outside the kernel's value numbers");
    for (const Role& r : k.roles) {
      if (error_) break;
      scope_->role = &r;
      if (!r.body.args.empty() || !r.body.yields.empty())
        fail("a role's body has no arguments and no yields");
      region(r.body);
      scope_->role = nullptr;
    }
    scope_.reset();
    k_ = nullptr;
  }

  void storage(const Kernel& k) {
    std::set<std::string> names, layouts, ids;
    auto fresh = [&](const std::string& n) {
      if (!names.insert(n).second) fail(n + " names two buffers or barriers");
    };
    for (const auto& [name, p] : k.layouts)
      if (!layouts.insert(name).second) fail("layout " + name + " is there twice");
    for (const SharedBuffer& b : k.buffers) {
      fresh(b.name);
      if (std::string why = buffer(b); !why.empty()) fail("buffer " + b.name + ": " + why);
    }
    if (!k.mbarriers.empty() && target_.capability < 90) fail("mbarriers with phases need sm_90");
    for (const MBarrier& b : k.mbarriers) {
      fresh(b.name);
      if (b.slots < 1 || b.slots > 64 || b.arrivals < 1 || b.arrivals >= 1 << 20)
        fail("mbarrier " + b.name + ": slots or arrivals out of range");
    }
    for (const NamedBarrier& b : k.named) {
      fresh(b.name);
      if (b.id < 1 || b.id > 15 || !ids.insert(std::to_string(b.id)).second)
        fail("named barrier " + b.name + ": its number is not one of 1 to 15, or taken");
      if (b.warps < 1 || 32 * b.warps > k.threads())
        fail("named barrier " + b.name + ": " + std::to_string(b.warps) + " warps");
    }
    if (!error_ && k.shared_bytes() > target_.shared_bytes)
      fail(std::to_string(k.shared_bytes()) + " bytes of shared memory, " + m_.target + " has " +
           std::to_string(target_.shared_bytes));
  }

  std::string buffer(const SharedBuffer& b) {
    if (b.slots < 1 || b.slots > 64) return "1 to 64 slots";
    if (b.align < 16 || b.align > 1024 || log2_exact(b.align) < 0)
      return "align must be a power of two of 16 to 1024 bytes";
    for (const Bits& d : b.place.map.in())
      if (d.name != "offset") return "a shared tile's input is offset, not " + d.name;
    if (std::string why = check_axes(b.axes, b.place); !why.empty()) return why;
    if (!b.place.map.injective()) return "two offsets hold the same element";
    if (b.place.map.in_bits("offset") > 20 || b.place.elements() > 1 << 20)
      return "more than 2^20 elements a slot";
    if (b.offset < -1 || (b.offset >= 0 && b.offset % b.align))
      return "offset " + std::to_string(b.offset) + " is not aligned to " + std::to_string(b.align);
    if (b.slots > 1 && b.place.elements() * type_bytes(b.elem) % b.align)
      return "slots of " + std::to_string(b.place.elements() * type_bytes(b.elem)) +
             " bytes are not aligned to " + std::to_string(b.align);
    return "";
  }

  // Warps of the roles: together all of the block's, each once.
  void roles(const Kernel& k) {
    std::vector<const Role*> by_warp;
    std::set<std::string> names;
    for (const Role& r : k.roles) {
      by_warp.push_back(&r);
      if (!names.insert(r.name).second) fail("role " + r.name + " is there twice");
    }
    std::sort(by_warp.begin(), by_warp.end(),
              [](const Role* a, const Role* b) { return a->first_warp < b->first_warp; });
    int next = 0;
    for (const Role* r : by_warp) {
      if (r->warps < 1 || r->warps > kMaxWarps)
        return fail("role " + r->name + " has " + std::to_string(r->warps) + " warps");
      if (r->first_warp != next)
        return fail("role " + r->name + " starts at warp " + std::to_string(r->first_warp) +
                    ", the ones before end at " + std::to_string(next));
      next += r->warps;
    }
    if (next < 1 || next > kMaxWarps) fail("a block of " + std::to_string(next) + " warps");
  }

  void bind(const std::string& iv, int64_t divides, const Instr* i) {
    if (!scope_->uniform.emplace(iv, divides).second)
      fail("loop variable " + iv + " is bound twice or has the name of a size", i);
  }
  void define(ValueId v, const Instr* i) {
    auto it = k_->types.find(v);
    if (it == k_->types.end()) return fail("%" + std::to_string(v) + " has no type", i);
    if (!defined_ever_.insert(v).second) fail("%" + std::to_string(v) + " is defined twice", i);
    if (std::string why = check_fragment(*scope_, it->second); !why.empty())
      fail("type of %" + std::to_string(v) + ": " + why, i);
    visible_.insert(v);
    order_.push_back(v);
  }
  void use(ValueId v, const Instr* i) {
    if (!visible_.count(v)) fail("%" + std::to_string(v) + " is used where it is not defined", i);
  }

  void region(const Region& r) {
    if (++nesting_ > kDeepest) fail("nested too deeply");
    const size_t mark = order_.size();
    for (ValueId a : r.args) define(a, nullptr);
    for (const Instr& i : r.body) {
      if (error_) break;
      instr(i);
    }
    for (ValueId y : r.yields) use(y, nullptr);
    for (; order_.size() > mark; order_.pop_back()) visible_.erase(order_.back());
    --nesting_;
  }

  void instr(const Instr& i) {
    for (ValueId v : i.operands) use(v, &i);
    for (ValueId v : i.results)
      if (!k_->types.count(v)) fail("%" + std::to_string(v) + " has no type", &i);
    if (i.code != Code::For && i.code != Code::If && !i.regions.empty())
      fail("only for and if have regions", &i);
    if (error_) return;
    if (i.code == Code::For) return loop(i);
    if (i.code == Code::If) return branch(i);
    // Types of results first: the checks look at their placements.
    for (ValueId v : i.results)
      if (std::string why = check_fragment(*scope_, k_->types.at(v)); !why.empty())
        return fail("type of %" + std::to_string(v) + ": " + why, &i);
    fail(rules(i), &i);
    for (ValueId v : i.results) define(v, &i);
  }
  std::string rules(const Instr& i) {
    if (i.code <= Code::Slice) return check_registers(*scope_, i);
    if (i.code <= Code::AtomicAdd) return check_global(*scope_, i);
    if (i.code <= Code::StoreShared) return check_shared(*scope_, i);
    if (i.code <= Code::BulkWait) return check_copy(*scope_, i);
    if (i.code <= Code::MmaWait) return check_product(*scope_, i);
    return check_sync(*scope_, i);
  }

  void same_type(ValueId a, ValueId b, const Instr& i) {
    if (!(k_->types.at(a) == k_->types.at(b)))
      fail("%" + std::to_string(a) + " has another type than %" + std::to_string(b) +
               ", which it becomes",
           &i);
  }

  // A body whose instructions are executed by some warps only where `d` says so.
  void body(const Region& r, Scope::Divergence d) {
    const auto before = scope_->divergence;
    scope_->divergence = std::max(before, d);
    region(r);
    scope_->divergence = before;
  }

  void loop(const Instr& i) {
    if (i.regions.size() != 1) return fail("a loop has one region", &i);
    const Region& r = i.regions[0];
    const size_t n = i.operands.size();
    if (r.args.size() != n || r.yields.size() != n || i.results.size() != n)
      return fail("initial values, arguments, yields and results differ in number", &i);
    if (i.step < 1) return fail("the step must be positive", &i);
    for (const IndexExpr* e : {&i.lower, &i.upper}) fail(check_names(*scope_, *e, {}), &i);
    for (size_t x = 0; x < n && !error_; ++x) {
      if (!k_->types.count(r.args[x]))
        return fail("%" + std::to_string(r.args[x]) + " has no type", &i);
      same_type(i.operands[x], r.args[x], i);
      same_type(r.args[x], i.results[x], i);
    }
    bind(i.iv, std::gcd(i.step, divisor(i.lower, scope_->uniform)), &i);
    if (error_) return;
    body(r, std::max(divergence_of(i.lower), divergence_of(i.upper)));
    scope_->uniform.erase(i.iv);
    for (size_t x = 0; x < n && !error_; ++x) same_type(r.yields[x], r.args[x], i);
    for (ValueId v : i.results) define(v, &i);
  }

  void branch(const Instr& i) {
    if (i.regions.size() != 2 || i.operands.size() > 1)
      return fail("an if has two regions and at most one operand", &i);
    fail(check_names(*scope_, i.cond, {}), &i);
    const bool data = !i.operands.empty();
    if (data && (k_->types.at(i.operands[0]).elem != Type::Bool || i.cond != Cond::always()))
      fail("an if on data has an operand of type bool and no other condition", &i);
    for (const Region& r : i.regions) {
      if (!r.args.empty()) fail("regions of an if have no arguments", &i);
      if (r.yields.size() != i.results.size()) fail("yields and results differ in number", &i);
      if (!error_) body(r, data ? Scope::Divergence::Warps : divergence_of(i.cond));
      for (size_t n = 0; n < i.results.size() && !error_; ++n)
        same_type(r.yields[n], i.results[n], i);
    }
    for (ValueId v : i.results) define(v, &i);
  }
};

}  // namespace

std::optional<Refusal> verify(const Module& m) { return Verifier(m).run(); }

}  // namespace nautilus::memory
