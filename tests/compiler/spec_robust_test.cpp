// Any text at all: a diagnostic, never a crash, never a program out of nothing.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include "compiler/spec/reader.h"

namespace {

using nautilus::poly::make_context;
using nautilus::spec::load_program;
using nautilus::spec::read_spec;
using nautilus::spec::read_spec_text;
using nautilus::spec::SpecResult;

const std::string kInclude = "#include <nautilus/spec.h>\nusing namespace nautilus::spec;\n";
const std::string kRobustHead =
    kInclude +
    "NAUTILUS_KERNEL(k) {\n Size N, M;\n Input X(f32, {N, M});\n Output "
    "O(f32, {N});\n Index i(N), j(M);\n";

struct Text {
  const char* name;
  std::string text;
};
void PrintTo(const Text& t, std::ostream* os) { *os << t.name; }

class Odd : public testing::TestWithParam<Text> {};

TEST_P(Odd, IsRefusedWithWords) {
  const SpecResult r = read_spec_text(make_context(), GetParam().text, "odd.spec.cpp");
  EXPECT_FALSE(r.ok);
  EXPECT_TRUE(r.kernels.empty());
  EXPECT_NE(r.diagnostics.find("error: "), std::string::npos) << r.diagnostics;
}

std::string nested(const std::string& open, const std::string& close, int n) {
  std::string s;
  for (int k = 0; k < n; ++k) s += open;
  s += "X(i, j)";
  for (int k = 0; k < n; ++k) s += close;
  return s;
}
std::string repeated(const std::string& what, int n) {
  std::string s;
  for (int k = 0; k < n; ++k) s += what;
  return s;
}

INSTANTIATE_TEST_SUITE_P(
    Table, Odd,
    testing::Values(
        Text{"empty", ""}, Text{"blank", " \n\n"}, Text{"only_include", kInclude},
        Text{"no_include", "NAUTILUS_KERNEL(k) { Size N; }"},
        Text{"missing_include",
             "#include <no/such/file.h>\n" + kRobustHead + "O(i) = sum(j, X(i, j)); }"},
        Text{"syntax_error", kRobustHead + "O(i) = = sum(j, X(i, j)); }"},
        Text{"unbalanced", kRobustHead + "O(i) = sum(j, X(i, j));"},
        Text{"half_a_kernel", kInclude + "NAUTILUS_KERNEL("},
        Text{"kernel_without_body", kInclude + "NAUTILUS_KERNEL(k);"},
        Text{"try_block", kInclude + "static void k(Kernel) try { } catch (...) { }"},
        Text{"template_kernel", kInclude + "template <class T> void k(Kernel) { T x; }"},
        Text{"empty_kernel", kInclude + "NAUTILUS_KERNEL(k) {}"},
        Text{"lambda_body", kRobustHead + "O(i) = [&] { return X(i, 0); }(); for (;;) {} }"},
        Text{"while_loop", kRobustHead + "while (true) O(i) = X(i, j); }"},
        Text{"index_of_an_index", kRobustHead + "Index q(i); O(i) = sum(q, X(i, q)); }"},
        Text{"minuses", kRobustHead + "O(i) = " + std::string(5000, '+') + " X(i, j); }"},
        Text{"goto", kRobustHead + "again: O(i) = X(i, j); goto again; }"},
        Text{"throw", kRobustHead + "throw 1; }"},
        Text{"new_delete", kRobustHead + "auto* p = new Value(X(i, j)); O(i) = *p; delete p; }"},
        Text{"assembly", kRobustHead + "asm(\"nop\"); O(i) = X(i, j); }"},
        Text{"coroutine", kRobustHead + "co_return; }"},
        Text{"struct_inside", kRobustHead + "struct S { Value v; } s{X(i, j)}; O(i) = s.v; }"},
        Text{"pointer_to_tensor", kRobustHead + "Input* p = &X; O(i) = (*p)(i, j); }"},
        Text{"array_of_tensors",
             kRobustHead + "Tensor T[2] = {Tensor(f32), Tensor(f32)}; O(i) = T[0](i); }"},
        Text{"reference", kRobustHead + "Input& p = X; O(i) = p(i, j); }"},
        Text{"missing_values", kRobustHead + "Value v; O(i) = v; }"},
        Text{"value_of_nothing", kRobustHead + "O(i) = Value(); }"},
        Text{"none", kRobustHead + "O(i) = nautilus::spec::None(); }"},
        Text{"self_value", kRobustHead + "Value v = v + 1; O(i) = v; }"},
        Text{"self_number", kRobustHead + "int n = n + 1; O(i) = X(i, n); }"},
        Text{"changed_number", kRobustHead + "int n = 1; n = 2; O(i) = X(i, n); }"},
        Text{"static_values",
             kRobustHead + "static Value v = X(i, j); extern Value w; O(i) = w; }"},
        Text{"default_member_call",
             kRobustHead + "O(i) = Size().operator nautilus::spec::Value(); }"},
        Text{"infinite_helper", kInclude + "static Value f(Value x) { return f(x) + 1; }\n" +
                                    kRobustHead.substr(kInclude.size()) + "O(i) = f(X(i, j)); }"},
        Text{"mutual_helpers", kInclude +
                                   "static Value g(Value);\nstatic Value f(Value x) { return g(x); "
                                   "}\nstatic Value g(Value x) { return f(x); }\n" +
                                   kRobustHead.substr(kInclude.size()) + "O(i) = f(X(i, j)); }"},
        Text{"exploding_helper", kInclude + "static Value f(Value x) { return x * x; }\n" +
                                     kRobustHead.substr(kInclude.size()) + "O(i) = sum(j, " +
                                     nested("f(", ")", 40) + "); }"},
        Text{"exploding_template",
             kInclude +
                 "template <int n> Value f(Value x) { return f<n - 1>(x) + f<n - 1>(x); "
                 "}\ntemplate <> Value f<0>(Value x) { return x; }\n" +
                 kRobustHead.substr(kInclude.size()) + "O(i) = sum(j, f<60>(X(i, j))); }"},
        Text{"deep_parentheses", kRobustHead + "O(i) = sum(j, " + nested("(", ")", 5000) + "); }"},
        Text{"deep_calls", kRobustHead + "O(i) = sum(j, " + nested("exp(", ")", 3000) + "); }"},
        Text{"long_sum", kRobustHead + "O(i) = X(i, 0)" + repeated(" + X(i, 0)", 3000) + "; }"},
        Text{"huge_numbers",
             kRobustHead + "O(i) = sum(j, where(j < 99999999999999999999999), X(i, j)); }"},
        Text{"huge_index", kRobustHead + "O(i) = X(i, 9223372036854775807 * 2 + j); }"},
        Text{"minus_huge", kRobustHead + "O(i) = X(i, -9223372036854775807LL - 1); }"},
        Text{"int128",
             kRobustHead +
                 "O(i) = sum(j, X(i, j) * static_cast<double>(static_cast<__int128>(1) << "
                 "100)) + X(i, static_cast<int>(static_cast<__int128>(1) << 100)); }"},
        Text{"many_extents", kInclude + "NAUTILUS_KERNEL(k) { Size N; Output O(f32, {N, N, N, N, "
                                        "N, N, N, N, N, N, N, N, N, N}); }"},
        Text{"unicode_names", kInclude + "NAUTILUS_KERNEL(k) { Size N; Output O(f32, {N}); Index "
                                         "\xce\xb1(N); O(\xce\xb1) = f32(\xce\xb1); }"},
        Text{"nul_bytes", kRobustHead + std::string("O(i) = \0\0\0 X(i, j); }", 22)},
        Text{"include_itself", "#include \"odd.spec.cpp\"\n"},
        Text{"macro_bomb", "#define A(x) x x x x x x x x x x\n" + kRobustHead +
                               "O(i) = A(A(A(A(+ X(i, j))) X)); }"},
        Text{"isl_words", kInclude + "NAUTILUS_KERNEL(k) { Size exists; Output O(f32, {exists}); "
                                     "Index infty(exists); O(infty) = f32(infty); }"},
        Text{"redefined_header",
             "namespace nautilus::spec { class Kernel {}; class Size {}; class Value {}; }\nvoid "
             "k(nautilus::spec::Kernel) { nautilus::spec::Size N; }"},
        Text{"kernel_in_class", kInclude + "struct S { void k(Kernel) { Size N; } };"},
        Text{"only_size_twice",
             kInclude + "Size N;\nnamespace a { NAUTILUS_KERNEL(k) { Size N; Output O(f32, {N, "
                        "::N}); Index i(N), j(::N); O(i, j) = 1; } }"},
        Text{"consteval_bomb",
             "constexpr int f(int n) { return n < 2 ? 1 : f(n - 1) + f(n - 2); }\n" + kRobustHead +
                 "O(i) = X(i, f(60)); }"}),
    [](const testing::TestParamInfo<Text>& info) { return info.param.name; });

TEST(SpecRobust, BracesTooMany) {
  const SpecResult r =
      read_spec_text(make_context(), kRobustHead + "O(i) = sum(j, X(i, j)); }}}}", "odd.spec.cpp");
  EXPECT_FALSE(r.ok);
  EXPECT_NE(r.diagnostics.find("extraneous closing brace"), std::string::npos) << r.diagnostics;
}

TEST(SpecRobust, BytesOfChance) {
  std::mt19937_64 rng(20261129);
  for (int k = 0; k < 20; ++k) {
    std::string text(1 + rng() % 2000, ' ');
    for (char& c : text) c = static_cast<char>(rng());
    const SpecResult r = read_spec_text(make_context(), text, "noise.spec.cpp");
    EXPECT_FALSE(r.ok) << "seed 20261129, round " << k;
    EXPECT_FALSE(r.diagnostics.empty());
  }
}

// Tokens of a good spec dropped, doubled and exchanged: whatever comes out is a program or a
// diagnostic.
TEST(SpecRobust, MutatedSpecs) {
  std::ifstream in(std::string(NAUTILUS_SOURCE_DIR) +
                   "/corpus/kernels/attention_causal_gqa.spec.cpp");
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  ASSERT_FALSE(good.empty());
  const size_t body = good.find("Size");
  std::vector<std::string> tokens;
  for (size_t k = body; k < good.size();) {
    size_t e = k + 1;
    if (std::isalnum(static_cast<unsigned char>(good[k])))
      while (e < good.size() && std::isalnum(static_cast<unsigned char>(good[e]))) ++e;
    tokens.push_back(good.substr(k, e - k));
    k = e;
  }
  std::mt19937_64 rng(7);
  int programs = 0;
  for (int round = 0; round < 80; ++round) {
    auto t = tokens;
    for (uint64_t m = 0, n = 1 + rng() % 3; m < n; ++m) {
      const size_t a = rng() % t.size(), b = rng() % t.size();
      switch (rng() % 3) {
        case 0:
          t.erase(t.begin() + static_cast<long>(a));
          break;
        case 1:
          t[a] = t[b];
          break;
        default:
          std::swap(t[a], t[b]);
      }
    }
    std::string text = good.substr(0, body);
    for (const std::string& x : t) text += x;
    const SpecResult r = read_spec_text(make_context(), text, "mutated.spec.cpp");
    EXPECT_EQ(r.ok, r.diagnostics.find("error: ") == std::string::npos)
        << "seed 7, round " << round << "\n"
        << r.diagnostics;
    if (r.ok) programs += !r.kernels.empty();
  }
  EXPECT_GT(programs, 5);
}

TEST(SpecRobust, Files) {
  const auto ctx = make_context();
  const std::string dir = testing::TempDir();
  SpecResult r = read_spec(ctx, dir + "/there_is_no.spec.cpp");
  EXPECT_FALSE(r.ok);
  EXPECT_NE(r.diagnostics.find("no such file"), std::string::npos) << r.diagnostics;
  r = read_spec(ctx, dir);
  EXPECT_NE(r.diagnostics.find("directory"), std::string::npos) << r.diagnostics;
  auto p = load_program(ctx, dir + "/there_is_no.naut");
  EXPECT_FALSE(p);
  p = load_program(ctx, dir + "/x.txt");
  ASSERT_FALSE(p);
  const std::string corpus = std::string(NAUTILUS_SOURCE_DIR) + "/corpus/kernels/";
  p = load_program(ctx, corpus + "matmul_epilogue.spec.cpp", "matmul_bias_relu");
  ASSERT_TRUE(p) << p.error().text();
  EXPECT_EQ(p->name, "matmul_bias_relu");
  p = load_program(ctx, corpus + "matmul_epilogue.spec.cpp", "nothing");
  ASSERT_FALSE(p);
  EXPECT_NE(p.error().suggest.find("matmul_bias_gelu"), std::string::npos) << p.error().text();
  p = load_program(ctx, corpus + "matmul_epilogue.spec.cpp");
  ASSERT_FALSE(p);  // none of several is taken silently
  EXPECT_NE(p.error().why.find("matmul_bias_gelu, matmul_bias_relu, matmul_bias"),
            std::string::npos)
      << p.error().text();
  const auto all = nautilus::spec::load_programs(ctx, corpus + "matmul_epilogue.spec.cpp");
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ(all->size(), 3u);
}

TEST(SpecRobust, NautRoundTripThroughAFile) {
  const auto ctx = make_context();
  auto p = load_program(
      ctx, std::string(NAUTILUS_SOURCE_DIR) + "/corpus/kernels/attention_causal.spec.cpp");
  ASSERT_TRUE(p) << p.error().text();
  const std::string path = testing::TempDir() + "/causal.naut";
  std::ofstream(path) << nautilus::poly::print_naut(*p);
  auto q = load_program(ctx, path);
  ASSERT_TRUE(q) << q.error().text();
  EXPECT_TRUE(nautilus::poly::equal(*p, *q));
  EXPECT_FALSE(load_program(ctx, path, "other"));
  std::remove(path.c_str());
}

TEST(SpecRobust, OneSpecTakesWellUnderASecond) {
  const auto t0 = std::chrono::steady_clock::now();
  EXPECT_TRUE(read_spec(make_context(), std::string(NAUTILUS_SOURCE_DIR) +
                                            "/corpus/kernels/attention_causal_gqa.spec.cpp")
                  .ok);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count(), 1.0);
}

}  // namespace
