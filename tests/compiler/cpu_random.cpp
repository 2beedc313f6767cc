// Random tile programs, compiled and interpreted: layouts, storage sharing, fusion and masks must
// not show.
#include <algorithm>

#include "cpu_helpers.h"

namespace nautilus::cpu {
namespace {

using tile::Axis;
using tile::Builder;
using tile::Code;
using tile::Instr;
using tile::Kernel;
using tile::Module;
using tile::Region;
using tile::TileType;
using tile::ValueId;

// A kernel of a few dozen instructions over the axes a, b, c; results go to its own output.
class Generator {
 public:
  Generator(Module& m, uint64_t seed) : m_(m), rng_(seed) {}

  void kernel(int number) {
    static const int64_t kExtents[] = {1, 2, 3, 5, 7, 8, 13, 16, 17, 32, 33};
    axes_.clear();
    for (const char* a : {"a", "b", "c"}) axes_[a] = kExtents[pick(11)];
    const std::string tag = std::to_string(number);
    tensor("X" + tag, poly::TensorKind::Input, pick(3) == 0 ? Type::F16 : Type::F32);
    tensor("Y" + tag, poly::TensorKind::Input, Type::F32);
    inputs_ = {"X" + tag, "Y" + tag};
    Kernel k;
    k.name = "k" + tag;
    k.grid = {{"g" + tag, IndexExpr(2)}};
    iv_ = "g" + tag;
    k_ = &k;
    Region body = region(8 + pick(10), {}, 2);
    k.body.body = std::move(body.body);
    // Everything of the outermost scope that fits goes out.
    for (const ValueId v : last_scope_) output(k, v, number);
    m_.kernels.push_back(std::move(k));
  }

 private:
  int pick(int n) { return int(rng_() % uint64_t(n)); }
  template <class T>
  const T& one(const std::vector<T>& v) {
    return v[size_t(pick(int(v.size())))];
  }
  const TileType& type(ValueId v) { return k_->types.at(v); }

  // [2, a, b, c] for inputs.
  void tensor(const std::string& name, poly::TensorKind kind, Type t) {
    m_.tensors.push_back(
        {name,
         t,
         kind,
         poly::Scope::Global,
         {IndexExpr(2), IndexExpr(axes_["a"]), IndexExpr(axes_["b"]), IndexExpr(axes_["c"])}});
  }
  void output(Kernel& k, ValueId v, int number) {
    if (!is_float(type(v).elem) || pick(2) == 0) return;
    const std::string name = "O" + std::to_string(number) + "_" + std::to_string(v);
    tile::TensorDecl t{
        name, type(v).elem, poly::TensorKind::Output, poly::Scope::Global, {IndexExpr(2)}};
    Instr s;
    s.code = Code::Store;
    s.tensor = name;
    s.index = {IndexExpr::var(iv_)};
    auto order = type(v).axes;
    std::shuffle(order.begin(), order.end(), rng_);
    for (const Axis& a : order) {
      t.extents.push_back(IndexExpr(a.extent));
      s.index.push_back(IndexExpr::var(a.name));
    }
    m_.tensors.push_back(t);
    s.operands = {v};
    k.body.body.push_back(s);
  }

  Builder builder(Region& r) {
    Builder b(*k_, r);
    b.module = &m_;
    b.axis_extents = axes_;
    return b;
  }

  Cond condition() {
    Cond::Conj conj{{IndexExpr::var("a") * (pick(3) - 1) + IndexExpr::var("b") * (pick(3) - 1) +
                         IndexExpr::var(iv_) * 2 + IndexExpr(pick(7) - 3),
                     false}};
    Cond c;
    c.any = {conj};
    if (pick(3) == 0) c.any.push_back({{IndexExpr::var("c") - IndexExpr(2), pick(2) == 0}});
    return c;
  }

