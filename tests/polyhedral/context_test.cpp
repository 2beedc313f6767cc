#include "polyhedral/context.h"

#include <gtest/gtest.h>

#include <functional>

#include "polyhedral/deadline.h"

#include "polyhedral/instances.h"

namespace nautilus::poly {
namespace {

TEST(Context, NamesSurviveProjection) {
  ContextPtr c = make_context();
  isl::set s(c->get(), "[N] -> { S[i, j, k] : 0 <= i < N and i <= j <= k < N }");
  EXPECT_EQ(dim_names(project_out(s, 1, 1)), (std::vector<std::string>{"i", "k"}));
  EXPECT_EQ(tuple_name(project_out(s, 0, 2)), "S");
  EXPECT_EQ(dim_names(keep_dims(s, {2, 0})), (std::vector<std::string>{"k", "i"}));
  EXPECT_TRUE(
      keep_dims(s, {2, 0}).is_equal(isl::set(c->get(), "[N] -> { S[k, i] : 0 <= i <= k < N }")));
  EXPECT_EQ(n_dim(insert_dims(s, 1, 2)), 5u);
  EXPECT_EQ(dim_names(insert_dims(s, 0, 1)), (std::vector<std::string>{"i0", "i", "j", "k"}));
  EXPECT_EQ(param_names(s), (std::vector<std::string>{"N"}));
}

TEST(Context, Substitution) {
  ContextPtr c = make_context();
  isl::set s(c->get(), "[N, M] -> { S[i] : 0 <= i < N + M }");
  isl::set at = substitute_params(s, {{"N", 3}, {"other", 1}});
  EXPECT_EQ(param_names(at), (std::vector<std::string>{"M"}));
  EXPECT_TRUE(at.is_equal(isl::set(c->get(), "[M] -> { S[i] : 0 <= i < 3 + M }")));
  isl::aff a(c->get(), "[N, M] -> { S[i] -> [(floor((i + 2N)/5) + M)] }");
  isl::aff b = substitute_params(a, {{"N", 4}, {"M", 7}});
  const AffineFunction f(b);
  for (int64_t i = -12; i < 12; ++i)
    EXPECT_EQ(f(std::vector<int64_t>{i}), (i + 8 + 500) / 5 - 100 + 7);
  isl::pw_aff e(c->get(), "[N] -> { [(N)] : N >= 4; [(2)] : N < 4 }");
  EXPECT_EQ(dim_max(substitute_params(e, {{"N", 1}}).as_set(), 0), 2);
}

// Wherever operations run out, what was asked for is refused; nothing of isl goes on without it.
TEST(Context, AnyQuotaIsARefusal) {
  ContextPtr c = make_context();
  const isl::set s(c->get(), "[N, M] -> { S[i, j, k] : 0 <= i < N + M and 2j <= k and j = 3k }");
  const isl::aff a(c->get(), "[N, M] -> { S[i] -> [(floor((i + 2N)/5) + M)] }");
  const isl::pw_aff e(c->get(), "[N] -> { [(N)] : N >= 4; [(2)] : N < 4 }");
  const Sizes sizes{{"N", 4}, {"M", 7}};
  const std::vector<std::function<void()>> all{
      [&] { substitute_params(a, sizes); },
      [&] { substitute_params(s, sizes); },
      [&] { substitute_params(e, sizes); },
      [&] { project_out(s, 1, 1); },
      [&] {
        keep_dims(s, {2, 0});
      },
      [&] { insert_dims(s, 1, 2); },
      [&] { dim_max(s, 1); },
      [&] { is_bounded(s); },
      [&] { lexmin_point(s); },
      [&] { sample_point(s); },
      [&] { tuple_of(s, {}); },
  };
  for (size_t n = 0; n < all.size(); ++n) {
    bool done = false;
    int refused = 0;
    for (unsigned long quota = 1; quota < 5000 && !done; ++quota) {
      const auto answer = with_quota(c->get(), quota, [&] { return all[n](), true; });
      done = answer.has_value();
      refused += !done;
    }
    EXPECT_TRUE(done) << n;
    EXPECT_GT(refused, 0) << n;
  }
}

TEST(Context, Extremes) {
  ContextPtr c = make_context();
  isl::set s(c->get(), "{ S[i, j] : 2 <= i <= 9 and i <= j }");
  EXPECT_EQ(dim_min(s, 1), 2);
  EXPECT_EQ(dim_max(s, 0), 9);
  EXPECT_EQ(dim_max(s, 1), std::nullopt);
  EXPECT_FALSE(is_bounded(s));
  EXPECT_TRUE(is_bounded(isl::set(c->get(), "[N] -> { S[i] : 0 <= i < N }")));
  EXPECT_EQ(dim_min(isl::set(c->get(), "{ S[i] : 1 = 0 }"), 0), std::nullopt);
}

TEST(Context, Points) {
  ContextPtr c = make_context();
  const auto p = lexmin_point(isl::set(c->get(), "[N] -> { S[i, j] : 3 <= i < N and j >= 2 * i }"));
  ASSERT_TRUE(p);
  EXPECT_EQ(p->params.at("N"), 4);
  EXPECT_EQ(p->dims, (std::vector<int64_t>{3, 6}));
  EXPECT_TRUE(lexmin_point(isl::set(c->get(), "{ S[i] : i <= 5 }")));  // unbounded below: any point
  EXPECT_FALSE(sample_point(isl::set(c->get(), "{ S[i] : 2i = 1 }")));
  EXPECT_THROW((void)to_int(isl::val(c->get(), "9223372036854775808")), std::range_error);
}

TEST(Context, LinearFormEnumeratesTheSet) {
  ContextPtr c = make_context();
  isl::set s(c->get(),
             "{ S[i, j] : 0 <= i < 12 and 0 <= j < 12 and (exists e : i + j = 3e or 2i = 5j) }");
  const auto pieces = linear_form(s);
  for (int64_t i = -1; i < 13; ++i)
    for (int64_t j = -1; j < 13; ++j) {
      int hits = 0;
      for (const LinearSet& p : pieces) hits += contains(p, std::vector<int64_t>{i, j});
      const bool in = i >= 0 && i < 12 && j >= 0 && j < 12 && ((i + j) % 3 == 0 || 2 * i == 5 * j);
      EXPECT_EQ(hits, in ? 1 : 0) << i << "," << j;
    }
}

// A quota that ran out must not make the next computation fail.
TEST(Context, QuotaIsReportedAndDoesNotPoison) {
  ContextPtr c = make_context();
  auto hard = [&] {
    isl::set s(c->get(),
               "[N] -> { S[i,j,k] : 0 <= i,j,k < N and (exists e : 7e <= i + 3j - k <= 7e + 2) }");
    return s.subtract(isl::set(c->get(), "[N] -> { S[i,j,k] : i mod 5 = j mod 3 and k > 2 }"))
        .lexmin();
  };
  for (int round = 0; round < 3; ++round) {
    const auto failed = with_quota(c->get(), 50, hard);
    ASSERT_FALSE(failed);
    EXPECT_NE(failed.error().why.find("ran out of isl operations (50)"), std::string::npos)
        << failed.error().why;
    EXPECT_TRUE(with_quota(c->get(), kDefaultQuota, hard));
  }
  EXPECT_FALSE(hard().is_empty());
  const auto nested = with_quota(
      c->get(), 50, [&] { return with_quota(c->get(), kDefaultQuota, hard).has_value(); });
  EXPECT_TRUE(!nested || !*nested) << "an inner quota must not exceed the outer one";
}

// Work that would never end by itself is cut at its moment, and the context is as before after it.
TEST(Context, DeadlineCutsAndGivesTheContextBack) {
  ContextPtr c = make_context();
  using Clock = DeadlineGuard::Clock;
  auto endless = [&] {
    for (;;) (void)isl::set(c->get(), "{ S[i,j] : 0 <= i < 9 and 3j = i }").lexmin();
  };
  EXPECT_FALSE(out_of_time());
  {
    const DeadlineGuard guard(c->get(), Clock::now() + std::chrono::milliseconds(30));
    EXPECT_THROW(endless(), isl::exception);
    EXPECT_TRUE(guard.passed() && out_of_time());
    // A later moment inside does not lift the outer one, nor does its end.
    {
      const DeadlineGuard inner(c->get(), Clock::now() + std::chrono::hours(1));
      EXPECT_TRUE(out_of_time());
      EXPECT_THROW(endless(), isl::exception);
    }
    EXPECT_THROW(endless(), isl::exception);
    const auto refused = with_quota(c->get(), kDefaultQuota, [&] {
      endless();
      return 0;
    });
    EXPECT_FALSE(refused);
  }
  EXPECT_FALSE(out_of_time());
  EXPECT_FALSE(isl::set(c->get(), "{ S[i] : i > 3 }").is_empty());
  std::atomic<bool> stop{true};
  {
    const DeadlineGuard guard(c->get(), Clock::time_point::max(), &stop);
    EXPECT_THROW(endless(), isl::exception);
  }
  EXPECT_FALSE(isl::set(c->get(), "{ S[i] : i > 3 }").is_empty());
}

TEST(Context, ErrorsAreSilentExceptions) {
  ContextPtr c = make_context();
  testing::internal::CaptureStderr();
  EXPECT_THROW(isl::set(c->get(), "{ S[i : }"), isl::exception);
  EXPECT_THROW((void)isl::set(c->get(), "{ S[i] }").intersect(isl::set(c->get(), "{ T[i] }")),
               isl::exception);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_FALSE(isl::set(c->get(), "{ S[i] }").is_empty());
}

TEST(Context, UnionsInStableOrder) {
  ContextPtr c = make_context();
  std::vector<std::string> names;
  for (const isl::set& s : sets_of(isl::union_set(c->get(), "{ Z[i]; A[i, j]; M[]; B[k] }")))
    names.push_back(tuple_name(s));
  EXPECT_EQ(names, (std::vector<std::string>{"A", "B", "M", "Z"}));
}

TEST(Context, ScheduleIntersectionDropsEmptyBranches) {
  ContextPtr c = make_context();
  isl::schedule s(
      c->get(),
      "{ domain: \"[N] -> { A[i] : 0 <= i < N; B[i] : 0 <= i < N }\", child: { sequence: ["
      " { filter: \"{ A[i] }\", child: { schedule: \"[{ A[i] -> [(i)] }]\", permutable: 1, "
      "coincident: [1] } },"
      " { filter: \"{ B[i] }\", child: { schedule: \"[N] -> [{ B[i] -> [(N - i)] }]\" } } ] } }");
  isl::schedule both = substitute_params(s, {{"N", 5}});
  EXPECT_EQ(param_names(sets_of(both.domain())[0]).size(), 0u);
  EXPECT_TRUE(
      both.map()
          .intersect_domain(both.domain())
          .is_equal(isl::union_map(
              c->get(), "{ A[i] -> [0, i] : 0 <= i < 5; B[i] -> [1, 5 - i] : 0 <= i < 5 }")))
      << both.map();
  isl::schedule one = intersect_domain(s, isl::union_set(c->get(), "{ B[i] : i >= 2 }"));
  EXPECT_TRUE(one.map()
                  .intersect_domain(one.domain())
                  .is_equal(isl::union_map(c->get(), "[N] -> { B[i] -> [N - i] : 2 <= i < N }")))
      << one.map();
}

TEST(Instances, RunInScheduleOrder) {
  ContextPtr c = make_context();
  isl::schedule s(
      c->get(),
      "{ domain: \"{ A[i, j] : 0 <= i < 3 and 0 <= j <= i; B[] }\", child: { sequence: ["
      " { filter: \"{ B[] }\" }, { filter: \"{ A[i, j] }\", child: { schedule: "
      "\"[{ A[i, j] -> [(j)] }, { A[i, j] -> [(-i)] }]\" } } ] } }");
  std::string order;
  const auto n =
      for_each_instance(s, 1000, [&](const std::string& name, std::span<const int64_t> d) {
        order += name;
        for (int64_t x : d) order += std::to_string(x);
        order += " ";
        return true;
      });
  ASSERT_TRUE(n);
  EXPECT_EQ(*n, 7u);
  EXPECT_EQ(order, "B A20 A10 A00 A21 A11 A22 ");
  EXPECT_FALSE(
      for_each_instance(s, 2, [](const std::string&, std::span<const int64_t>) { return true; }));
}

}  // namespace
}  // namespace nautilus::poly
