// What is wrong in a spec is said in Clang's manner: the place (marked /*^*/ here) and a way out.
#include <gtest/gtest.h>

#include "compiler/spec/reader.h"

namespace {

using nautilus::poly::make_context;
using nautilus::spec::read_spec_text;
using nautilus::spec::SpecResult;

struct BadSpec {
  const char* name;
  const char* body;     // of a kernel k; the caret is expected right after /*^*/
  const char* message;  // in the diagnostic at that place
  const char* way_out;  // somewhere in the notes
};
void PrintTo(const BadSpec& c, std::ostream* os) { *os << c.name; }

const char* const kDiagnosticHead =
    "  Size N, M, L;\n"
    "  Input X(f32, {N, M}), Y(f32, {N}), H(f16, {N}), I(i32, {N});\n"
    "  Index i(N), j(M), k(N), jj(M);\n";

std::string spec_of(const std::string& body, bool head = true) {
  return "#include <nautilus/spec.h>\nusing namespace nautilus::spec;\nNAUTILUS_KERNEL(k1) {\n" +
         std::string(head ? kDiagnosticHead : "") + body + "\n}\n";
}

// "name:line:column" of the first mark.
std::string place_of(const std::string& text) {
  const size_t at = text.find("/*^*/") + 5;
  int line = 1, column = 1;
  for (size_t k = 0; k < at; ++k)
    if (text[k] == '\n')
      ++line, column = 1;
    else
      ++column;
  return "spec.cpp:" + std::to_string(line) + ":" + std::to_string(column);
}

class Diagnostics : public testing::TestWithParam<BadSpec> {};

TEST_P(Diagnostics, SaysWhatWhereAndTheWayOut) {
  const std::string text = spec_of(GetParam().body);
  const SpecResult r = read_spec_text(make_context(), text, "spec.cpp");
  EXPECT_FALSE(r.ok) << text;
  EXPECT_TRUE(r.kernels.empty());
  const bool marked = text.find("/*^*/") != std::string::npos;
  const std::string first = marked ? place_of(text) + ": error: " : ": error: ";
  const size_t at = r.diagnostics.find(first);
  ASSERT_NE(at, std::string::npos) << "expected at " << first << "\n" << r.diagnostics;
  const std::string line = r.diagnostics.substr(at, r.diagnostics.find('\n', at) - at);
  EXPECT_NE(line.find(GetParam().message), std::string::npos) << r.diagnostics;
  EXPECT_NE(r.diagnostics.find(GetParam().way_out), std::string::npos) << r.diagnostics;
  EXPECT_NE(r.diagnostics.find("^"), std::string::npos) << r.diagnostics;
}

INSTANTIATE_TEST_SUITE_P(
    Table, Diagnostics,
    testing::Values(
        BadSpec{"unknown_name", "Output O(f32, {N});\nO(i) = Y(i) + /*^*/Z(i);",
                "undeclared identifier 'Z'", ""},
        BadSpec{"unknown_index", "Output O(f32, {N});\nO(i) = Y(/*^*/q);",
                "undeclared identifier 'q'", ""},
        BadSpec{"too_few_indices", "Output O(f32, {N});\nO(i) = /*^*/X(i);",
                "'X' has 2 dimensions, but 1 index is given", "declared here"},
        BadSpec{"too_many_indices", "Output O(f32, {N});\nO(i) = /*^*/Y(i, i);",
                "'Y' has 1 dimension, but 2 indices are given", "declared here"},
        BadSpec{"wrong_rank_on_the_left", "Output O(f32, {N});\n/*^*/O(i, j) = X(i, j);",
                "'O' has 1 dimension, but 2 indices are given", "declared here"},
        BadSpec{"index_outside_reduction",
                "Output O(f32, {N});\nO(i) = sum(j, X(i, j)) + X(i, /*^*/j);",
                "index 'j' is used outside its reduction", "sum(j, ...)"},
        BadSpec{"free_index_not_on_the_left", "Output O(f32, {N});\nO(i) = X(i, /*^*/j);",
                "index 'j' is used outside its reduction", "left of the definition"},
        BadSpec{"defined_twice", "Output O(f32, {N});\nO(i) = Y(i);\n/*^*/O(i) = 2 * Y(i);",
                "'O' is defined twice", "where(condition"},
        BadSpec{"overlapping_parts",
                "Output O(f32, {N});\nO(i) = where(i < 5, Y(i));\n/*^*/O(i) = where(i >= 4, 0);",
                "'O' is defined twice", "where(condition"},
        BadSpec{"output_never_defined", "Output /*^*/O(f32, {N});\n", "output 'O' is never defined",
                "write O(i"},
        BadSpec{"intermediate_never_defined",
                "Tensor /*^*/T(f32);\nOutput O(f32, {N});\nO(i) = T(i);",
                "'T' is used but never defined", "write T(i"},
        BadSpec{"does_not_cover",
                "Output O(f32, {N, M});\n/*^*/O(i, j) = softmax(j, where(j <= i), X(i, j));",
                "definition does not cover the output 'O'", "O(i, j) = where(!condition, 0)"},
        BadSpec{"does_not_cover_shape", "Output O(f32, {N + 1});\n/*^*/O(i) = Y(i);",
                "definition does not cover the output 'O'", "define the rest"},
        BadSpec{"covers_only_by_data", "Output O(f32, {N});\n/*^*/O(i) = where(I(i) > 0, Y(i));",
                "where it is defined depends on data", "select(condition, x, 0)"},
        BadSpec{"cycle",
                "Tensor A(f32), B(f32);\nOutput O(f32, {N});\n/*^*/A(i) = B(i) + 1;\nB(i) = "
                "A(i);\nO(i) = A(i);",
                "cyclic definition: A needs B needs A", "cannot be defined by its own elements"},
        BadSpec{"cycle_of_one",
                "Tensor A(f32);\nOutput O(f32, {N});\n/*^*/A(i) = Y(i) + A(i);\nO(i) = A(i);",
                "cyclic definition: A needs A", "recurrences"},
        BadSpec{"product_of_indices", "Output O(f32, {N});\nO(i) = sum(j, X(i, i /*^*/* j));",
                "'i * j' is not affine", "one dimension more"},
        BadSpec{"product_as_value", "Output O(f32, {N});\nO(i) = Y(i) * f32(i /*^*/* i);",
                "'i * i' is not affine", "f32(i) * f32(i)"},
        BadSpec{"division_by_size", "Output O(f32, {N});\nO(i) = Y(i / /*^*/M);",
                "needs a positive constant on its right", "use a number"},
        BadSpec{"division_by_zero", "Output O(f32, {N});\nO(i) = Y(i / /*^*/0);",
                "needs a positive constant", ""},
        BadSpec{"large_index", "Output O(f32, {N});\nO(i) = sum(j, X(i, j - /*^*/1099511627777));",
                "this number is too large for an index", "below 2^40"},
        BadSpec{"large_number", "Output O(f32, {N});\nO(i) = Y(i) * /*^*/4611686018427387905;",
                "this number is too large", "with a decimal point (1e18)"},
        BadSpec{"large_number_for_a_double",
                "Output O(f32, {N});\nO(i) = Y(i) * /*^*/9100000000000000;",
                "this number is too large", "with a decimal point (1e18)"},
        BadSpec{"remainder_of_values", "Output O(f32, {N});\nO(i) = Y(i) /*^*/% 2;",
                "% is for indices and sizes", "x - y * floor(x / y)"},
        BadSpec{"real_index", "Output O(f32, {N});\nO(i) = Y(/*^*/0.5);",
                "an index must be an integer", ""},
        BadSpec{"float_tensor_as_index", "Output O(f32, {N});\nO(i) = Y(/*^*/Y(i));",
                "an index must be an integer, but 'Y' holds f32", "only i32 and i8"},
        BadSpec{"index_needs_cast", "Output O(f32, {N});\nO(i) = Y(i) * (i /*^*/+ 1);",
                "an index value among real numbers needs a cast", "write f32(i + 1)"},
        BadSpec{"index_value_among_reals",
                "Output O(f32, {N, M});\nO(i, j) = X(i, j) + (j /*^*/- i);",
                "an index value among real numbers needs a cast", "write f32(j - i)"},
        BadSpec{"integer_among_reals", "Output O(f32, {N});\nO(i) = Y(i) + /*^*/I(i);",
                "an integer among real numbers needs a cast", "write f32(I(i))"},
        BadSpec{"real_into_integer", "Output O(i32, {N});\nO(i) = /*^*/Y(i);",
                "'O' holds i32, but this is a real number: it needs a cast", "write i32(Y(i))"},
        BadSpec{"integer_into_real", "Output O(f32, {N});\nO(i) = /*^*/I(i);",
                "'O' holds f32, but this is an integer", "write f32(I(i))"},
        BadSpec{"truth_in_arithmetic", "Output O(f32, {N});\nO(i) = 2.0 * (Y(i) /*^*/> 0);",
                "a truth value is not a number", "select(condition"},
        BadSpec{"number_as_condition", "Output O(f32, {N});\nO(i) = select(/*^*/Y(i), 1, 2);",
                "a condition is needed here", "!= 0"},
        BadSpec{"out_of_range", "Output O(f32, {N});\nO(i) = Y(i /*^*/+ 1);",
                "index 'i + 1' leaves dimension 1 of 'Y', whose extent is N, for example at i = 0 "
                "with N = 1",
                "where(condition"},
        BadSpec{"out_of_range_below", "Output O(f32, {N});\nO(i) = Y(i /*^*/- 1);",
                "leaves dimension 1 of 'Y'", "where(condition"},
        BadSpec{"out_of_range_other_size", "Output O(f32, {N});\nO(i) = sum(j, X(/*^*/j, j));",
                "index 'j' leaves dimension 1 of 'X', whose extent is N", "at_most(M)"},
        BadSpec{"left_out_of_range", "Output O(f32, {N});\nO(i /*^*/+ 1) = Y(i);",
                "index 'i + 1' leaves dimension 1 of 'O'", "declare a larger extent"},
        BadSpec{"not_injective", "Output O(f32, {N});\n/*^*/O(i / 2) = Y(i);",
                "different index values define the same element", "defined once"},
        BadSpec{"reduced_index_is_free", "Output O(f32, {N, M});\nO(i, j) = sum(/*^*/j, X(i, j));",
                "reduction index 'j' is also free here", "declare another"},
        BadSpec{"nested_same_index",
                "Output O(f32, {N});\nO(i) = sum(j, X(i, j) * max(/*^*/j, X(i, j)));",
                "reduction index 'j' is also free here", "declare another"},
        BadSpec{"reduced_twice", "Output O(f32, {N});\nO(i) = sum({j, /*^*/j}, X(i, j));",
                "runs over 'j' twice", ""},
        BadSpec{"negative_extent",
                "Output O(f32, {N});\nTensor T(f32, {N /*^*/- 4});\nO(i) = Y(i);\nIndex q(N - "
                "4);\nT(q) = Y(q);",
                "extent N - 4 of 'T' is a negative size at N = 0", "at_least"},
        BadSpec{"negative_number",
                "Output O(f32, {N});\nIndex q(/*^*/-3);\nO(i) = Y(i) + sum(q, Y(q));",
                "a negative size", ""},
        BadSpec{"impossible_facts",
                "Size /*^*/Z = at_least(4).at_most(3);\nOutput O(f32, {N});\nO(i) = Y(i);",
                "no value of 'Z' fulfils these facts", ""},
        BadSpec{"negative_fact", "Size Z = at_most(/*^*/-1);\nOutput O(f32, {N});\nO(i) = Y(i);",
                "a negative size", ""},
        BadSpec{"typical_contradicts",
                "Size Z = multiple_of(16).typical(/*^*/17);\nOutput O(f32, {N});\nO(i) = Y(i);",
                "typical sizes contradict", ""},
        BadSpec{"define_input", "Output O(f32, {N});\nO(i) = Y(i);\n/*^*/H(i) = Y(i);",
                "input 'H' cannot be defined", "declare it as Tensor or Output"},
        BadSpec{"reserved_name", "Size /*^*/mod;\nOutput O(f32, {N});\nO(i) = Y(i);",
                "the name 'mod' has a meaning of its own", "choose another"},
        BadSpec{
            "bad_monoid",
            "Monoid /*^*/m(0, [](Value a, Value b) { return a - b; });\nOutput O(f32, {N});\nO(i) "
            "= reduce(m, j, X(i, j));",
            "the operation of 'm' is not commutative", ""},
        BadSpec{
            "bad_identity",
            "Monoid /*^*/m(1, [](Value a, Value b) { return a + b; });\nOutput O(f32, {N});\nO(i) "
            "= reduce(m, j, X(i, j));",
            "1 is not the identity of 'm'", ""},
        BadSpec{"chained_comparison",
                "Output O(f32, {N});\nO(i) = sum(j, where(0 /*^*/<= j <= i), X(i, j));",
                "a comparison cannot be compared again", "a <= b && b <= c"},
        BadSpec{"loop", "Output O(f32, {N});\n/*^*/for (int q = 0; q < 3; ++q) O(i) = Y(i);",
                "a spec has no loops", "an equation"},
        BadSpec{"branch", "Output O(f32, {N});\n/*^*/if (true) O(i) = Y(i);",
                "a spec has no branches", "select(condition"},
        BadSpec{"no_definition", "Output O(f32, {N});\nO(i) = Y(i);\n/*^*/Y(i);",
                "this statement defines nothing", "T(i, j) = ..."},
        BadSpec{"recursive_function",
                "auto f = [](auto self, Value x) -> Value { return self(self, x) + 1; };\nOutput "
                "O(f32, {N});\nO(i) = f(f, Y(i));",
                "'operator()' calls itself without end", ""},
        BadSpec{"conditional_operator", "Output O(f32, {N});\nO(i) = Y(/*^*/true ? i : k);", "",
                ""}),
    [](const testing::TestParamInfo<BadSpec>& info) { return info.param.name; });

TEST(SpecDiagnostics, ErrorInOneKernelLeavesTheOthers) {
  const std::string text =
      "#include <nautilus/spec.h>\nusing namespace nautilus::spec;\n"
      "NAUTILUS_KERNEL(bad) { Size N; Output O(f32, {N}); Index i(N); O(i) = nothing(i); }\n"
      "NAUTILUS_KERNEL(good) { Size N; Output O(f32, {N}); Index i(N); O(i) = f32(i); }\n"
      "NAUTILUS_KERNEL(worse) { Size N; Output O(f32, {N}); Index i(N); O(i) = i; }\n";
  const SpecResult r = read_spec_text(make_context(), text, "spec.cpp");
  EXPECT_FALSE(r.ok);
  ASSERT_EQ(r.kernels.size(), 1u) << r.diagnostics;
  EXPECT_EQ(r.kernels[0].name, "good");
}

TEST(SpecDiagnostics, PointsIntoTheCallForShorthands) {
  const std::string text = spec_of("Output O(f32, {N});\nO(i) = logsumexp(j, /*^*/X(i));");
  const SpecResult r = read_spec_text(make_context(), text, "spec.cpp");
  EXPECT_FALSE(r.ok);
  EXPECT_NE(r.diagnostics.find(place_of(text) + ": error: 'X' has 2 dimensions"), std::string::npos)
      << r.diagnostics;
  EXPECT_EQ(r.diagnostics.find("spec.h"), std::string::npos) << r.diagnostics;
}

TEST(SpecDiagnostics, WarnsOfWhatIsUnused) {
  const std::string text = spec_of("Output O(f32, {N});\nO(i) = sum(jj, X(i, jj));");
  const SpecResult r = read_spec_text(make_context(), text, "spec.cpp");
  EXPECT_TRUE(r.ok) << r.diagnostics;
  EXPECT_EQ(r.kernels.size(), 1u);
  for (const char* part : {"warning: index 'j' is never used", "warning: index 'k' is never used",
                           "warning: 'H' is never used"})
    EXPECT_NE(r.diagnostics.find(part), std::string::npos) << part << "\n" << r.diagnostics;
}

TEST(SpecDiagnostics, WarnsOfATermWithoutTheReducedIndex) {
  const SpecResult r = read_spec_text(
      make_context(), spec_of("Output O(f32, {N});\nO(i) = sum(j, Y(i));"), "spec.cpp");
  EXPECT_TRUE(r.ok) << r.diagnostics;
  EXPECT_NE(r.diagnostics.find("does not depend on 'j'"), std::string::npos) << r.diagnostics;
}

TEST(SpecDiagnostics, WarnsOfIntegerDivision) {
  const SpecResult r = read_spec_text(
      make_context(), spec_of("Output O(f32, {N});\nO(i) = Y(i) * (1 / 2);"), "spec.cpp");
  EXPECT_NE(r.diagnostics.find("integer division"), std::string::npos) << r.diagnostics;
}

TEST(SpecDiagnostics, NothingForAGoodSpec) {
  const SpecResult r = read_spec_text(
      make_context(),
      spec_of("Size N;\nInput X(f32, {N});\nOutput O(f32, {N});\nIndex i(N);\nO(i) = 2 * X(i);",
              false),
      "spec.cpp");
  EXPECT_TRUE(r.ok);
  EXPECT_EQ(r.diagnostics, "");
}

}  // namespace
