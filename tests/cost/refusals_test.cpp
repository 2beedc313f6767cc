// What a user is told when sizes and declarations do not go together.
#include "tests/cost/corpus_programs.h"

namespace nautilus::sched {
namespace {

using namespace corpus_programs;

TEST(Refusals, ASizeThatContradictsTheDeclarationIsNamedWithOneThatDoesNot) {
  auto p = poly::parse_naut(poly::make_context(), text_of("attention_global"), "corpus");
  ASSERT_TRUE(p) << p.error().text();
  struct Case {
    int64_t size;
    const char *why, *suggest;
  };
  for (const Case& c :
       {Case{1, "D = 1 contradicts what is declared: D is a multiple of 16", "D=16"},
        Case{7, "D = 7 contradicts what is declared: D is a multiple of 16", "D=16"},
        Case{25, "D is a multiple of 16", "D=32"}, Case{23, "D is a multiple of 16", "D=16"},
        Case{-1, "D = -1 is negative", "0 or more"}}) {
    auto bound = poly::bind_sizes(*p, {{"D", c.size}});
    ASSERT_FALSE(bound) << c.size;
    EXPECT_NE(bound.error().why.find(c.why), std::string::npos) << bound.error().text();
    EXPECT_NE(bound.error().suggest.find(c.suggest), std::string::npos) << bound.error().text();
    EXPECT_EQ(bound.error().text().find("->"), std::string::npos) << bound.error().text();
  }
}

}  // namespace
}  // namespace nautilus::sched
