// Recomputation keeps what a program computes: checked by the interpreter on small sizes.
#include "polyhedral/transforms/recompute_program.h"

#include <cmath>

#include "program_samples.h"

namespace nautilus::poly {
namespace {

using samples::parsed;

Buffers inputs_of(const Program& p, const Sizes& sizes) {
  Buffers out;
  const Program at = *instantiate(p, sizes);
  for (const Tensor& t : at.tensors) {
    if (t.kind != TensorKind::Input) continue;
    size_t n = 1;
    for (const isl::pw_aff& e : t.extents) n *= static_cast<size_t>(*dim_max(e.as_set(), 0));
    std::vector<double> v(n);
    for (size_t k = 0; k < n; ++k)
      v[k] = is_float(t.type) ? std::sin(1.0 + 0.7 * static_cast<double>(k))
                              : static_cast<double>(k % 2);
    out.emplace(t.name, v);
  }
  return out;
}

// Same outputs, still valid.
void expect_same(const Program& before, const Program& after, const Sizes& sizes) {
  const auto bad = validate(after);
  ASSERT_FALSE(bad) << bad->text() << "\n" << print_naut(after);
  const Buffers in = inputs_of(before, sizes);
  const auto a = interpret(before, sizes, in), b = interpret(after, sizes, in);
  ASSERT_TRUE(a) << a.error().text();
  ASSERT_TRUE(b) << b.error().text() << "\n" << print_naut(after);
  for (const auto& [name, values] : *a)
    for (size_t k = 0; k < values.size(); ++k)
      EXPECT_NEAR(b->at(name)[k], values[k], 1e-12) << name << " " << k;
}

TEST(Recompute, InlinesPointwise) {
  const Program p = restrict_to_demanded(parsed(samples::kCausal));
  const auto one = recompute_in(p, "S_P", "S_l");
  ASSERT_TRUE(one) << one.error().text();
  EXPECT_FALSE(one->removed) << "S_acc still reads P";
  EXPECT_EQ(one->program.statement("S_l")->reads.size(), 2u);
  EXPECT_EQ(to_string(one->program.statement("S_l")->expr), to_string(p.statement("S_P")->expr));
  expect_same(p, one->program, {{"N", 5}, {"D", 3}});
  const auto both = recompute_in(one->program, "S_P", "S_acc");
  ASSERT_TRUE(both);
  EXPECT_TRUE(both->removed);
  EXPECT_EQ(both->program.tensor("P"), nullptr);
  expect_same(p, both->program, {{"N", 6}, {"D", 2}});
}

// A producer that runs under a condition: inlined only where the consumer runs under the same one.
TEST(Recompute, KeepsAProducersCondition) {
  const std::string head = R"(naut 1
program guarded
sizes N
where [N] -> { : N >= 0 }
tensor len input i32
tensor X input f32
  extent [N] -> { [(N)] }
tensor T temp f32
  extent [N] -> { [(N)] }
tensor O output f32
statement S_T(i)
  domain [N] -> { S_T[i] : 0 <= i < N }
  write T { S_T[i] -> T[i] }
  read X { S_T[i] -> X[i] }
  read len { S_T[i] -> len[] }
  index { S_T[i] -> [(i)] }
  expr $0 * 2
  guard #0 < $1:i32
statement S_O(i)
  domain [N] -> { S_O[i] : 0 <= i < N }
  write O { S_O[i] -> O[] }
  read len { S_O[i] -> len[] }
  read T { S_O[i] -> T[i] }
  index { S_O[i] -> [(i)] }
  expr $1
)";
  const Program same = parsed((head + "  guard #0 < $0:i32\n  reduce sum over 0\n").c_str());
  const auto kept = recompute_in(same, "S_T", "S_O");
  ASSERT_TRUE(kept) << kept.error().text();
  expect_same(same, kept->program, {{"N", 5}});
  for (const char* rest :
       {"  reduce sum over 0\n", "  guard #0 <= $0:i32\n  reduce sum over 0\n"}) {
    const auto dropped = recompute_in(parsed((head + rest).c_str()), "S_T", "S_O");
    ASSERT_FALSE(dropped) << print_naut(dropped->program);
    EXPECT_NE(dropped.error().why.find("condition"), std::string::npos) << dropped.error().text();
  }
}

TEST(Recompute, CopiesAReductionWithTheConsumersOtherDims) {
  const Program p = restrict_to_demanded(parsed(samples::kCausal));
  const auto r = recompute_in(p, "S_l", "S_O");
  ASSERT_TRUE(r) << r.error().text();
  EXPECT_TRUE(r->removed);
  const Statement& copy = *r->program.statement(r->copy);
  EXPECT_EQ(dim_names(copy.domain), (std::vector<std::string>{"i", "j", "d"}));
  EXPECT_EQ(r->program.tensor(copy.write.tensor)->rank(), 2u);
  EXPECT_TRUE(copy.domain.intersect_params(p.param_context)
                  .is_equal(isl::set(
                      p.context->get(),
                      "[N, D] -> { " + r->copy + "[i, j, d] : 0 <= j <= i < N and 0 <= d < D }")));
  expect_same(p, r->program, {{"N", 5}, {"D", 3}});
  const auto plain = recompute_in(p, "S_l", "S_O", std::vector<std::string>{});
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->program.tensor(plain->program.statement(plain->copy)->write.tensor)->rank(), 1u);
  expect_same(p, plain->program, {{"N", 5}, {"D", 3}});
  EXPECT_FALSE(recompute_in(p, "S_l", "S_O", std::vector<std::string>{"nope"}));
}

