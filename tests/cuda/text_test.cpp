// Texts of index functions mean what they were made from.
#include "compiler/backend/cuda/text.h"
#include <cmath>

#include "compiler/backend/cuda/geometry.h"
#include "compiler/backend/cuda/scalar.h"
#include "tests/cuda/helpers.h"

namespace nautilus::cuda {
namespace {

// C++'s value of an expression of + - * / % >> & ^, parentheses, numbers and x.
class Calculator {
 public:
  Calculator(std::string text, int64_t x) : text_(std::move(text)), x_(x) {}
  int64_t value() {
    const int64_t v = level(0);
    EXPECT_EQ(at_, text_.size()) << text_;
    return v;
  }

 private:
  std::string text_;
  int64_t x_;
  size_t at_ = 0;
  void space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(const std::string& s) {
    space();
    if (text_.compare(at_, s.size(), s) != 0) return false;
    at_ += s.size();
    return true;
  }
  int64_t atom() {
    if (take("(")) {
      const int64_t v = level(0);
      EXPECT_TRUE(take(")")) << text_;
      return v;
    }
    if (take("x")) return x_;
    if (take("-")) return -atom();
    space();
    size_t end = at_;
    while (end < text_.size() && std::isdigit(static_cast<unsigned char>(text_[end]))) ++end;
    if (end == at_) {
      ADD_FAILURE() << "not a number: " << text_.substr(at_);
      at_ = text_.size();
      return 0;
    }
    const int64_t v = std::stoll(text_.substr(at_, end - at_));
    at_ = end;
    return v;
  }
  int64_t level(int n) {
    static const std::vector<std::vector<std::string>> operators{
        {"^"}, {"&"}, {">>"}, {"+", "-"}, {"*", "/", "%"}};
    if (n == int(operators.size())) return atom();
    int64_t v = level(n + 1);
    for (bool more = true; more;) {
      more = false;
      for (const std::string& o : operators[size_t(n)])
        if (take(o)) {
          const int64_t w = level(n + 1);
          v = o == "^"    ? v ^ w
              : o == "&"  ? v & w
              : o == ">>" ? v >> w
              : o == "+"  ? v + w
              : o == "-"  ? v - w
              : o == "*"  ? v * w
              : o == "/"  ? v / w
                          : v % w;
          more = true;
          break;
        }
    }
    return v;
  }
};

TEST(CudaText, Bits) {
  const std::vector<std::vector<uint64_t>> maps{{1, 2, 4, 8, 16},        {0, 0, 1, 2, 4},
                                                {64, 144, 288, 512, 16}, {1, 1, 2, 4, 8},
                                                {3, 6, 12, 24, 48},      {0, 0, 0, 0, 0}};
  for (const auto& images : maps) {
    const std::string t = bits_text("x", images);
    for (int64_t x = 0; x < 32; ++x) {
      uint64_t wanted = 0;
      for (size_t b = 0; b < images.size(); ++b)
        if (x >> b & 1) wanted ^= images[b];
      EXPECT_EQ(uint64_t(Calculator(t, x).value()), wanted) << t << " at " << x;
    }
  }
}

TEST(CudaText, Tables) {
  const std::vector<std::vector<int64_t>> tables{{0, 1, 2, 3},
                                                 {5},
                                                 {7, 7, 7, 7},
                                                 {0, 8, 1, 9, 2, 10, 3, 11},
                                                 {0, 1, 32, 33, 64, 65},
                                                 {4, 3, 2, 1},
                                                 {0, 1, 8, 9, 16, 17, 24, 25},
                                                 {0, 2, 1, 3, 10, 12, 11, 13, 20, 22, 21, 23}};
  for (const auto& table : tables) {
    const auto t = table_text(table, "x");
    ASSERT_TRUE(t);
    for (size_t x = 0; x < table.size(); ++x)
      EXPECT_EQ(Calculator(*t, int64_t(x)).value(), table[x]) << *t << " at " << x;
  }
  EXPECT_FALSE(table_text({0, 3, 1, 9, 2}, "x"));
}

TEST(CudaText, FactsProveBounds) {
  const IndexExpr i = IndexExpr::var("i"), g = IndexExpr::var("g"), n = IndexExpr::var("N");
  Facts f;
  f.ranges["N"] = {0, std::nullopt};
  f.ranges["g"] = {0, std::nullopt};
  f.ranges["i"] = {0, 63};
  f.bounds.push_back({"g", 0, n - 1});
  EXPECT_TRUE(f.always({n - 1 - g, false}));
  EXPECT_TRUE(f.always({g * 2 + i, false}));
  EXPECT_FALSE(f.always({n - 1 - i, false}));
  EXPECT_FALSE(f.always({n - g * 2, false}));
  EXPECT_TRUE(f.always({IndexExpr(63) - IndexExpr::mod(i, 8) * 9, false}));
}

// Inside a branch its condition is known; and a loop's last value may be a quotient of sizes. What
// is shown holds at every size.
TEST(CudaText, FactsProveWhatBranchesSay) {
  const auto v = [](const char* name) { return IndexExpr::var(name); };
  const IndexExpr blocks = IndexExpr::floordiv(v("N") + 63, 64),
                  tiles = v("i") * 2 + IndexExpr::floordiv(v("M") - v("N") + 1, 32);
  Facts f;
  f.ranges = {{"N", {0, {}}}, {"M", {0, {}}}, {"i", {0, {}}},
              {"j", {0, {}}}, {"r", {0, 63}}, {"c", {0, 31}}};
  f.bounds = {{"i", 0, blocks - 1}, {"j", 0, tiles - 1}};
  const IndexExpr rows = v("N") - v("i") * 64 - v("r") - 1,
                  columns = v("M") - v("j") * 32 - v("c") - 1;
  EXPECT_FALSE(f.always({rows, false}));
  EXPECT_FALSE(f.always({columns, false}));
  f.positive = {v("N") - v("i") * 64 - 64};
  EXPECT_TRUE(f.always({rows, false}));
  EXPECT_FALSE(f.always({rows - 1, false}));
  EXPECT_TRUE(f.always({columns, false}));
  for (int64_t slack = 0; slack <= 256; ++slack) {
    if (!f.always({columns - slack, false})) break;
    for (int64_t n = 0; n <= 200; n += 3)
      for (int64_t m = 0; m <= 200; m += 7)
        for (int64_t i = 0; 64 * i + 64 <= n; ++i) {
          std::map<std::string, int64_t> at{{"N", n}, {"M", m}, {"i", i}, {"c", 31}};
          const int64_t end = tiles.evaluate(at);
          if (end <= 0) continue;
          at["j"] = end - 1;
          ASSERT_GE((columns - slack).evaluate(at), 0) << slack << " " << n << " " << m << " " << i;
        }
  }
}

// Names are the first free of x, x_2, x_3, ...; a large kernel takes a hundred thousand of them.
TEST(CudaText, NamesAreTheFirstThatIsFree) {
  Namer names;
  EXPECT_EQ(names.fresh("acc"), "acc");
  EXPECT_EQ(names.fresh("acc_3"), "acc_3");
  EXPECT_EQ(names.fresh("acc"), "acc_2");
  EXPECT_EQ(names.fresh("acc"), "acc_4");
  EXPECT_EQ(names.fresh("acc_2"), "acc_2_2");
  EXPECT_EQ(names.fresh("for"), "for_2") << "a word of C++";
  EXPECT_EQ(names.fresh("0.a"), "v0_a");
  Namer copy = names;
  EXPECT_EQ(copy.fresh("acc"), "acc_5");
  EXPECT_EQ(names.fresh("acc"), "acc_5") << "kernels name their own";
  const int many = 100'000;
  for (int n = 0; n < many; ++n) names.fresh("x");
  EXPECT_EQ(names.fresh("x"), "x_" + std::to_string(many + 1));
}

TEST(CudaScalar, ElementBitsReadBack) {
  EXPECT_EQ(element_bits(1.0, Type::F16), 0x3c00u);
  EXPECT_EQ(element_bits(-2.5, Type::F16), 0xc100u);
  EXPECT_EQ(element_bits(std::ldexp(1.0, -24), Type::F16), 1u);
  EXPECT_EQ(element_bits(1e9, Type::F16), 0x7c00u);
  EXPECT_EQ(element_bits(1.0, Type::BF16), 0x3f80u);
  EXPECT_EQ(element_bits(448.0, Type::E4M3), 0x7eu);
  EXPECT_EQ(element_bits(1.0, Type::E5M2), 0x3cu);
  EXPECT_EQ(element_bits(-3.0, Type::I8), 0xfdu);
  EXPECT_EQ(literal(0.1, Type::F32), "0.1f");
  EXPECT_EQ(literal(-INFINITY, Type::F32), "-INFINITY");
}

TEST(CudaGeometry, AlignsBroadcastOperands) {
  const memory::Placement acc{
      *memory::parse_linear("register: j=1 i=8 j=8; lane: j=2 j=4 i=1 i=2 i=4"), {}};
  const Geometry tile(acc, {{"i", 16}, {"j", 16}}), row(memory::without(acc, {"j"}), {{"i", 16}});
  EXPECT_EQ(aligned(row, tile), (std::vector<int>{0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(copies_of(row).lanes, 3u);
  EXPECT_EQ(copies_of(tile).lanes, 0u);
}

}  // namespace
}  // namespace nautilus::cuda