  ValueId load(Region& r) {
    Instr i;
    i.code = Code::Load;
    i.tensor = one(inputs_);
    i.index = {IndexExpr::var(iv_)};
    for (const char* a : {"a", "b", "c"})
      i.index.push_back(pick(3) ? IndexExpr::var(a) : IndexExpr(pick(int(axes_[a]))));
    if (pick(4) == 0) {
      i.cond = condition();
      i.value = pick(2) ? -std::numeric_limits<double>::infinity() : 0.5;
      if (i.value < 0) i.value = -1;
    }
    ValueId v = builder(r).emit(i);
    return builder(r).cast(v, Type::F32);
  }

  // Keeps magnitudes near one.
  ValueId tame(Region& r, ValueId v) { return builder(r).map(Op::Tanh, {v}); }

  // Instructions in a new region; `visible` values may be used.
  Region region(int count, std::vector<ValueId> visible, int depth) {
    Region r;
    for (int n = 0; n < count; ++n) {
      ValueId v = -1;
      switch (visible.size() < 2 ? 0 : pick(11)) {
        case 0:
          v = load(r);
          break;
        case 1:
        case 2: {
          static const Op kOps[] = {Op::Add, Op::Sub, Op::Mul, Op::Max, Op::Min};
          v = builder(r).map(kOps[pick(5)], {one(visible), one(visible)});
          break;
        }
        case 3:
          v = builder(r).map(pick(2) ? Op::Neg : Op::Sigmoid, {one(visible)});
          break;
        case 4:
        case 5: {
          const ValueId x = one(visible);
          if (type(x).axes.empty()) continue;
          std::vector<std::string> axes;
          for (const Axis& a : type(x).axes)
            if (axes.empty() || pick(3) == 0) axes.push_back(a.name);
          v = tame(r,
                   builder(r).reduce(pick(2) ? poly::ReduceOp::Sum : poly::ReduceOp::Max, x, axes));
          break;
        }
        case 6:
        case 7: {
          const ValueId x = one(visible), y = one(visible);
          std::vector<std::string> shared;
          for (const Axis& a : type(x).axes)
            for (const Axis& b : type(y).axes)
              if (a.name == b.name && (shared.empty() || pick(3) == 0)) shared.push_back(a.name);
          if (shared.empty()) continue;
          v = builder(r).dot(x, y, shared, Type::F32);
          // Sometimes as an accumulation.
          v = pick(2) ? builder(r).map(Op::Add, {one(visible), v}) : v;
          v = tame(r, v);
          break;
        }
        case 8:
          v = builder(r).mask(condition(), one(visible), one(visible));
          break;
        case 9: {
          const ValueId x = one(visible);
          // Swap two axes of equal extent, or move one to a free name of equal extent.
          for (const Axis& a : type(x).axes)
            for (const auto& [name, extent] : axes_) {
              if (name == a.name || extent != a.extent || v >= 0) continue;
              const bool has = std::any_of(type(x).axes.begin(), type(x).axes.end(),
                                           [&, n = name](const Axis& b) { return b.name == n; });
              v = has ? builder(r).rename(x, {{a.name, name}, {name, a.name}})
                      : builder(r).rename(x, {{a.name, name}});
            }
          if (v < 0) continue;
          break;
        }
        default: {
          if (depth == 0) continue;
          auto results = pick(3) ? loop(r, visible, depth) : branch(r, visible, depth);
          visible.insert(visible.end(), results.begin(), results.end());
          continue;
        }
      }
      visible.push_back(v);
    }
    last_scope_ = visible;
    return r;
  }

