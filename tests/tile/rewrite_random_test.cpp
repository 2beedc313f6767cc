// Random kernels with loops, branches, masks and reductions: whatever the rules do, the values
// stay.
#include "compiler/tile/rewrite.h"
#include "helpers.h"

namespace nautilus::tile {
namespace {

class Generator {
 public:
  explicit Generator(uint64_t seed) : rng_(seed) {}

  Module make() {
    Module m;
    m.name = "random";
    for (const char* n : {"A", "B"})
      m.tensors.push_back({n,
                           Type::F32,
                           poly::TensorKind::Input,
                           poly::Scope::Global,
                           {IndexExpr(5), IndexExpr(6)}});
    m.tensors.push_back({"T",
                         Type::F32,
                         poly::TensorKind::Temp,
                         poly::Scope::Global,
                         {IndexExpr(5), IndexExpr(6)}});
    m.tensors.push_back({"O",
                         Type::F32,
                         poly::TensorKind::Output,
                         poly::Scope::Global,
                         {IndexExpr(4), IndexExpr(5), IndexExpr(6)}});
    Kernel k;
    k.name = "k";
    k_ = &k;
    m_ = &m;
    Builder b = builder(k.body);
    for (const char* n : {"A", "B"}) {
      pool_.push_back(load(b, n, IndexExpr::var("i"), IndexExpr::var("j")));
      pool_.push_back(load(b, n, IndexExpr::var("i"), IndexExpr(2)));
    }
    for (double c : {0.0, 1.0, 2.0, -0.75, 3.0}) pool_.push_back(b.constant(c));
    body(b, 12, 0);
    for (int n = 0; n < 4; ++n) store(b, "O", n, pick());
    m.kernels.push_back(std::move(k));
    return m;
  }

 private:
  std::mt19937_64 rng_;
  std::vector<ValueId> pool_;
  Kernel* k_ = nullptr;
  const Module* m_ = nullptr;
  int ivs_ = 0;
  std::vector<std::string> scope_;

  size_t below(size_t n) { return rng_() % n; }
  ValueId pick() {
    return pool_[pool_.size() - 1 - std::min(pool_.size() - 1, below(pool_.size()) * below(3) / 2)];
  }
  Builder builder(Region& r) {
    Builder b(*k_, r);
    b.axis_extents = {{"i", 5}, {"j", 6}};
    b.module = m_;
    b.origin = "S" + std::to_string(below(3));
    return b;
  }
  ValueId load(Builder& b, const std::string& t, IndexExpr x, IndexExpr y) {
    Instr i;
    i.code = Code::Load;
    i.tensor = t;
    i.index = {x, y};
    return b.emit(i);
  }
  void store(Builder& b, const std::string& t, int n, ValueId v) {
    Instr i;
    i.code = Code::Store;
    i.tensor = t;
    if (t == "O") i.index.push_back(IndexExpr(n));
    i.index.push_back(IndexExpr::var("i"));
    i.index.push_back(IndexExpr::var("j"));
    i.operands = {v};
    b.emit(i);
  }
  IndexExpr iv() {
    return scope_.empty() ? IndexExpr(1) : IndexExpr::var(scope_[below(scope_.size())]);
  }
  bool has(ValueId v, const char* axis) const {
    for (const Axis& a : k_->types.at(v).axes)
      if (a.name == axis) return true;
    return false;
  }
  Cond cond() {
    return Cond{{{{IndexExpr::var("j") - IndexExpr::var("i") + iv() - IndexExpr(int64_t(below(3))),
                   false}}}};
  }

  // Values stay bounded, divisors away from zero: rounding differs, meaning does not.
  void statement(Builder& b, int depth) {
    const ValueId x = pick(), y = pick();
    ValueId r = -1;
    switch (below(depth < 2 ? 16 : 13)) {
      case 0:
        r = b.map(Op::Add, {x, y});
        break;
      case 1:
        r = b.map(Op::Sub, {x, y});
        break;
      case 2:
        r = b.map(Op::Mul, {b.map(Op::Tanh, {x}), y});
        break;
      case 3:
        r = b.map(Op::Mul, {x, b.constant(0.5)});
        break;
      case 4:
        r = b.map(Op::Div, {x, b.map(Op::Add, {b.map(Op::Abs, {y}), b.constant(1)})});
        break;
      case 5:
        r = b.map(Op::Max, {x, y});
        break;
      case 6:
        r = b.map(below(2) ? Op::Exp : Op::Exp2, {b.map(Op::Min, {x, b.constant(1)})});
        break;
      case 7:
        r = b.mask(cond(), x, y);
        break;
      case 8:
        r = b.reduce(below(2) ? poly::ReduceOp::Sum : poly::ReduceOp::Max, x,
                     {below(2) ? "j" : "i"});
        break;
      case 9:
        r = b.reduce(poly::ReduceOp::Sum, b.map(Op::Mul, {b.map(Op::Tanh, {x}), y}), {"j"});
        break;
      case 10:
        r = b.map(Op::Div, {x, b.constant(below(2) ? 3 : 4)});
        break;
      case 11:
        r = load(b, below(3) ? "A" : "B", iv(), IndexExpr::var("j"));
        break;
      case 12:
        r = b.map(Op::Neg, {x});
        break;
      case 13:
        loop(b, depth);
        return;
      case 14:
        branch(b, depth);
        return;
      default:
        store(b, "T", 0, x);
        r = load(b, "T", IndexExpr::var("i"), IndexExpr(int64_t(below(6))));
        break;
    }
    pool_.push_back(r);
  }
  void body(Builder& b, int n, int depth) {
    for (int k = 0; k < n; ++k) statement(b, depth);
  }

