#include <random>

#include "program_samples.h"
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace nautilus::poly {
namespace {

using samples::parsed;

TEST(Naut, RoundTripIsExact) {
  for (const char* text : {samples::kMatmul, samples::kCausal, samples::kSeidel, samples::kPaged}) {
    const Program p = parsed(text);
    const std::string printed = print_naut(p);
    const auto again = parse_naut(make_context(), printed);
    ASSERT_TRUE(again) << again.error().text() << "\n" << printed;
    EXPECT_TRUE(equal(p, *again));
    EXPECT_EQ(print_naut(*again), printed);
  }
}

// Fixed dims keep their names, odd reductions and locations their content.
TEST(Naut, RoundTripOfOddPrograms) {
  const std::string text = R"(naut 1
program odd
sizes N
where [N] -> { : N >= 0 and (exists e : N = 8e) and N <= 1024 }
typical N=64
scalars alpha
tensor alpha input f64
tensor X input f16
  extent [N] -> { [(N)] }
tensor y output f32
statement S_y(zero, i)
  domain [N] -> { S_y[0, i] : 0 <= i < N and (i mod 3 = 0 or i > 5) }
  write y { S_y[zero, i] -> y[] }
  read X { S_y[zero, i] -> X[i] }
  read alpha { S_y[zero, i] -> alpha[] }
  index [N] -> { S_y[zero, i] -> [(floor((N - i)/2))] }
  expr select($0 < 0.1, $1, #0) + @N
  reduce user over 0, 1
  combine a + b
  identity 0
  at 3 7 "a \"b\\c.spec.cpp"
)";
  const Program p = parsed(text);
  EXPECT_EQ(dim_names(p.statements[0].domain), (std::vector<std::string>{"zero", "i"}));
  EXPECT_EQ(p.statements[0].loc.file, "a \"b\\c.spec.cpp");
  const auto again = parse_naut(make_context(), print_naut(p));
  ASSERT_TRUE(again) << again.error().text() << print_naut(p);
  EXPECT_TRUE(equal(p, *again)) << print_naut(p) << print_naut(*again);
  EXPECT_EQ(again->statements[0].loc.column, 7);
  const auto bad = validate(p);
  EXPECT_FALSE(bad) << bad->text();
}

// A user reduction may be reordered: its operation must allow that.
TEST(Naut, UserReductionsAreCommutativeAndAssociative) {
  const auto text = [](const std::string& combine, const std::string& identity) {
    return "naut 1\nprogram p\nsizes N\ntensor X input f32\n  extent [N] -> { [(N)] }\ntensor y "
           "output f32\n"
           "statement S_y(i)\n  domain [N] -> { S_y[i] : 0 <= i < N }\n  write y { S_y[i] -> y[] "
           "}\n"
           "  read X { S_y[i] -> X[i] }\n  expr $0\n  reduce user over 0\n  combine " +
           combine + "\n  identity " + identity + "\n";
  };
  const struct {
    const char *combine, *identity, *why;
  } cases[] = {{"a - b", "0", "not commutative"},
               {"a * b + 1", "0", "not its identity"},
               {"a + b", "1", "not its identity"},
               {"select(a == 0 || b == 0, a + b, 2 * (a + b))", "0", "not associative"},
               {"a + b + a * b", "0", ""},
               {"max(a, b)", "-inf", ""}};
  for (const auto& c : cases) {
    const auto p = parse_naut(make_context(), text(c.combine, c.identity));
    const std::string said = p ? "" : p.error().text();
    if (*c.why)
      EXPECT_NE(said.find(c.why), std::string::npos) << c.combine << ": " << said;
    else
      EXPECT_TRUE(p) << said;
  }
}

struct Broken {
  const char *find, *replace, *where, *why;
};

TEST(Naut, ErrorsHavePositionAndReason) {
  const Broken cases[] = {
      {"naut 1", "naut 2", "x.naut:1:", "version 1"},
      {"sizes N M K", "sizes N M", "x.naut:4:7", "not a declared size"},
      {"sizes N M K", "sizes N M K floor", "x.naut:3:13", "word of isl"},
      {"tensor A input f32", "tensor A input f33", "x.naut:5:", "unknown element type"},
      {"tensor A input f32", "tensor A inout f32", "x.naut:5:", "input, output or temp"},
      {"  extent [N] -> { [(N)] }", "  extent [N] -> { [(N) }", "x.naut:6:10", "isl cannot read"},
      {"tensor B", "tensor A", "x.naut:8:", "declared twice"},
      {"S_C[i, k, j] : 0", "S_D[i, k, j] : 0", "x.naut:15:10", "must be of S_C"},
      {"read A { S_C[i, k, j] -> A[i, j] }", "read A { S_C[i, k, j] -> A[i] }", "x.naut:17:10",
       "2 dimensions"},
      {"read A {", "read AA {", "x.naut:17:8", "no tensor AA"},
      {"expr $0 * $1", "expr $0 * ", "x.naut:19:12", "expected"},
      {"expr $0 * $1", "expr $0 * $2", "x.naut:14:1", "$2"},
      {"expr $0 * $1", "expr $0 * @Q", "x.naut:14:1", "@Q"},
      {"expr $0 * $1", "expr $0 * x", "x.naut:14:1", "free variable x"},
      {"reduce sum", "reduce mean", "x.naut:20:10", "unknown reduction"},
      {"reduce sum over 2", "reduce sum over 3", "x.naut:14:1", "reduced dimensions"},
      {"reduce sum over 2", "reduce sum over 2 2", "x.naut:20:", "unexpected text"},
      {"reduce sum over 2", "reduce user over 2", "x.naut:14:1", "combine"},
      {"  expr $0 * $1\n", "", "x.naut:14:1", "has no 'expr'"},
      {"S_C(i, k, j)", "S_C(i, i, j)", "x.naut:14:", "named twice"},
      {"S_C(i, k, j)", "S_C(N, k, j)", "x.naut:14:1", "cannot name a dimension"},
      {"tensor C output", "tensor S_C output", "", ""},
      {"reduce sum over 2\n", "reduce sum over 2\noriginal { domain: \"{ S_C[i, k, j] }\" }\n",
       "x.naut:1:1", "cover"},
      {"reduce sum over 2\n", "reduce sum over 2\noriginal { dom }\n", "x.naut:21:10",
       "isl cannot read"},
      {"reduce sum over 2\n",
       "reduce sum over 2\noriginal { domain: \"[N, M, K] -> { S_C[i, k, j] : 0 <= i < N and 0 <= "
       "k "
       "< K and 0 <= j < M }\", child: { schedule: \"[{ S_C[i, k, j] -> [(i)] : j <= 3; S_C[i, k, "
       "j] -> [(-i)] : j > 3 }]\" } }\n",
       "x.naut:21:10", "not one affine function"},
      {"read B {", "read B gather {", "x.naut:18:10", ""},
  };
  for (const Broken& c : cases) {
    std::string text = samples::kMatmul;
    const size_t at = text.find(c.find);
    ASSERT_NE(at, std::string::npos) << c.find;
    text.replace(at, std::string(c.find).size(), c.replace);
    testing::internal::CaptureStderr();
    const auto p = parse_naut(make_context(), text, "x.naut");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << c.replace;
    ASSERT_FALSE(p) << c.replace;
    EXPECT_EQ(p.error().where.find(c.where), 0u) << c.replace << ": " << p.error().text();
    EXPECT_NE(p.error().text().find(c.why), std::string::npos)
        << c.replace << ": " << p.error().text();
  }
}

TEST(Naut, HugeAndDeepInputs) {
  std::string text = samples::kMatmul;
  auto with = [&](const std::string& from, const std::string& to) {
    std::string t = text;
    t.replace(t.find(from), from.size(), to);
    return parse_naut(make_context(), t).has_value();
  };
  EXPECT_FALSE(with("expr $0 * $1", "expr " + std::string(100000, '(') + "1"));
  EXPECT_FALSE(with("0 <= i < N", std::string(100000, '(') + "0 <= i"));
  EXPECT_FALSE(with("0 <= i < N", "0 <= i < " + std::string(100000, '9')));
  EXPECT_FALSE(with("over 2", "over 99999999999999999999"));
  EXPECT_FALSE(parse_naut(make_context(), std::string(1 << 23, 'x')));
  EXPECT_FALSE(parse_naut(make_context(), ""));
  EXPECT_FALSE(parse_naut(make_context(), std::string("naut 1\0\n", 8)));
  // Numbers beyond 64 bits are an isl value; what reads them refuses.
  std::string big = text;
  big.replace(big.find("0 <= i < N"), 10, "0 <= i < 99999999999999999999999");
  const auto p = parse_naut(make_context(), big);
  ASSERT_TRUE(p);
  EXPECT_TRUE(validate(*p));
  EXPECT_FALSE(interpret(*p, {{"N", 1}, {"M", 1}, {"K", 1}}, {{"A", {1}}, {"B", {1}}}));
}

// Random edits of good texts: any answer but a crash; what parses can be validated, printed and
// read back.
TEST(Naut, SurvivesMutations) {
  const char* seed_text = std::getenv("NAUTILUS_SEED");
  const unsigned seed = seed_text ? static_cast<unsigned>(std::atoi(seed_text)) : 7;
  SCOPED_TRACE("NAUTILUS_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  const std::vector<std::string> words{"{",
                                       "}",
                                       "[",
                                       "]",
                                       "->",
                                       ":",
                                       "N",
                                       "0",
                                       "-1",
                                       "exists",
                                       "(",
                                       ")",
                                       "S_C",
                                       "and",
                                       "or",
                                       "\n",
                                       "over",
                                       "gather",
                                       "#0",
                                       "$9",
                                       "*",
                                       "floor",
                                       "9999999999999999",
                                       "i"};
  int read = 0;
  for (int round = 0; round < 1500; ++round) {
    const char* base[] = {samples::kMatmul, samples::kSeidel, samples::kPaged};
    std::string text = base[random() % 3];
    const int edits = random() % 4 == 0 ? 2 : 1;
    for (int e = 0; e < edits; ++e) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text.erase(at, 1 + random() % 6);
          break;
        case 1:
          text.insert(at, words[random() % words.size()]);
          break;
        case 2:
          text[at] = static_cast<char>(random() % 256);
          break;
        default:
          std::swap(text[at], text[random() % text.size()]);
      }
    }
#if defined(__SANITIZE_ADDRESS__)
    __lsan_disable();  // isl's own reader leaks tokens on some errors
#endif
    const auto p = parse_naut(make_context(), text);
#if defined(__SANITIZE_ADDRESS__)
    __lsan_enable();
#endif
    if (!p) continue;
    ++read;
    (void)validate(*p);
    const auto again = parse_naut(make_context(), print_naut(*p));
    ASSERT_TRUE(again) << again.error().text() << "\n" << text << "\n" << print_naut(*p);
    EXPECT_TRUE(equal(*p, *again)) << text;
  }
  EXPECT_GT(read, 25);
}

}  // namespace
}  // namespace nautilus::poly