  std::vector<ValueId> loop(Region& r, const std::vector<ValueId>& visible, int depth) {
    Instr f;
    f.code = Code::For;
    f.iv = "n" + std::to_string(loops_++);
    f.lower = IndexExpr(pick(2));
    f.upper = IndexExpr::var(iv_) + IndexExpr(pick(3));
    f.step = 1 + pick(2);
    Region body;
    const int carried = 1 + pick(3);
    for (int n = 0; n < carried; ++n) {
      f.operands.push_back(one(visible));
      TileType t = type(f.operands.back());
      t.elem = Type::F32;
      body.args.push_back(builder(r).fresh(t));
    }
    std::vector<ValueId> inner = visible;
    inner.insert(inner.end(), body.args.begin(), body.args.end());
    Region made = region(3 + pick(6), inner, depth - 1);
    made.args = body.args;
    const std::vector<ValueId> scope = last_scope_;
    for (int n = 0; n < carried; ++n)
      made.yields.push_back(fitting(made, scope, body.args[size_t(n)]));
    f.regions = {made};
    return emit_results(r, f);
  }
  std::vector<ValueId> branch(Region& r, const std::vector<ValueId>& visible, int depth) {
    Instr f;
    f.code = Code::If;
    if (pick(2) == 0) {
      f.cond.any = {{{IndexExpr::var(iv_) - IndexExpr(pick(2)), pick(2) == 0}}};
    } else {  // on data: an extremum is the same in any order
      const ValueId v = one(visible);
      std::vector<std::string> axes;
      for (const Axis& a : type(v).axes) axes.push_back(a.name);
      const ValueId most = axes.empty() ? v : builder(r).reduce(poly::ReduceOp::Max, v, axes);
      f.operands = {builder(r).map(Op::Lt, {builder(r).constant(0.5), most})};
    }
    const ValueId shape = one(visible);
    for (int side = 0; side < 2; ++side) {
      Region made = region(2 + pick(4), visible, depth - 1);
      made.yields = {fitting(made, last_scope_, shape)};
      f.regions.push_back(made);
    }
    return emit_results(r, f);
  }
  std::vector<ValueId> emit_results(Region& r, Instr f) {
    builder(r).emit(f);
    return r.body.back().results;
  }
  // A value of the scope with shape's type, often an update of shape itself; reduced until it has
  // no other axes.
  ValueId fitting(Region& r, const std::vector<ValueId>& scope, ValueId shape) {
    ValueId v = one(scope);
    std::vector<std::string> extra;
    for (const Axis& a : type(v).axes)
      if (std::none_of(type(shape).axes.begin(), type(shape).axes.end(),
                       [&](const Axis& b) { return b.name == a.name; }))
        extra.push_back(a.name);
    if (!extra.empty()) v = builder(r).reduce(poly::ReduceOp::Max, v, extra);
    if (pick(3))
      v = tame(
          r, builder(r).map(
                 Op::Add, {builder(r).map(Op::Mul, {shape, one(scope_of_type(scope, shape))}), v}));
    return v;
  }
  std::vector<ValueId> scope_of_type(const std::vector<ValueId>& scope, ValueId shape) {
    std::vector<ValueId> out{shape};
    for (const ValueId v : scope)
      if (type(v) == type(shape)) out.push_back(v);
    return out;
  }

  Module& m_;
  std::mt19937_64 rng_;
  Kernel* k_ = nullptr;
  std::map<std::string, int64_t> axes_;
  std::vector<std::string> inputs_;
  std::vector<ValueId> last_scope_;
  std::string iv_;
  int loops_ = 0;
};

Module random_module(uint64_t seed, int kernels) {
  Module m;
  m.name = "random";
  Generator g(m, seed);
  for (int k = 0; k < kernels; ++k) g.kernel(k);
  return m;
}

class CpuRandom : public testing::TestWithParam<int> {};

TEST_P(CpuRandom, ComputesWhatTheInterpreterDoes) {
  const uint64_t seed = uint64_t(GetParam());
  const Module m = random_module(seed, 3);
  if (auto bad = tile::verify(m)) FAIL() << "seed " << seed << ": " << bad->text();
  SCOPED_TRACE("seed " + std::to_string(seed));
  expect_as_interpreted(m, 2e-4, seed,
                        seed % 5 == 0 ? tile::Numerics::Strict : tile::Numerics::Reassociate);
}
INSTANTIATE_TEST_SUITE_P(Seeds, CpuRandom, testing::Range(1, 9));

}  // namespace
}  // namespace nautilus::cpu