  ValueId wide(Builder& b, ValueId v) {  // over both axes
    Instr i;
    i.code = Code::Iota;
    i.index = {IndexExpr::var("i") + IndexExpr::var("j")};
    return b.map(Op::Add, {b.map(Op::Tanh, {v}), b.map(Op::Mul, {b.emit(i), b.constant(0.01)})});
  }

  void loop(Builder& b, int depth) {
    Instr f;
    f.code = Code::For;
    f.iv = "n" + std::to_string(ivs_++);
    f.lower = IndexExpr(int64_t(below(2)));
    f.upper = scope_.empty() || below(2) ? IndexExpr(int64_t(below(4))) : iv();
    const size_t mark = pool_.size(), carried = 1 + below(3);
    f.regions.emplace_back();
    Region r;
    for (size_t k = 0; k < carried; ++k) f.operands.push_back(below(2) ? pick() : b.constant(0));
    for (size_t k = 0; k < carried; ++k) {
      r.args.push_back(k_->next_value++);
      k_->types[r.args.back()] = TileType{Type::F32, {{"i", 5}, {"j", 6}}};
      pool_.push_back(r.args.back());
    }
    scope_.push_back(f.iv);
    Builder inner = builder(r);
    body(inner, 5, depth + 1);
    for (size_t k = 0; k < carried; ++k) {
      // Accumulations, products and running maxima, or anything.
      ValueId v = pick();
      switch (below(4)) {
        case 0:
          v = inner.map(Op::Add, {r.args[k], inner.map(Op::Tanh, {v})});
          break;
        case 1:
          v = inner.map(Op::Max, {r.args[k], v});
          break;
        case 2:
          v = inner.map(Op::Add,
                        {inner.map(Op::Mul, {r.args[k], inner.constant(0.5)}),
                         inner.map(Op::Div, {inner.map(Op::Tanh, {v}), inner.constant(3)})});
          break;
        default:
          break;
      }
      r.yields.push_back(v);
    }
    scope_.pop_back();
    pool_.resize(mark);
    f.regions[0] = std::move(r);
    b.emit(f);
    for (ValueId v : b.region().body.back().results) pool_.push_back(v);
  }

  void branch(Builder& b, int depth) {
    Instr f;
    f.code = Code::If;
    if (below(2) == 0)
      f.cond = Cond{{{{iv() - IndexExpr(int64_t(below(3))), below(2) == 0}}}};
    else  // on data: inputs, so that rounding does not change sides
      f.operands = {b.map(Op::Lt, {b.reduce(poly::ReduceOp::Max, pool_[1 + 2 * below(2)], {"i"}),
                                   b.constant(double(below(5)) * 0.5)})};
    const size_t mark = pool_.size();
    for (int side = 0; side < 2; ++side) {
      Region r;
      Builder inner = builder(r);
      body(inner, 3, depth + 1);
      r.yields = {wide(inner, pick()), pick()};
      pool_.resize(mark);
      f.regions.push_back(std::move(r));
    }
    b.emit(f);
    for (ValueId v : b.region().body.back().results) pool_.push_back(v);
  }
};

bool tame(const poly::Buffers& b) {
  for (const auto& [n, v] : b)
    for (double x : v)
      if (!(std::abs(x) < 1e4)) return false;
  return true;
}

TEST(RewriteRandom, ValuesStay) {
  int compared = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Module m = Generator(seed).make();
    ASSERT_FALSE(verify(m)) << verify(m)->text() << print(m);
    poly::Buffers in = random_inputs(m, seed);
    const poly::Buffers exact = outputs(m, in, false), rounded = outputs(m, in);
    for (Numerics n : {Numerics::Strict, Numerics::Reassociate}) {
      RewriteOptions o;
      o.numerics = n;
      o.max_nodes = 4000;
      RewriteReport report;
      Module w = rewrite(m, o, &report);
      ASSERT_FALSE(verify(w)) << print(w);
      ASSERT_TRUE(report.stop_reason == "saturated" || report.stop_reason == "node limit" ||
                  report.stop_reason == "iteration limit")
          << report.stop_reason << print(m);
      if (n == Numerics::Strict) {
        expect_close(rounded, outputs(w, in), 0, "strict");
      } else if (tame(exact)) {
        ++compared;
        expect_close(exact, outputs(w, in, false), 1e-8, "exact arithmetic");
      }
      if (testing::Test::HasFailure()) FAIL() << print(m) << print(w);
    }
  }
  EXPECT_GT(compared, 25);
}

}  // namespace
}  // namespace nautilus::tile
