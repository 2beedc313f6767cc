// A fused attention loop as a schedule with rolling updates lowers to it: normalized probabilities
// inside the loop, corrections on every carried value. Nothing here is known to the rewriter.
#include <ctime>
#include <limits>

#include "compiler/tile/rewrite.h"
#include "helpers.h"

namespace nautilus::tile {
namespace {

struct Shape {
  int64_t n = 12, keys = 16, d = 4, bi = 4, bj = 4;
  bool causal = false, partial = false, two_loops = false, branch = false;
};

std::string num(int64_t v) { return std::to_string(v); }

// One iteration: from m, l, o (values %m, %l, %o) to %m2, %l2, %o2, all numbered from `v`.
std::string body(const Shape& s, int64_t v, int64_t m, int64_t l, int64_t o, bool masked,
                 const std::string& j0, int64_t* out) {
  const std::string I = "[i: " + num(s.bi) + "]",
                    IJ = "[i: " + num(s.bi) + ", j: " + num(s.bj) + "]";
  const std::string ID = "[d: " + num(s.d) + ", i: " + num(s.bi) + "]",
                    JD = "[d: " + num(s.d) + ", j: " + num(s.bj) + "]";
  const std::string row = num(s.bi) + "*i0 + i", col = num(s.bj) + "*" + j0 + " + j";
  const std::string inside = s.causal ? col + " <= " + row : col + " <= " + num(s.keys - 1);
  const std::string kmask = masked ? " where (" + col + " <= " + num(s.keys - 1) + ")" : "";
  const std::string qmask = s.n % s.bi ? " where (" + row + " <= " + num(s.n - 1) + ")" : "";
  std::string t;
  auto emit = [&](const std::string& type, const std::string& text, const std::string& origin) {
    t += "%" + num(v) + ": " + type + " = " + text + " @" + origin + "\n";
    return v++;
  };
  auto r = [](int64_t x) { return "%" + num(x); };
  auto q = emit("f16" + ID, "load Q[" + row + ", d]" + qmask, "S_S_sum"),
       k = emit("f16" + JD, "load K[" + col + ", d]" + kmask, "S_S_sum");
  auto qk = emit("f32[d: " + num(s.d) + ", i: " + num(s.bi) + ", j: " + num(s.bj) + "]",
                 "mul " + r(q) + ", " + r(k), "S_S_sum");
  auto dot = emit("f32" + IJ, "reduce sum " + r(qk) + " over (d)", "S_S_sum");
  auto dim = emit("f32", "const " + num(s.d), "S_S"), root = emit("f32", "sqrt " + r(dim), "S_S");
  auto sc = emit("f32" + IJ, "div " + r(dot) + ", " + r(root), "S_S");
  auto ninf = emit("f32", "const -inf", "S_M"), zero = emit("f32", "const 0", "S_L"),
       one = emit("f32", "const 1", "S_L");
  auto sm =
      masked ? emit("f32" + IJ, "mask " + r(sc) + ", " + r(ninf) + " where (" + inside + ")", "S_M")
             : sc;
  auto mt = emit("f32" + I, "reduce max " + r(sm) + " over (j)", "S_M"),
       m2 = emit("f32" + I, "max " + r(m) + ", " + r(mt), "S_M");
  auto e1 = emit("f32" + IJ, "sub " + r(sc) + ", " + r(m2), "S_E"),
       e = emit("f32" + IJ, "exp " + r(e1), "S_E");
  auto same = emit("bool" + I, "eq " + r(m) + ", " + r(m2), "S_L"),
       dm = emit("f32" + I, "sub " + r(m) + ", " + r(m2), "S_L");
  auto ex = emit("f32" + I, "exp " + r(dm), "S_L"),
       corr = emit("f32" + I, "select " + r(same) + ", " + r(one) + ", " + r(ex), "S_L");
  auto em =
      masked ? emit("f32" + IJ, "mask " + r(e) + ", " + r(zero) + " where (" + inside + ")", "S_L")
             : e;
  auto lt = emit("f32" + I, "reduce sum " + r(em) + " over (j)", "S_L"),
       lc = emit("f32" + I, "mul " + r(l) + ", " + r(corr), "S_L");
  auto l2 = emit("f32" + I, "add " + r(lc) + ", " + r(lt), "S_L");
  auto p = emit("f32" + IJ, "div " + r(e) + ", " + r(l2), "S_P"),
       vv = emit("f16" + JD, "load V[" + col + ", d]" + kmask, "S_O_acc");
  auto pv = emit("f32[d: " + num(s.d) + ", i: " + num(s.bi) + ", j: " + num(s.bj) + "]",
                 "mul " + r(p) + ", " + r(vv), "S_O_acc");
  auto pvm = masked ? emit("f32[d: " + num(s.d) + ", i: " + num(s.bi) + ", j: " + num(s.bj) + "]",
                           "mask " + r(pv) + ", " + r(zero) + " where (" + inside + ")", "S_O_acc")
                    : pv;
  auto ot = emit("f32" + ID, "reduce sum " + r(pvm) + " over (j)", "S_O_acc");
  auto lsame = emit("bool" + I, "eq " + r(l) + ", " + r(l2), "S_O_acc"),
       lq = emit("f32" + I, "div " + r(l) + ", " + r(l2), "S_O_acc");
  auto lcorr = emit("f32" + I, "select " + r(lsame) + ", " + r(one) + ", " + r(lq), "S_O_acc");
  auto both = emit("f32" + I, "mul " + r(corr) + ", " + r(lcorr), "S_O_acc"),
       oc = emit("f32" + ID, "mul " + r(o) + ", " + r(both), "S_O_acc");
  auto o2 = emit("f32" + ID, "add " + r(oc) + ", " + r(ot), "S_O_acc");
  out[0] = m2;
  out[1] = l2;
  out[2] = o2;
  out[3] = v;
  return t;
}

std::string attention(const Shape& s) {
  const std::string I = "f32[i: " + num(s.bi) + "]",
                    ID = "f32[d: " + num(s.d) + ", i: " + num(s.bi) + "]";
  const int64_t blocks = (s.n + s.bi - 1) / s.bi, steps = (s.keys + s.bj - 1) / s.bj;
  std::string t = "module attention {\n  tensor Q: f16[" + num(s.n) + ", " + num(s.d) +
                  "] input global\n  tensor K: f16[" + num(s.keys) + ", " + num(s.d) +
                  "] input global\n  tensor V: f16[" + num(s.keys) + ", " + num(s.d) +
                  "] input global\n  tensor O: f16[" + num(s.n) + ", " + num(s.d) +
                  "] output global\n  kernel k {\n    grid i0 < " + num(blocks) +
                  "\n    values 9999\n";
  t += "%0: f32 = const -inf\n%1: f32 = const 0\n";
  int64_t v = 10, m = 0, l = 1, o = 1;
  auto loop = [&](const std::string& lower, const std::string& upper, const std::string& iv,
                  bool masked) {
    const int64_t a = v, r = v + 3;
    int64_t out[4];
    const std::string inner = body(s, v + 10, a, a + 1, a + 2, masked, iv, out);
    t += "%" + num(r) + ": " + I + ", %" + num(r + 1) + ": " + I + ", %" + num(r + 2) + ": " + ID +
         " = for " + iv + " in [" + lower + ", " + upper + ") step 1 carry (%" + num(a) + ": " + I +
         " = %" + num(m) + ", %" + num(a + 1) + ": " + I + " = %" + num(l) + ", %" + num(a + 2) +
         ": " + ID + " = %" + num(o) + ") {\n" + inner + "yield %" + num(out[0]) + ", %" +
         num(out[1]) + ", %" + num(out[2]) + "\n}\n";
    m = r, l = r + 1, o = r + 2, v = out[3] + 1;
  };
  const bool masked = s.causal || s.keys % s.bj != 0;
  if (s.branch) {
    int64_t a = v, r = v + 3, x[4], y[4];
    const int64_t res = v + 6;
    const std::string full = body(s, v + 10, a, a + 1, a + 2, false, "j0", x),
                      part = body(s, x[3], a, a + 1, a + 2, true, "j0", y);
    const std::string types = "%" + num(res) + ": " + I + ", %" + num(res + 1) + ": " + I + ", %" +
                              num(res + 2) + ": " + ID;
    t += "%" + num(r) + ": " + I + ", %" + num(r + 1) + ": " + I + ", %" + num(r + 2) + ": " + ID +
         " = for j0 in [0, " + num(steps) + ") step 1 carry (%" + num(a) + ": " + I + " = %0, %" +
         num(a + 1) + ": " + I + " = %1, %" + num(a + 2) + ": " + ID + " = %1) {\n" + types +
         " = if (" +
         (s.causal ? num(s.bj) + "*j0 + " + num(s.bj - 1) + " <= " + num(s.bi) + "*i0"
                   : num(s.bj) + "*j0 + " + num(s.bj - 1) + " <= " + num(s.keys - 1)) +
         ") {\n" + full + "yield %" + num(x[0]) + ", %" + num(x[1]) + ", %" + num(x[2]) +
         "\n} else {\n" + part + "yield %" + num(y[0]) + ", %" + num(y[1]) + ", %" + num(y[2]) +
         "\n}\nyield %" + num(res) + ", %" + num(res + 1) + ", %" + num(res + 2) + "\n}\n";
    m = r, l = r + 1, o = r + 2, v = y[3] + 1;
  } else if (s.two_loops) {
    const std::string split = s.causal ? "min(floor((" + num(s.bi) + "*i0 + 1)/" + num(s.bj) +
                                             "), " + num(s.keys / s.bj) + ")"
                                       : num(s.keys / s.bj);
    loop("0", split, "j0", false);
    loop(split, num(steps), "j9", true);
  } else {
    loop("0", num(steps), "j0", masked);
  }
  t += "%" + num(v) + ": f16[d: " + num(s.d) + ", i: " + num(s.bi) + "] = cast %" + num(o) +
       " @S_O\nstore O[" + num(s.bi) + "*i0 + i, d] = %" + num(v) +
       (s.n % s.bi ? " where (" + num(s.bi) + "*i0 + i <= " + num(s.n - 1) + ")" : "") +
       " @S_O\n  }\n}\n";
  return t;
}

// softmax(Q K^T / sqrt(d)) V in double precision; a row without keys is 0.
std::vector<double> reference(const Shape& s, const poly::Buffers& in) {
  std::vector<double> o(size_t(s.n * s.d), 0);
  const auto &q = in.at("Q"), &k = in.at("K"), &v = in.at("V");
  for (int64_t i = 0; i < s.n; ++i) {
    std::vector<double> w;
    double sum = 0, top = -std::numeric_limits<double>::infinity();
    for (int64_t j = 0; j < s.keys && (!s.causal || j <= i); ++j) {
      double x = 0;
      for (int64_t d = 0; d < s.d; ++d) x += q[size_t(i * s.d + d)] * k[size_t(j * s.d + d)];
      w.push_back(x / std::sqrt(double(s.d)));
      top = std::max(top, w.back());
    }
    for (double& x : w) sum += x = std::exp(x - top);
    for (size_t j = 0; j < w.size(); ++j)
      for (int64_t d = 0; d < s.d; ++d)
        o[size_t(i * s.d + d)] += w[j] / sum * v[j * size_t(s.d) + size_t(d)];
  }
  return o;
}

bool in_a_loop(const Region& r, Op op, bool inside = false) {
  for (const Instr& i : r.body) {
    if (inside && i.code == Code::Map && i.op == op) return true;
    for (const Region& n : i.regions)
      if (in_a_loop(n, op, inside || i.code == Code::For)) return true;
  }
  return false;
}

int count(const Region& r, Code c, Op op = Op::Const) {
  int n = 0;
  for (const Instr& i : r.body) {
    n += i.code == c && (c != Code::Map || i.op == op);
    for (const Region& x : i.regions) n += count(x, c, op);
  }
  return n;
}

void check(const Shape& s) {
  Module m = module_of(attention(s));
  ASSERT_FALSE(m.kernels.empty());
  for (Numerics numerics : {Numerics::Strict, Numerics::Reassociate, Numerics::Fast}) {
    RewriteOptions o;
    o.numerics = numerics;
    RewriteReport report;
    Module w = rewrite(m, o, &report);
    SCOPED_TRACE(print(w));
    EXPECT_LT(report.cost_after, report.cost_before);
    EXPECT_EQ(report.stop_reason, "saturated");
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      poly::Buffers in = random_inputs(m, seed);
      if (seed == 3)
        for (double& x : in["K"]) x *= 30;  // sharp rows
      if (numerics == Numerics::Strict) {
        expect_close(outputs(m, in), outputs(w, in), 0, "strict");
      } else {
        expect_close(outputs(m, in, false), outputs(w, in, false), 1e-12, "exact arithmetic");
        expect_close(outputs(m, in), outputs(w, in), 4e-3, "rounded");
      }
      expect_close({{"O", reference(s, in)}}, outputs(w, in, false),
                   numerics == Numerics::Strict ? 1e-6 : 1e-9, "reference");
    }
    if (numerics == Numerics::Strict) continue;
    const Region& body = w.kernels[0].body;
    EXPECT_FALSE(in_a_loop(body, Op::Div)) << "division is deferred out of the loop";
    EXPECT_FALSE(in_a_loop(body, Op::Recip));
    if (s.keys <= s.bj)
      continue;  // a loop of one iteration: nothing to gain for what has few lanes
    EXPECT_EQ(count(body, Code::Map, Op::Exp), 0);
    // Of a causal mask, which V has no axis of, a dot is only right for finite values.
    EXPECT_GT(count(body, Code::Dot), s.causal && numerics != Numerics::Fast ? 0 : 1);
    // The query tile is loaded before the loop.
    int loads = 0;
    for (const Instr& i : body.body) loads += i.code == Code::Load && i.tensor == "Q";
    EXPECT_EQ(loads, 1);
  }
}

TEST(RewriteAttention, FullTiles) { check({}); }
TEST(RewriteAttention, PartialTiles) { check({.n = 11, .keys = 13, .d = 3}); }
TEST(RewriteAttention, Causal) { check({.n = 16, .keys = 16, .causal = true}); }
TEST(RewriteAttention, FullThenPartialLoops) { check({.n = 16, .keys = 18, .two_loops = true}); }
TEST(RewriteAttention, CausalFullThenPartialLoops) {
  check({.n = 16, .keys = 16, .causal = true, .two_loops = true});
}
TEST(RewriteAttention, BranchInTheLoop) { check({.n = 12, .keys = 14, .branch = true}); }
TEST(RewriteAttention, CausalBranchInTheLoop) {
  check({.n = 16, .keys = 16, .causal = true, .branch = true});
}
TEST(RewriteAttention, OneRowOneKey) { check({.n = 1, .keys = 1, .d = 1, .bi = 4, .bj = 4}); }
TEST(RewriteAttention, NoKeys) {
  Shape s{.n = 5, .keys = 0};
  Module m = module_of(attention(s));
  Module w = rewrite(m, {});
  poly::Buffers in = random_inputs(m, 1);
  for (bool round : {false, true})
    expect_close(outputs(m, in, round), outputs(w, in, round), 0, "empty rows are zero");
}

TEST(RewriteAttention, IsFastAndDeterministic) {
  Module m = module_of(attention({.n = 4096, .keys = 4096, .d = 64, .bi = 64, .bj = 64}));
  RewriteReport report;
  const std::string first = print(rewrite(m, {}, &report));
  double best = 1e9;
  for (int n = 0; n < 5; ++n) {
    const std::clock_t start = std::clock();  // processor time: other tests may run beside
    ASSERT_EQ(print(rewrite(m, {})), first);
    best = std::min(best, double(std::clock() - start) / CLOCKS_PER_SEC);
  }
  std::printf("%.2f ms, cost %.3g -> %.3g, %s\n", best * 1e3, report.cost_before, report.cost_after,
              report.stop_reason.c_str());
  EXPECT_LT(best, 0.05);
}

}  // namespace
}  // namespace nautilus::tile
