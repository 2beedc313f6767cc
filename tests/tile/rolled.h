// Programs whose reductions are fused by rolling updates, tiled, lowered and rewritten in every
// way, against their own straightforward evaluation.
#pragma once

#include "compiler/tile/rewrite.h"
#include "tests/polyhedral/transform_helpers.h"
#include "tests/tile/lower_check.h"

namespace nautilus::testing_rolled {

using namespace testing_lower;
using nlohmann::json;
using programs::over;
using programs::rd;
using programs::Session;

// Weights normalized before the product: the loop divides, and corrects by two running values.
// Rows i of N over columns j of M where `mask` holds.
inline ProgramPtr normalized_attention(const std::string& mask = "") {
  const std::string hij =
      "0 <= h < H and 0 <= i < N and 0 <= j < M" + (mask.empty() ? std::string() : " and " + mask);
  const std::string hid = "0 <= h < H and 0 <= i < N and 0 <= d < D";
  programs::Builder b(make_context(), "attention", {"H", "N", "M", "D"},
                      "[H, N, M, D] -> { : H >= 0 and N >= 0 and M >= 0 and D >= 0 }");
  b.tensor("Q", TensorKind::Input, {"H", "N", "D"});
  for (const char* t : {"K", "V"}) b.tensor(t, TensorKind::Input, {"H", "M", "D"});
  for (const char* t : {"S_sum", "S", "E", "P"}) b.tensor(t, TensorKind::Temp, {"H", "N", "M"});
  b.tensor("m", TensorKind::Temp, {"H", "N"}).tensor("l", TensorKind::Temp, {"H", "N"});
  b.tensor("Oa", TensorKind::Temp, {"H", "N", "D"})
      .tensor("O", TensorKind::Output, {"H", "N", "D"});
  b.statement("S_sum", "h,i,j,d", hij + " and 0 <= d < D", "h,i,j",
              {{"Q", "h,i,d"}, {"K", "h,j,d"}}, rd(0) * rd(1), over(ReduceOp::Sum, {3}));
  b.statement("S", "h,i,j", hij, "h,i,j", {{"S_sum", "h,i,j"}}, rd(0) * Expr::constant(0.3));
  b.statement("m", "h,i,j", hij, "h,i", {{"S", "h,i,j"}}, rd(0), over(ReduceOp::Max, {2}));
  b.statement("E", "h,i,j", hij, "h,i,j", {{"S", "h,i,j"}, {"m", "h,i"}}, exp(rd(0) - rd(1)));
  b.statement("l", "h,i,j", hij, "h,i", {{"E", "h,i,j"}}, rd(0), over(ReduceOp::Sum, {2}));
  b.statement("P", "h,i,j", hij, "h,i,j", {{"E", "h,i,j"}, {"l", "h,i"}}, rd(0) / rd(1));
  b.statement("Oa", "h,i,j,d", hij + " and 0 <= d < D", "h,i,d", {{"P", "h,i,j"}, {"V", "h,j,d"}},
              rd(0) * rd(1), over(ReduceOp::Sum, {2}));
  b.statement("O", "h,i,d", hid, "h,i,d", {{"Oa", "h,i,d"}}, rd(0) * Expr::constant(2));
  return b.done();
}

// log(sum(exp(x - m))) + m of each row.
inline ProgramPtr logsumexp(const std::string& mask = "") {
  programs::Builder b(make_context(), "logsumexp", {"N", "M"}, "[N, M] -> { : N >= 0 and M >= 0 }");
  const std::string ij =
      "0 <= i < N and 0 <= j < M" + (mask.empty() ? std::string() : " and " + mask);
  b.tensor("X", TensorKind::Input, {"N", "M"}).tensor("Y", TensorKind::Output, {"N"});
  b.tensor("m", TensorKind::Temp, {"N"})
      .tensor("E", TensorKind::Temp, {"N", "M"})
      .tensor("l", TensorKind::Temp, {"N"});
  b.statement("m", "i,j", ij, "i", {{"X", "i,j"}}, rd(0), over(ReduceOp::Max, {1}));
  b.statement("E", "i,j", ij, "i,j", {{"X", "i,j"}, {"m", "i"}}, exp(rd(0) - rd(1)));
  b.statement("l", "i,j", ij, "i", {{"E", "i,j"}}, rd(0), over(ReduceOp::Sum, {1}));
  b.statement("Y", "i", "0 <= i < N", "i", {{"l", "i"}, {"m", "i"}},
              Expr::make(Op::Log, {rd(0)}) + rd(1));
  return b.done();
}

struct Rolled {
  ProgramPtr original;  // at its sizes
  Schedule schedule;
};

inline ProgramPtr at_sizes(const ProgramPtr& p, const Sizes& sizes) { return fixed(p, sizes); }

// Statements first..last of the program in one loop nest over tiles of rows and columns, by rolling
// updates; `outer` leading dims are loops of their own.
inline Session roll(const ProgramPtr& p, size_t outer, size_t first, size_t last, int64_t rows,
                    int64_t columns) {
  Session t(p);
  for (size_t k = first; k <= last; ++k) {
    const std::string s = p->statements[k].name;
    json sizes = json::array();
    for (size_t d = 0; d < outer; ++d) sizes.push_back(-1);
    sizes.push_back(rows);
    sizes.push_back(columns);
    while (sizes.size() < p->statements[k].n_dims()) sizes.push_back(0);
    t.must("tile", {{"node", t.band(s)}, {"sizes", sizes}});
  }
  t.must("rolling_update",
         {{"node", t.root()}, {"first", first}, {"last", last}, {"depth", outer + 2}});
  for (size_t k = first; k <= last; ++k)
    t.must("map", {{"node", t.band(p->statements[k].name)}, {"member", "*"}, {"mapping", "tile"}});
  return t;
}

// A session's schedule at sizes, with temporaries in registers.
inline Rolled finish(const Session& t, const Sizes& sizes,
                     const std::vector<std::string>& registers) {
  Rolled out{fixed(t.program, sizes), t.s};
  out.schedule.program = fixed(t.s.program, sizes);
  out.schedule.origin = fixed(t.s.origin, sizes);
  for (const std::string& r : registers) out.schedule.scopes[r] = Scope::Register;
  return out;
}

inline Rolled rolled_attention(const std::string& mask, const Sizes& sizes, int64_t rows,
                               int64_t columns) {
  return finish(roll(normalized_attention(mask), 1, 2, 6, rows, columns), sizes,
                {"m", "E", "l", "P"});
}
inline Rolled rolled_logsumexp(const std::string& mask, const Sizes& sizes, int64_t rows,
                               int64_t columns) {
  return finish(roll(logsumexp(mask), 0, 0, 2, rows, columns), sizes, {"E"});
}

inline bool agree(double want, double have, double tolerance) {
  return want == have || (std::isnan(want) && std::isnan(have)) ||
         std::abs(want - have) <= tolerance * (1 + std::abs(want));
}

// As lowered, and as rewritten with and without reassociation, against the program.
inline void expect_as_defined(const Rolled& r, const Buffers& in, double tolerance,
                              const std::string& what = "") {
  auto m = lowered(r.schedule);
  ASSERT_TRUE(m) << what << to_text(r.schedule);
  auto want = interpret(*r.original, sizes_of(*r.original), in);
  ASSERT_TRUE(want) << want.error().text();
  tile::RewriteOptions strict;
  strict.numerics = tile::Numerics::Strict;
  const std::vector<std::pair<const char*, tile::Module>> all{{"as lowered", *m},
                                                              {"strict", tile::rewrite(*m, strict)},
                                                              {"rewritten", tile::rewrite(*m, {})}};
  for (const auto& [how, x] : all) {
    auto got = tile::interpret(x, {}, in);
    ASSERT_TRUE(got) << what << " " << how << ": " << got.error().text() << tile::print(x);
    for (const auto& [name, values] : *want)
      for (size_t k = 0; k < values.size(); ++k)
        ASSERT_TRUE(agree(values[k], got->at(name)[k], tolerance))
            << what << " " << how << ": " << name << "[" << k << "] expected " << values[k]
            << ", got " << got->at(name)[k] << "\n"
            << tile::print(x);
  }
}

}  // namespace nautilus::testing_rolled
