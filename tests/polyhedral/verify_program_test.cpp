// The verifier on programs that a transform changed: right ones pass; each planted fault is
// refused, for the reason it has, at small, large and symbolic sizes.
#include "polyhedral/verify_program.h"

#include "polyhedral/transforms/recompute_program.h"
#include "tests/polyhedral/repair_helpers.h"
#include "tests/polyhedral/verify_reason.h"

namespace nautilus::poly {
namespace {

using namespace testing_programs;

Statement& at(Program& p, const std::string& name) {
  for (Statement& s : p.statements)
    if (s.name == name) return s;
  throw std::runtime_error("no statement " + name);
}

// Keeps the instances of a statement that satisfy "[i, j] : ...".
void keep(Program& p, const std::string& name, const std::string& where) {
  Statement& s = at(p, name);
  const std::vector<std::string> dims = dim_names(s.domain);
  s.domain = set_dim_names(
      s.domain.intersect(isl::set(p.context->get(), "{ " + name + where + " }")), dims);
}

// Adds instances "[i, j] : ...".
void add(Program& p, const std::string& name, const std::string& where) {
  Statement& s = at(p, name);
  const std::vector<std::string> dims = dim_names(s.domain);
  const isl::set more(p.context->get(), "{ " + name + where + " }");
  s.domain = set_dim_names(s.domain.unite(more).coalesce(), dims);
}

// Read k of a statement at "[i, j] -> [..]" instead.
void redirect(Program& p, const std::string& name, size_t k, const std::string& map) {
  Access& a = at(p, name).reads.at(k);
  const size_t arrow = map.find("-> ");
  a.map = isl::map(p.context->get(), "{ " + name + map.substr(0, arrow) + "-> " + a.tensor +
                                         map.substr(arrow + 3) + " }");
}

using Fault = std::function<void(Program&)>;

std::optional<verifying::Doubt> doubt(const Program& origin, const Program& now,
                                      const Fault& fault = {}) {
  Program p = now;
  if (fault) fault(p);
  p.original = textual_order(p);
  const Program changed = in_param_order(p);
  std::vector<std::string> checked;
  return verifying::program_doubt(origin, changed, checked);
}

// `why`: the reason (verify_reason.h) of the one check that ought to see it. Undecided only if not
// `decided`.
void expect_refused(const Program& origin, const Program& now, const std::string& why,
                    const Fault& fault, bool decided = true) {
  SCOPED_TRACE(why);
  const auto d = doubt(origin, now, fault);
  ASSERT_TRUE(d) << "a planted fault was not seen";
  EXPECT_EQ(d->undecided, !decided) << d->why;
  EXPECT_EQ(verifying::reason(d->why), why) << d->why;
}

void expect_right(const Program& origin, const Program& now) {
  const auto d = doubt(origin, now);
  EXPECT_FALSE(d) << d->why << "\n" << print_naut(now);
}

Schedule split(const ProgramPtr& p, const std::string& axis, int parts) {
  Session t(p);
  t.must("split_k", {{"node", t.root()}, {"axis", axis}, {"parts", parts}});
  return t.s;
}

// x[i, j] to the maximum of every row.
ProgramPtr row_max(ContextPtr ctx) {
  Builder b(ctx, "rows", {"M", "N"}, "[M, N] -> { : M >= 0 and N >= 0 }");
  b.tensor("x", TensorKind::Input, {"M", "N"}).tensor("y", TensorKind::Output, {"M"});
  b.statement("y", "i,j", "0 <= i < M and 0 <= j < N", "i", {{"x", "i,j"}}, rd(0),
              over(ReduceOp::Max, {1}));
  return b.done();
}

// P = exp(S - m) is read by two sums; m and the row's sum are reductions.
ProgramPtr softmax(ContextPtr ctx, bool triangle = false) {
  Builder b(ctx, "softmax", {"M", "N"}, "[M, N] -> { : M >= 0 and N >= 0 }");
  const std::string ij = std::string("0 <= i < M and 0 <= j < N") + (triangle ? " and j < i" : "");
  b.tensor("S", TensorKind::Input, {"M", "N"}).tensor("V", TensorKind::Input, {"N"});
  b.tensor("m", TensorKind::Temp, {"M"}).tensor("P", TensorKind::Temp, {"M", "N"});
  b.tensor("l", TensorKind::Output, {"M"}).tensor("o", TensorKind::Output, {"M"});
  b.statement("m", "i,j", ij, "i", {{"S", "i,j"}}, rd(0), over(ReduceOp::Max, {1}));
  b.statement("P", "i,j", ij, "i,j", {{"S", "i,j"}, {"m", "i"}}, exp(rd(0) - rd(1)));
  b.statement("l", "i,j", ij, "i", {{"P", "i,j"}}, rd(0), over(ReduceOp::Sum, {1}));
  b.statement("o", "i,j", ij, "i", {{"P", "i,j"}, {"V", "j"}}, rd(0) * rd(1),
              over(ReduceOp::Sum, {1}));
  return b.done();
}

}  // namespace

TEST(VerifyProgram, SplitProduct) {
  for (int64_t k : {16, 4096}) {
    const ProgramPtr p = bound(matmul(make_context()), {{"M", 3}, {"N", 2}, {"K", k}});
    const Program now = *split(p, "k", 4).program;
    const std::string c = std::to_string(k / 4), n = std::to_string(k);
    expect_right(*p, now);
    expect_refused(*p, now, "a part of C is missing: C[..] from A[..]",
                   [](Program& q) { keep(q, "S_C", "[i, j, p] : p != 2"); });
    expect_refused(*p, now, "a part of C is missing: C[..] from A[..]", [&](Program& q) {
      keep(q, "S_C_part", "[p, i, j, k] : k != " + std::to_string(k / 2));
    });
    expect_refused(*p, now, "parts of C overlap: S_C_part takes terms twice", [&](Program& q) {
      add(q, "S_C_part",
          "[p, i, j, k] : 0 <= p < 4 and 0 <= i < 3 and 0 <= j < 2 and " + c + "p <= k <= " + c +
              "p + " + c + " and k < " + n);
    });
    expect_refused(*p, now, "a part of C is missing: C[..] from B[..]", [&](Program& q) {
      redirect(q, "S_C_part", 0, "[p, i, j, k] -> [i, (k + 1) mod " + n + "]");
      redirect(q, "S_C_part", 1, "[p, i, j, k] -> [k, 0]");
    });
    // The same elements in the wrong pairs.
    expect_refused(*p, now, "the parts of C by S_C_part do not cover S_C", [&](Program& q) {
      redirect(q, "S_C_part", 0, "[p, i, j, k] -> [i, (k + 1) mod " + n + "]");
    });
    expect_refused(*p, now, "C[..] is # on sampled data, and was #",
                   [](Program& q) { at(q, "S_C_part").expr = rd(0) + rd(1); });
    expect_refused(*p, now, "C[..] is # on sampled data, and was #",
                   [](Program& q) { at(q, "S_C").reduction->op = ReduceOp::Max; });
    expect_refused(*p, now, "C[..] is # on sampled data, and was #", [](Program& q) {
      at(q, "S_C").expr = at(q, "S_C").expr * Expr::constant(1.0009765625);
    });
  }
}

// Folding twice or leaving out changes no maximum on most data: the exact comparisons see it.
TEST(VerifyProgram, SplitMaximum) {
  const ProgramPtr p = bound(row_max(make_context()), {{"M", 5}, {"N", 1000}});
  const Program now = *split(p, "j", 10).program;
  expect_right(*p, now);
  expect_refused(*p, now, "a part of y is missing: y[..] from x[..]",
                 [](Program& q) { keep(q, "S_y_part", "[p, i, j] : j != 777"); });
  expect_refused(*p, now, "a part of y is missing: y[..] from x[..]",
                 [](Program& q) { keep(q, "S_y", "[i, p] : p < 9"); });
  expect_refused(*p, now, "parts of y overlap: S_y_part takes terms twice", [](Program& q) {
    add(q, "S_y_part", "[p, i, j] : p = 3 and 0 <= i < 5 and j = 400");
  });
}

TEST(VerifyProgram, SplitSoftmax) {
  for (const bool triangle : {false, true})
    for (const int64_t n : {7, 600}) {
      const ProgramPtr p = bound(softmax(make_context(), triangle), {{"M", n}, {"N", n}});
      const Program now = *split(p, "j", 3).program;
      expect_right(*p, now);
      // h(T_p, r_p, r) with r_p and r exchanged, without its guard, and not at all.
      expect_refused(*p, now, "l[..] is # on sampled data, and was #",
                     [](Program& q) { std::swap(at(q, "S_l").reads[1], at(q, "S_l").reads[2]); });
      if (triangle)
        expect_refused(*p, now, "l[..] is # on sampled data, and was #", [](Program& q) {
          Statement& s = at(q, "S_l");
          s.expr = rd(0) * exp(rd(1) - rd(2));
        });
      expect_refused(*p, now, "l[..] is # on sampled data, and was #",
                     [](Program& q) { at(q, "S_l").expr = rd(0); });
      expect_refused(*p, now, "a part of o is missing: o[..] from V[..]",
                     [](Program& q) { keep(q, "S_o", "[i, p] : p != 1"); });
    }
}

TEST(VerifyProgram, Families) {
  Builder b(make_context(), "moments", {"M", "N"}, "[M, N] -> { : M >= 0 and N >= 0 }");
  sums(b);
  b.tensor("y", TensorKind::Output, {"M"});
  b.statement("y", "i", "0 <= i < M", "i", {{"v", "i"}, {"mean", "i"}}, rd(0) + rd(1));
  const ProgramPtr symbolic = b.done();
  const ProgramPtr p = bound(symbolic, {{"M", 4}, {"N", 90}});
  expect_right(*p, *split(p, "j", 4).program);
  // Rolling: auxiliary accumulators and a running count stand in for the size.
  Session t(symbolic);
  t.must("rolling_update", {{"node", t.root()}, {"first", 0}, {"last", 2}, {"depth", 2}});
  ASSERT_NE(t.s.program, t.s.origin);
  expect_right(*symbolic, *t.s.program);
  std::string count;
  for (const Statement& s : t.s.program->statements)
    if (s.reduction && s.expr->op == Op::Const && s.expr->value == 1) count = s.name;
  ASSERT_FALSE(count.empty()) << print_naut(*t.s.program);
  expect_refused(*symbolic, *t.s.program, "S_v[..] computes # on sampled data, and computed #",
                 [&](Program& q) { at(q, count).expr = Expr::constant(2); });
  expect_refused(*symbolic, *t.s.program, "S_v[..] computes # on sampled data, and computed #",
                 [&](Program& q) { keep(q, count, "[i, j] : j > 0"); });
}

TEST(VerifyProgram, Recompute) {
  for (const bool large : {false, true}) {
    ProgramPtr p = softmax(make_context(), true);
    if (large) p = bound(p, {{"M", 700}, {"N", 700}});
    const auto inlined = recompute_in(*p, "S_P", "S_l");
    ASSERT_TRUE(inlined) << inlined.error().text();
    expect_right(*p, inlined->program);
    expect_refused(*p, inlined->program, "S_l[..] computes # on sampled data, and computed #",
                   [](Program& q) { at(q, "S_l").expr = at(q, "S_l").expr * Expr::constant(2); });
    expect_refused(*p, inlined->program, "a part of l is missing: l[..] from S[..]",
                   [](Program& q) { keep(q, "S_l", "[i, j] : j > 0"); });
    expect_refused(*p, inlined->program, "S_l[..] computes # on sampled data, and computed #",
                   [](Program& q) {
                     for (size_t k = 0; k < at(q, "S_l").reads.size(); ++k)
                       if (at(q, "S_l").reads[k].tensor == "S")
                         redirect(q, "S_l", k, "[i, j] -> [i, 0]");
                   });
    const auto copied = recompute_in(*p, "S_m", "S_P");
    ASSERT_TRUE(copied && !copied->copy.empty());
    const std::string copy = copied->copy;
    expect_right(*p, copied->program);
    expect_refused(*p, copied->program, "a part of P is missing: S_P[..] from S[..]",
                   [&](Program& q) { keep(q, copy, "[i, j, x] : j > 0 or x = 0"); });
    expect_refused(*p, copied->program, "S_P[..] computes # on sampled data, and computed #",
                   [&](Program& q) { at(q, copy).reduction->op = ReduceOp::Min; });
  }
}

// Outputs that become private: the copy must copy, and copy everything.
TEST(VerifyProgram, PrivateAccumulators) {
  Session t(softmax(make_context()));
  t.must("rolling_update", {{"node", t.root()}, {"first", 0}, {"last", 3}, {"depth", 2}});
  ASSERT_NE(t.s.program, t.s.origin);
  const Program& now = *t.s.program;
  expect_right(*t.s.origin, now);
  expect_refused(*t.s.origin, now, "a part of l is missing: l[..] from S[..]",
                 [](Program& q) { redirect(q, "S_l", 0, "[i] -> [0]"); });
  expect_refused(*t.s.origin, now,
                 "the program is not valid any more: check program softmax: l: output l is not "
                 "defined at l[..]",
                 [](Program& q) { keep(q, "S_l", "[i] : i > 0"); });
  expect_refused(*t.s.origin, now, "l[..] is # on sampled data, and was #",
                 [](Program& q) { at(q, "S_l").expr = at(q, "S_l").expr + Expr::constant(1); });
  // The same through the verifier: the tree is right, the program is not.
  Schedule wrong = t.s;
  Program q = now;
  at(q, "S_l").expr = at(q, "S_l").expr + Expr::constant(1);
  wrong.program = std::make_shared<const Program>(q);
  const Verification v = verify(wrong);
  EXPECT_FALSE(v.ok);
  EXPECT_EQ(v.verdict.kind, VerdictKind::Illegal);
  EXPECT_EQ(verifying::reason(v.verdict.why), "l[..] is # on sampled data, and was #")
      << v.verdict.why;
  EXPECT_TRUE(verify(t.s).ok) << verify(t.s).verdict.why;
  wrong.origin = nullptr;
  const Verification unknown = verify(wrong);
  EXPECT_FALSE(unknown.ok);
  EXPECT_EQ(unknown.verdict.why, "the schedule does not say which program it is to compute");
}

TEST(VerifyProgram, InterfaceAndOverwrites) {
  const ProgramPtr p = softmax(make_context());
  Program other = *p;
  other.tensors.back().kind = TensorKind::Temp;
  expect_refused(*p, other, "o is not the input or output that it was", {});
  other = *p;
  std::swap(other.statements[0], other.statements[1]);
  expect_refused(*p, other,
                 "the program is not valid any more: check program softmax: S_P: read $1 of m "
                 "comes before the reduction S_m is complete, first at S_P[..]",
                 {});
  // In-place sweeps: the order of overwriting is part of the meaning.
  Builder b(make_context(), "sweep", {"N"}, "[N] -> { : N >= 3 }");
  b.tensor("x", TensorKind::Input, {"N"})
      .tensor("a", TensorKind::Temp, {"N"})
      .tensor("y", TensorKind::Output, {"N"});
  b.statement("a", "i", "0 <= i < N", "i", {{"x", "i"}}, rd(0));
  ProgramPtr once = b.done();
  Program sweep = *once;
  Statement s = sweep.statements[0];
  s.name = "S_half";
  s.domain = isl::set(sweep.context->get(), "[N] -> { S_half[t, i] : 0 <= t < 3 and 0 < i < N }");
  s.write.map = isl::map(sweep.context->get(), "{ S_half[t, i] -> a[i] }");
  s.reads = {{"a", isl::map(sweep.context->get(), "{ S_half[t, i] -> a[i - 1] }"), {}},
             {"x", isl::map(sweep.context->get(), "{ S_half[t, i] -> x[i] }"), {}}};
  s.expr = rd(0) * Expr::constant(0.5) + rd(1);
  sweep.statements.push_back(s);
  Statement y = once->statements[0];
  y.name = "S_y";
  y.domain = isl::set(sweep.context->get(), "[N] -> { S_y[i] : 0 <= i < N }");
  y.write = {"y", isl::map(sweep.context->get(), "{ S_y[i] -> y[i] }"), {}};
  y.reads = {{"a", isl::map(sweep.context->get(), "{ S_y[i] -> a[i] }"), {}}};
  sweep.statements.push_back(y);
  sweep.original = textual_order(sweep);
  const Program origin = in_param_order(sweep);
  ASSERT_FALSE(validate(origin)) << validate(origin)->text();
  expect_right(origin, origin);
  Program half = origin;
  at(half, "S_half").expr = rd(0) * Expr::constant(0.25) + rd(1);
  expect_refused(origin, half, "S_half[..] computes # on sampled data, and computed #", {},
                 false);     // a depends on itself
  Program inlined = origin;  // the same value in other words
  at(inlined, "S_half").expr = rd(1) + Expr::constant(0.5) * rd(0);
  expect_right(origin, inlined);
  std::vector<std::string> checked;
  Program backwards = inlined;
  backwards.original = isl::schedule(
      origin.context->get(),
      "{ domain: \"[N] -> { S_a[i] : 0 <= i < N; S_half[t, i] : 0 <= t < 3 and 0 < i < N; S_y[i] : "
      "0 <= i < N }\", child: { sequence: [ { filter: \"{ S_a[i] }\" }, { filter: \"{ S_half[t, i] "
      "}\", child: { schedule: \"[{ S_half[t, i] -> [(t)] }, { S_half[t, i] -> [(-i)] }]\" } }, { "
      "filter: \"{ S_y[i] }\" } ] } }");
  const auto d = verifying::program_doubt(origin, in_param_order(backwards), checked);
  ASSERT_TRUE(d);
  EXPECT_FALSE(d->undecided);
  EXPECT_EQ(
      verifying::reason(d->why),
      "overwritten elements of a are reached by S_half and S_half in another order than before")
      << d->why;
}

// Sizes that leave a program empty tell nothing: others are sampled, too.
TEST(VerifyProgram, SizesAtWhichThereIsSomething) {
  for (const char* facts : {"[N] -> { : N >= 8 }", "[N] -> { : N >= 8 and N mod 8 = 0 }"}) {
    Builder b(make_context(), "few", {"N"}, facts);
    b.tensor("x", TensorKind::Input, {"N - 8"})
        .tensor("t", TensorKind::Temp, {"N - 8"})
        .tensor("y", TensorKind::Output, {"N - 8"});
    b.statement("t", "i", "0 <= i < N - 8", "i", {{"x", "i"}}, rd(0) * Expr::constant(2));
    b.statement("y", "i", "0 <= i < N - 8", "i", {{"t", "i"}}, rd(0) + Expr::constant(1));
    const ProgramPtr p = b.done();
    const auto inlined = recompute_in(*p, "S_t", "S_y");
    ASSERT_TRUE(inlined) << inlined.error().text();
    expect_right(*p, inlined->program);
    expect_refused(*p, inlined->program, "S_y[..] computes # on sampled data, and computed #",
                   [](Program& q) { at(q, "S_y").expr = rd(0) + Expr::constant(1); });
  }
}

// NaN is equal to NaN, which tells nothing of two programs.
TEST(VerifyProgram, ValuesThatAreNoNumbers) {
  Builder b(make_context(), "nan", {"N"}, "[N] -> { : N >= 0 }");
  b.tensor("x", TensorKind::Input, {"N"})
      .tensor("t", TensorKind::Temp, {"N"})
      .tensor("y", TensorKind::Output, {"N"});
  b.statement("t", "i", "0 <= i < N", "i", {{"x", "i"}}, rd(0) - Expr::constant(1000));
  b.statement("y", "i", "0 <= i < N", "i", {{"t", "i"}}, Expr::make(Op::Sqrt, {rd(0)}));
  const ProgramPtr p = b.done();
  const auto inlined = recompute_in(*p, "S_t", "S_y");
  ASSERT_TRUE(inlined) << inlined.error().text();
  const auto d = doubt(*p, inlined->program, [](Program& q) {
    at(q, "S_y").expr = Expr::make(Op::Sqrt, {rd(0) - Expr::constant(2000)});
  });
  ASSERT_TRUE(d) << "nothing was compared";
  EXPECT_TRUE(d->undecided);
  EXPECT_EQ(d->why, "no sample of the values of y gave a number");
}

}  // namespace nautilus::poly
