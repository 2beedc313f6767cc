// Every corpus kernel runs the search's best plan on the CPU and matches the double-precision
// reference, at its typical sizes and at awkward ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/driver/command.h"

namespace nautilus::test {
namespace {

std::vector<std::string> kernels() {
  std::vector<std::string> out;
  for (const auto& e : std::filesystem::directory_iterator(NAUTILUS_SOURCE_DIR "/corpus/kernels")) {
    const std::string name = e.path().filename().string();
    if (name.ends_with(".spec.cpp")) out.push_back(name.substr(0, name.size() - 9));
  }
  std::sort(out.begin(), out.end());
  return out;
}

class Corpus : public testing::TestWithParam<std::string> {};

void expect_passes(const Ran& r) {
  const nlohmann::json j = r.json();
  ASSERT_FALSE(j.is_discarded()) << r.out << r.err;
  EXPECT_EQ(r.status, 0) << r.out << r.err;
  ASSERT_TRUE(j.contains("passed")) << r.out;
  EXPECT_TRUE(j["passed"].get<bool>()) << r.out;
  EXPECT_TRUE(j.contains("max_error") && j.contains("rms_error"));
}

TEST_P(Corpus, BestPlanAtTypicalSizes) {
  expect_passes(nautilusc(
      {"run", GetParam(), "--on", "cpu", "--seconds", "3", "--max-plans", "500", "--json"}));
}

// Every size that has no stated fact is replaced in turn by 1, 7 and 65.
TEST_P(Corpus, BestPlanAtAwkwardSizes) {
  const nlohmann::json check = nautilusc({"check", GetParam(), "--json"}).json();
  ASSERT_TRUE(check.contains("params"));
  for (const char* value : {"1", "7", "65"}) {
    std::vector<std::string> args{"run", GetParam(),    "--on", "cpu",    "--seconds",
                                  "3",   "--max-plans", "200",  "--json", "--size"};
    size_t given = 0;
    for (const std::string name : check["params"]) {
      if (name == "B" || name == "Hk" || name == "H" || name == "G")
        args.push_back(name + "=2"), ++given;
      else if (name == "N" || name == "M" || name == "K")
        args.push_back(name + "=" + value), ++given;
    }
    if (given == 0)
      GTEST_SUCCEED();
    else
      expect_passes(nautilusc(args));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Corpus, testing::ValuesIn(kernels()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace nautilus::test
