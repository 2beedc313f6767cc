// Stale references of rolling updates: the same results with fewer corrections.
#include <limits>

#include "tests/tile/rolled.h"

namespace nautilus {
namespace {
using namespace testing_rolled;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// All repairs of the schedule made lazy by the transform, band by band.
Rolled lazy(Rolled r, const DependenceSet& deps) {
  std::set<NodeId> bands;
  for (const Repair& x : r.schedule.repairs) bands.insert(x.band);
  for (NodeId band : bands) {
    const Outcome o = poly::apply(r.schedule, deps, "lazy_reference", {{"node", band}});
    EXPECT_TRUE(o.accepted()) << (o.refusal ? o.refusal->text() : o.verdict.why);
    if (o.schedule) r.schedule = *o.schedule;
  }
  for (const Repair& x : r.schedule.repairs) EXPECT_TRUE(x.lazy) << x.targets[0];
  return r;
}
Rolled lazy(Rolled r) {
  const DependenceSet deps = *dependences(*r.schedule.program);
  return lazy(std::move(r), deps);
}

const char* kMasks[] = {"", "j <= i", "j <= i - 3"};
const Sizes kAttention{{"H", 2}, {"N", 13}, {"M", 21}, {"D", 3}};

Rolled lazy_attention(const std::string& mask, const Sizes& sizes = kAttention) {
  return lazy(rolled_attention(mask, sizes, 4, 4));
}

void scale(Buffers& in, const std::string& tensor, double by) {
  for (double& x : in.at(tensor)) x *= by;
}

tile::BranchCount branches(const tile::Module& m, const Buffers& in) {
  std::map<std::string, tile::BranchCount> by_origin;
  tile::InterpretOptions o;
  o.branches = &by_origin;
  auto r = tile::interpret(m, {}, in, o);
  EXPECT_TRUE(r) << r.error().text();
  tile::BranchCount all;
  for (const auto& [origin, n] : by_origin) {
    all.reached += n.reached;
    all.taken += n.taken;
  }
  return all;
}

TEST(LazyReference, ResultsAreTheSame) {
  for (const char* mask : kMasks) {
    const Rolled r = lazy_attention(mask);
    EXPECT_TRUE(verify(r.schedule).ok) << verify(r.schedule).verdict.why;
    for (double sharp : {1.0, 100.0, 1e6}) {
      Buffers in = random_inputs(*r.original, 5);
      scale(in, "Q", sharp);
      expect_as_defined(r, in, 1e-4, std::string(mask) + " x" + std::to_string(sharp) + "\n");
    }
    const Rolled l = lazy(rolled_logsumexp(mask, {{"N", 13}, {"M", 37}}, 4, 4));
    for (double sharp : {1.0, 100.0}) {
      Buffers in = random_inputs(*l.original, 6);
      scale(in, "X", sharp);
      expect_as_defined(l, in, 1e-4, std::string(mask) + " x" + std::to_string(sharp) + "\n");
    }
  }
}

TEST(LazyReference, MaskedByInfinities) {
  const Rolled l = lazy(rolled_logsumexp("", {{"N", 9}, {"M", 23}}, 4, 4));
  for (size_t finite : {0, 5, 22}) {
    Buffers in = random_inputs(*l.original, 6);
    for (size_t i = 0; i < 9; ++i)
      for (size_t j = 0; j < 23; ++j)
        if (j != finite) in.at("X")[i * 23 + j] = -kInfinity;
    expect_as_defined(l, in, 1e-4, "finite column " + std::to_string(finite));
  }
  const Rolled a = lazy_attention("", {{"H", 1}, {"N", 5}, {"M", 13}, {"D", 2}});
  Buffers in = random_inputs(*a.original, 3);
  for (double& q : in.at("Q")) q = 0.5 + std::abs(q);
  for (size_t j = 0; j < 13; ++j)
    if (j != 6) in.at("K")[j * 2] = -kInfinity;
  expect_as_defined(a, in, 1e-4);
}

// One correction at the first tile of each block of rows, and one wherever the maximum moved far.
TEST(LazyReference, FewCorrectionsOnSharpInputs) {
  const Sizes sizes{{"H", 1}, {"N", 16}, {"M", 256}, {"D", 4}};
  const Rolled r = lazy_attention("", sizes);
  auto m = lowered(r.schedule);
  ASSERT_TRUE(m);
  const uint64_t iterations = 4 * 64;
  for (const tile::Module& x : {*m, tile::rewrite(*m, {})}) {
    Buffers in = random_inputs(*r.original, 5);
    const tile::BranchCount normal = branches(x, in);
    EXPECT_EQ(normal.reached, iterations) << tile::print(x);
    EXPECT_EQ(normal.taken, 4u);  // the first tile of each block
    scale(in, "Q", 100);
    const tile::BranchCount sharp = branches(x, in);
    EXPECT_EQ(sharp.reached, iterations);
    EXPECT_GT(sharp.taken, 4u);
    EXPECT_LT(sharp.taken, iterations / 4);
  }
  const Rolled l = lazy(rolled_logsumexp("", {{"N", 8}, {"M", 400}}, 4, 4));
  auto n = lowered(l.schedule);
  ASSERT_TRUE(n);
  Buffers in = random_inputs(*l.original, 5);
  scale(in, "X", 100);
  const tile::BranchCount sharp = branches(*n, in);
  EXPECT_EQ(sharp.reached, 2u * 100);
  EXPECT_LT(sharp.taken, 50u);
  // Rows that grow by more than the bound from tile to tile: the reference follows each time.
  for (size_t k = 0; k < 8 * 400; ++k) in.at("X")[k] = 10.0 * double(k % 400);
  EXPECT_EQ(branches(*n, in).taken, 200u);
  expect_as_defined(l, in, 1e-4);
  // By less: from a stale reference it is the sum of the steps that counts.
  for (size_t k = 0; k < 8 * 400; ++k) in.at("X")[k] = 0.5 * double(k % 400);
  EXPECT_EQ(branches(*n, in).taken, 2u * 34);  // every third tile of 4 columns, 2 a tile
  expect_as_defined(l, in, 1e-4);
}

// What the rewritten loop does in every iteration, outside the branch: no product with the
// accumulator's lanes but those of the terms, no division, no exponential of row size.
TEST(LazyReference, CorrectionsAreInTheBranchOnly) {
  const Rolled r = lazy_attention("", {{"H", 1}, {"N", 16}, {"M", 64}, {"D", 8}});
  auto m = lowered(r.schedule);
  ASSERT_TRUE(m);
  const tile::Module w = tile::rewrite(*m, {});
  int loops = 0, products = 0, guarded = 0;
  const std::function<void(const tile::Region&, const tile::Kernel&, bool, bool)> look =
      [&](const tile::Region& region, const tile::Kernel& k, bool inside, bool branch) {
        for (const tile::Instr& i : region.body) {
          const bool carries =
              i.code == tile::Code::For &&
              std::any_of(i.regions[0].body.begin(), i.regions[0].body.end(), [](const auto& x) {
                return x.code == tile::Code::If && !x.operands.empty();
              });
          loops += carries;
          if (i.code == tile::Code::Map && inside) {
            const auto& axes = k.types.at(i.results[0]).axes;
            const bool accumulator =
                axes.size() == 2 && (axes[0].extent == 8 || axes[1].extent == 8);
            if (i.op == Op::Mul && accumulator) ++(branch ? guarded : products);
            EXPECT_FALSE(!branch && (i.op == Op::Div || i.op == Op::Recip)) << tile::print(w);
          }
          for (size_t n = 0; n < i.regions.size(); ++n)
            look(i.regions[n], k, inside || carries,
                 branch || (i.code == tile::Code::If && !i.operands.empty()));
        }
      };
  for (const tile::Kernel& k : w.kernels) look(k.body, k, false, false);
  EXPECT_EQ(loops, 1) << tile::print(w);
  EXPECT_EQ(products, 0) << tile::print(w);
  EXPECT_EQ(guarded, 1) << tile::print(w);
}

TEST(LazyReference, IsPartOfTheScheduleAndItsScript) {
  Session t = roll(normalized_attention("j <= i"), 1, 2, 6, 4, 4);
  const uint64_t eager = canonical_hash(t.s);
  const NodeId band = t.s.repairs.at(0).band;
  t.must("lazy_reference", {{"node", band}});
  EXPECT_NE(canonical_hash(t.s), eager);
  EXPECT_NE(to_text(t.s).find("(lazy m)"), std::string::npos) << to_text(t.s);
  EXPECT_EQ(to_json(t.s)["repairs"][0]["lazy"], true);
  EXPECT_TRUE(verify(t.s).ok) << verify(t.s).verdict.why;
  const Replay back = replay(t.program, t.s.script);
  ASSERT_TRUE(back.schedule);
  EXPECT_EQ(canonical_hash(*back.schedule), canonical_hash(t.s));
  for (const Repair& r : back.schedule->repairs) EXPECT_TRUE(r.lazy);
  t.must("lazy_reference", {{"node", band}, {"on", "no"}});
  EXPECT_EQ(canonical_hash(t.s), eager);
}

TEST(LazyReference, RefusedWhereItIsNotRight) {
  Session t = roll(normalized_attention(), 1, 2, 6, 4, 4);
  Outcome o = t.apply("lazy_reference", {{"node", t.band("S_S_sum")}});
  ASSERT_TRUE(o.refusal);
  EXPECT_NE(o.refusal->text().find("no repair is at this band"), std::string::npos);
  // One of two repairs against one source, or a condition that lets too much stay: not verified.
  const NodeId band = t.s.repairs.at(0).band;
  t.must("lazy_reference", {{"node", band}});
  Schedule half = t.s;
  half.repairs[1].lazy = false;
  EXPECT_FALSE(verify(half).ok);
  auto m = lower::lower(finish({t}, kAttention, {"m", "E", "l", "P"}).schedule);
  EXPECT_TRUE(m) << m.error().text();
  Session h = t;
  h.s = half;
  auto bad = lower::lower(finish(h, kAttention, {"m", "E", "l", "P"}).schedule);
  EXPECT_FALSE(bad);
  Schedule loose = t.s;
  for (Repair& r : loose.repairs) r.may_stay = Expr::constant(1, Type::Bool);
  EXPECT_FALSE(verify(loose).ok);
  Schedule wide = t.s;
  for (Repair& r : wide.repairs)
    r.may_stay = Expr::make(
        Op::Le, {Expr::make(Op::Abs, {Expr::var("m") - Expr::var("m'")}), Expr::constant(50)});
  EXPECT_FALSE(verify(wide).ok);
}

// A reference whose value is stored, and a family of accumulators: neither may be stale.
TEST(LazyReference, NotWhereTheReferenceIsSeen) {
  programs::Builder b(make_context(), "seen", {"N", "M"}, "[N, M] -> { : N >= 0 and M >= 0 }");
  const char* ij = "0 <= i < N and 0 <= j < M";
  b.tensor("X", TensorKind::Input, {"N", "M"}).tensor("Y", TensorKind::Output, {"N"});
  b.tensor("m", TensorKind::Temp, {"N"}).tensor("l", TensorKind::Temp, {"N"});
  b.statement("m", "i,j", ij, "i", {{"X", "i,j"}}, rd(0), over(ReduceOp::Max, {1}));
  b.statement("l", "i,j", ij, "i", {{"X", "i,j"}, {"m", "i"}}, exp(rd(0) - rd(1)),
              over(ReduceOp::Sum, {1}));
  b.statement("Y", "i", "0 <= i < N", "i", {{"l", "i"}}, rd(0));
  Session t = roll(b.done(), 0, 0, 1, 4, 4);
  const Outcome o = t.apply("lazy_reference", {{"node", t.s.repairs.at(0).band}});
  ASSERT_TRUE(o.refusal) << to_text(t.s);
  EXPECT_NE(o.refusal->text().find("depends on the value"), std::string::npos) << o.refusal->text();
}

}  // namespace
}  // namespace nautilus