TEST(Recompute, KeepsTheProducerOfOtherReaders) {
  const Program p = restrict_to_demanded(parsed(samples::kCausal));
  const auto r = recompute_in(p, "S_S", "S_m");
  ASSERT_TRUE(r) << r.error().text();
  EXPECT_FALSE(r->removed);
  EXPECT_NE(r->program.statement("S_S"), nullptr);
  expect_same(p, r->program, {{"N", 4}, {"D", 3}});
  const auto q = recompute_in(r->program, "S_S", "S_P");
  ASSERT_TRUE(q);
  EXPECT_TRUE(q->removed);
  expect_same(p, q->program, {{"N", 4}, {"D", 3}});
}

TEST(Recompute, StencilWithHaloAndIndexValues) {
  const std::string text = R"(naut 1
program halo
sizes N
where [N] -> { : N >= 3 }
tensor X input f32
  extent [N] -> { [(N)] }
tensor a temp f16
  extent [N] -> { [(N)] }
tensor y output f32
  extent [N] -> { [(N)] }
statement S_a(i)
  domain [N] -> { S_a[i] : 0 <= i < N }
  write a { S_a[i] -> a[i] }
  read X { S_a[i] -> X[i] }
  index { S_a[i] -> [(2i + 1)] }
  expr f16($0 * #0)
statement S_y(i)
  domain [N] -> { S_y[i] : 0 <= i < N }
  write y { S_y[i] -> y[i] }
  read a { S_y[i] -> a[i - 1] : i >= 1; S_y[i] -> a[0] : i < 1 }
  read X { S_y[i] -> X[i] }
  read a [N] -> { S_y[i] -> a[N - 1 - i] }
  expr ($0:f16 + $1) - $2:f16
)";
  const Program p = parsed(text);
  ASSERT_FALSE(validate(p));
  // The first access has two pieces: index values cannot be one affine function.
  const auto refused = recompute_in(p, "S_a", "S_y");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().why.find("affine"), std::string::npos) << refused.error().text();
  std::string plain = text;
  plain.replace(plain.find("#0"), 2, "3");
  plain.erase(plain.find("  index"), plain.find("  expr") - plain.find("  index"));
  const Program q = parsed(plain);
  const auto r = recompute_in(q, "S_a", "S_y");
  ASSERT_TRUE(r) << r.error().text();
  EXPECT_TRUE(r->removed);
  EXPECT_EQ(r->program.statement("S_y")->reads.size(), 3u);
  expect_same(q, r->program, {{"N", 6}});
  // Rounding of the narrow tensor stays part of the value.
  InterpretOptions round;
  round.round_stores = true;
  const Buffers in = inputs_of(q, {{"N", 7}});
  EXPECT_EQ(interpret(q, {{"N", 7}}, in, round)->at("y"),
            interpret(r->program, {{"N", 7}}, in, round)->at("y"));
}

TEST(Recompute, GivenOrderIsExtended) {
  Program p = restrict_to_demanded(parsed(samples::kCausal));
  // Reverse the rows of every statement: no longer the textual order.
  p.original = map_schedule(
      p.original, [](const isl::union_set& u) { return u; },
      [](const isl::multi_union_pw_aff& m) { return m.neg(); });
  ASSERT_FALSE(validate(p));
  const auto r = recompute_in(p, "S_l", "S_O");
  ASSERT_TRUE(r) << r.error().text();
  expect_same(p, r->program, {{"N", 5}, {"D", 3}});
}

TEST(Recompute, Refusals) {
  const Program s = parsed(samples::kSeidel);
  EXPECT_FALSE(recompute_in(s, "S_A", "S_B"));  // overwritten
  EXPECT_FALSE(recompute_in(s, "S_init", "S_A"));
  const Program p = restrict_to_demanded(parsed(samples::kCausal));
  EXPECT_FALSE(recompute_in(p, "S_P", "S_P"));
  EXPECT_FALSE(recompute_in(p, "S_P", "S_m"));
  EXPECT_FALSE(recompute_in(p, "S_P", "nope"));
  EXPECT_FALSE(recompute_in(p, "nope", "S_P"));
}

}  // namespace
}  // namespace nautilus::poly
