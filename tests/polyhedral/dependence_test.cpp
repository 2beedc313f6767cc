#include "polyhedral/dependence.h"

#include <ctime>

#include "program_samples.h"

namespace nautilus::poly {
namespace {

using samples::parsed;

// Union of the relations of one kind between two statements.
isl::union_map relation(const Program& p, const DependenceSet& d, DepKind kind,
                        const std::string& from, const std::string& to) {
  isl::union_map out = isl::union_map::empty(p.context->get());
  for (const Dependence& x : d.all)
    if (x.kind == kind && x.source == from && x.sink == to)
      out = out.unite(isl::union_map(x.relation));
  return out;
}
isl::union_map expected(const Program& p, const std::string& text) {
  return isl::union_map(p.context->get(), text);
}

TEST(Dependences, Matmul) {
  const Program p = parsed(samples::kMatmul);
  const auto d = dependences(p);
  ASSERT_TRUE(d);
  ASSERT_EQ(d->all.size(), 1u);
  EXPECT_EQ(d->all[0].kind, DepKind::Reduction);
  EXPECT_TRUE(
      relation(p, *d, DepKind::Reduction, "S_C", "S_C")
          .is_equal(expected(
              p,
              "[N, M, K] -> { S_C[i, k, j] -> S_C[i, k, j'] : 0 <= i < N and 0 <= k < K and "
              "0 <= j < j' < M }")));
  EXPECT_EQ(d->relaxations().size(), 1u);
}

TEST(Dependences, FromEveryUpdateOfAReduction) {
  const Program p = restrict_to_demanded(parsed(samples::kCausal));
  const auto d = dependences(p);
  ASSERT_TRUE(d);
  EXPECT_TRUE(relation(p, *d, DepKind::Flow, "S_m", "S_P")
                  .is_equal(expected(p,
                                     "[N, D] -> { S_m[i, j] -> S_P[i, j'] : 0 <= j <= i < N and 0 "
                                     "<= j' <= i and D > 0 }")));
  EXPECT_TRUE(relation(p, *d, DepKind::Flow, "S_P", "S_l")
                  .is_equal(expected(
                      p, "[N, D] -> { S_P[i, j] -> S_l[i, j] : 0 <= j <= i < N and D > 0 }")));
  EXPECT_TRUE(relation(p, *d, DepKind::Flow, "S_P", "S_m").is_empty());
  for (const Dependence& x : d->all) {
    EXPECT_TRUE(x.kind == DepKind::Flow || x.kind == DepKind::Reduction)
        << "assigned once: no storage dependences";
    EXPECT_FALSE(x.approximate);
    EXPECT_TRUE(x.kind != DepKind::Flow || x.read >= 0);
  }
}

TEST(Dependences, LastWriterInPlace) {
  const Program p = parsed(samples::kSeidel);
  const auto d = dependences(p);
  ASSERT_TRUE(d);
  const std::string facts = " and N >= 2 and T >= 0 }";
  // A[i-1] was written in the same sweep, A[i] and A[i+1] in the sweep before.
  EXPECT_TRUE(
      relation(p, *d, DepKind::Flow, "S_A", "S_A")
          .is_equal(
              expected(p, "[N, T] -> { S_A[t, i] -> S_A[t, i + 1] : 0 <= t < T and 1 <= i < N - 2" +
                              facts)
                  .unite(expected(
                      p,
                      "[N, T] -> { S_A[t, i] -> S_A[t + 1, i] : 0 <= t < T - 1 and 1 <= i < N - 1" +
                          facts))
                  .unite(expected(p,
                                  "[N, T] -> { S_A[t, i] -> S_A[t + 1, i - 1] : 0 <= t < T - 1 and "
                                  "2 <= i < N - 1" +
                                      facts))));
  // Only the last sweep reaches the output; boundary values come from the start.
  EXPECT_TRUE(
      relation(p, *d, DepKind::Flow, "S_A", "S_B")
          .is_equal(expected(
              p, "[N, T] -> { S_A[T - 1, i] -> S_B[i] : T >= 1 and 1 <= i < N - 1" + facts)));
  EXPECT_TRUE(
      relation(p, *d, DepKind::Flow, "S_init", "S_B")
          .is_equal(expected(
              p, "[N, T] -> { S_init[i] -> S_B[i] : 0 <= i < N and (i = 0 or i = N - 1 or T = 0)" +
                     facts)));
  EXPECT_FALSE(relation(p, *d, DepKind::Anti, "S_A", "S_A").is_empty());
  EXPECT_FALSE(relation(p, *d, DepKind::Output, "S_A", "S_A").is_empty());
  EXPECT_FALSE(relation(p, *d, DepKind::Output, "S_init", "S_A").is_empty());
  EXPECT_TRUE(relation(p, *d, DepKind::Anti, "S_B", "S_A").is_empty());
}

// Every dependence pair, enumerated at a small size against brute force over the original order.
TEST(Dependences, AgreeWithBruteForce) {
  const auto p = instantiate(parsed(samples::kSeidel), {{"N", 5}, {"T", 3}});
  ASSERT_TRUE(p);
  const auto d = dependences(*p);
  ASSERT_TRUE(d);
  struct Event {
    std::string instance;
    std::vector<int> reads;
    int write;
  };
  std::vector<Event> events;
  auto name = [](const std::string& s, std::vector<int> v) {
    std::string out = s + "[";
    for (size_t k = 0; k < v.size(); ++k) out += (k ? ", " : "") + std::to_string(v[k]);
    return out + "]";
  };
  for (int i = 0; i < 5; ++i) events.push_back({name("S_init", {i}), {}, i});
  for (int t = 0; t < 3; ++t)
    for (int i = 1; i < 4; ++i) events.push_back({name("S_A", {t, i}), {i - 1, i, i + 1}, i});
  for (int i = 0; i < 5; ++i) events.push_back({name("S_B", {i}), {i}, -1});
  std::string flow, anti, output;
  for (size_t b = 0; b < events.size(); ++b) {
    for (int e : events[b].reads)
      for (size_t a = b; a-- > 0;)
        if (events[a].write == e) {
          flow += events[a].instance + " -> " + events[b].instance + "; ";
          break;
        }
    for (size_t a = 0; a < b; ++a) {
      if (events[a].write >= 0 && events[a].write == events[b].write)
        output += events[a].instance + " -> " + events[b].instance + "; ";
      for (int e : events[a].reads)
        if (e == events[b].write) anti += events[a].instance + " -> " + events[b].instance + "; ";
    }
  }
  auto all = [&](DepKind kind) {
    isl::union_map out = isl::union_map::empty(p->context->get());
    for (const Dependence& x : d->all)
      if (x.kind == kind) out = out.unite(isl::union_map(x.relation));
    return out;
  };
  EXPECT_TRUE(all(DepKind::Flow).is_equal(expected(*p, "{ " + flow + "}")));
  EXPECT_TRUE(all(DepKind::Anti).is_equal(expected(*p, "{ " + anti + "}")));
  EXPECT_TRUE(all(DepKind::Output).is_equal(expected(*p, "{ " + output + "}")));
}

TEST(Dependences, GatherIsApproximate) {
  std::string text = samples::kPaged;
  text +=
      "tensor Y output f32\n  extent [N] -> { [(N)] }\nstatement S_Y(i)\n  domain [N] -> { S_Y[i] "
      ": 0 <= i < N }\n"
      "  write Y { S_Y[i] -> Y[i] }\n  read O [N] -> { S_Y[i] -> O[o] : 0 <= o < N } gather 0=1\n"
      "  read page [N, J] -> { S_Y[i] -> page[0] }\n  expr $0\n";
  Program p = parsed(text);
  const auto d = dependences(p);
  ASSERT_TRUE(d);
  bool found = false;
  for (const Dependence& x : d->all)
    if (x.source == "S_O" && x.sink == "S_Y") {
      found = true;
      EXPECT_TRUE(x.approximate);
      EXPECT_EQ(x.read, 0);
    }
  EXPECT_TRUE(found);
}

// An imperfect nest with a given order: both statements under one loop.
TEST(Dependences, GivenOrder) {
  const std::string text = R"(naut 1
program nest
sizes N
where [N] -> { : N >= 0 }
tensor X input f32
  extent [N] -> { [(N)] }
tensor a temp f32
  extent [N] -> { [(N)] }
tensor y output f32
  extent [N] -> { [(N)] }
statement S_a(i)
  domain [N] -> { S_a[i] : 0 <= i < N }
  write a { S_a[i] -> a[i] }
  read X { S_a[i] -> X[i] }
  expr $0 * 2
statement S_y(i)
  domain [N] -> { S_y[i] : 0 <= i < N }
  write y { S_y[i] -> y[i] }
  read a { S_y[i] -> a[i] }
  expr $0 + 1
original { domain: "[N] -> { S_a[i] : 0 <= i < N; S_y[i] : 0 <= i < N }", child: { schedule: "[{ S_a[i] -> [(i)]; S_y[i] -> [(i)] }]", child: { sequence: [ { filter: "{ S_a[i] }" }, { filter: "{ S_y[i] }" } ] } } }
)";
  const Program p = parsed(text);
  const auto bad = validate(p);
  EXPECT_FALSE(bad) << bad->text();
  const auto d = dependences(p);
  ASSERT_TRUE(d);
  ASSERT_EQ(d->all.size(), 1u);
  EXPECT_TRUE(isl::union_map(d->all[0].relation)
                  .is_equal(expected(p, "[N] -> { S_a[i] -> S_y[i] : 0 <= i < N }")));
  EXPECT_TRUE(equal(p, *parse_naut(make_context(), print_naut(p))));
}

TEST(Dependences, QuotaIsARefusal) {
  const Program p = parsed(samples::kSeidel);
  const auto d = dependences(p, 200);
  ASSERT_FALSE(d);
  EXPECT_NE(d.error().why.find("ran out"), std::string::npos) << d.error().text();
  EXPECT_EQ(d.error().asked, "dependences of " + p.name);
  EXPECT_NE(d.error().why.find(" in: "), std::string::npos)
      << d.error().text();
  EXPECT_TRUE(dependences(p));
}

TEST(Dependences, SixtyStatementsInSeconds) {
  std::string text =
      "naut 1\nprogram chain\nsizes N M\nwhere [N, M] -> { : N >= 0 and M >= 0 }\ntensor T0 input "
      "f32\n  extent [N] -> { [(N)] }\n  extent [M] -> { [(M)] }\n";
  for (int k = 1; k <= 60; ++k)
    text += "tensor T" + std::to_string(k) + (k == 60 ? " output" : " temp") +
            " f32\n  extent [N] -> { [(N)] }\n  extent [M] -> { [(M)] }\n";
  for (int k = 1; k <= 60; ++k) {
    const std::string s = "S_T" + std::to_string(k), t = "T" + std::to_string(k);
    text += "statement " + s + "(i, j, r)\n  domain [N, M] -> { " + s +
            "[i, j, r] : 0 <= i < N and 0 <= j < M and 0 <= r <= j }\n";
    text += "  write " + t + " { " + s + "[i, j, r] -> " + t + "[i, j] }\n";
    for (int r : {k - 1, k / 2, k / 3})
      text += "  read T" + std::to_string(r) + " { " + s + "[i, j, r] -> T" + std::to_string(r) +
              "[i, r] }\n";
    text += "  expr $0 * $1 + $2\n  reduce sum over 2\n";
  }
  const std::clock_t start =
      std::clock();  // processor time: other work on the machine does not count
  const Program p = restrict_to_demanded(parsed(text));
  const auto bad = validate(p);
  EXPECT_FALSE(bad) << bad->text();
  const auto d = dependences(p);
  ASSERT_TRUE(d);
  EXPECT_GT(d->all.size(), 120u);
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 10);
}

}  // namespace
}  // namespace nautilus::poly
