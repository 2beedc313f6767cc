// Every corpus kernel runs the search's best plan on the CPU and matches the double-precision
// reference, at its typical sizes and at awkward ones; and as CUDA for sm_80 and sm_90a it passes
// the memory interpreter, and spills nothing where there is a compiler to say so.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <tuple>

#include "tests/driver/command.h"

namespace nautilus::test {
namespace {

struct Kernel {
  std::string file, name;
};
void PrintTo(const Kernel& k, std::ostream* os) { *os << k.file << ":" << k.name; }

// Every kernel of every file.
std::vector<Kernel> kernels() {
  std::vector<Kernel> out;
  const std::regex head("NAUTILUS_KERNEL\\((\\w+)\\)");
  for (const auto& e : std::filesystem::directory_iterator(NAUTILUS_SOURCE_DIR "/corpus/kernels")) {
    const std::string name = e.path().filename().string();
    if (!name.ends_with(".spec.cpp")) continue;
    const std::string text = slurp(e.path().string());
    for (std::sregex_iterator m(text.begin(), text.end(), head), end; m != end; ++m)
      out.push_back({name.substr(0, name.size() - 9), (*m)[1]});
  }
  std::sort(out.begin(), out.end(), [](const Kernel& a, const Kernel& b) {
    return std::tie(a.file, a.name) < std::tie(b.file, b.name);
  });
  return out;
}

class Corpus : public testing::TestWithParam<Kernel> {
 protected:
  Ran run(const std::vector<std::string>& sizes, const char* plans) const {
    std::vector<std::string> args{"run",         GetParam().file,
                                  "--kernel",    GetParam().name,
                                  "--on",        "cpu",
                                  "--machine",   NAUTILUS_SOURCE_DIR "/tests/autosched/cpu.json",
                                  "--seconds",   "60",
                                  "--max-plans", plans,
                                  "--json"};
    if (!sizes.empty()) args.push_back("--size");
    args.insert(args.end(), sizes.begin(), sizes.end());
    return nautilusc(args);
  }
};

void expect_passes(const Ran& r) {
  const nlohmann::json j = r.json();
  ASSERT_FALSE(j.is_discarded()) << r.out << r.err;
  EXPECT_EQ(r.status, 0) << r.out << r.err;
  ASSERT_TRUE(j.contains("passed")) << r.out;
  EXPECT_TRUE(j["passed"].get<bool>()) << r.out;
  EXPECT_TRUE(j.contains("max_error") && j.contains("rms_error"));
  const std::string stop = j["rewriting"]["stop_reason"];
  EXPECT_TRUE(stop == "saturated" || stop.ends_with("limit")) << stop;
}

TEST_P(Corpus, BestPlanAtTypicalSizes) { expect_passes(run({}, "120")); }

// Every size whose facts allow it becomes 0, 1, 7 and 65 (at most 2 where the typical value is
// small, as of batches and heads).
TEST_P(Corpus, BestPlanAtAwkwardSizes) {
  const std::vector<std::string> kernel{GetParam().file, "--kernel", GetParam().name, "--json"};
  auto check = [&](std::vector<std::string> more) {
    std::vector<std::string> args{"check"};
    args.insert(args.end(), kernel.begin(), kernel.end());
    args.insert(args.end(), more.begin(), more.end());
    return nautilusc(args);
  };
  const nlohmann::json about = check({}).json();
  ASSERT_TRUE(about.contains("typical"));
  std::vector<std::string> free;
  for (const auto& [name, value] : about["typical"].items())
    if (check({"--size", name + "=7"}).status == 0) free.push_back(name);
  ASSERT_FALSE(free.empty());
  for (const int value : {0, 1, 7, 65}) {
    std::vector<std::string> sizes;
    for (const std::string& name : free)
      sizes.push_back(name + "=" +
                      std::to_string(about["typical"][name] > 8 ? value : std::min(value, 2)));
    SCOPED_TRACE("every size " + std::to_string(value));
    expect_passes(run(sizes, "60"));
  }
}

TEST_P(Corpus, CudaPassesTheInterpreter) {
  const std::string out = testing::TempDir() + "/nautilus-corpus-" + GetParam().name;
  for (const char* target : {"sm_80", "sm_90a"}) {
    const Ran r = nautilusc({"compile", GetParam().file, "--kernel", GetParam().name, "--target",
                             target, "--seconds", "60", "--max-plans", "100", "-o", out, "--json"});
    ASSERT_EQ(r.status, 0) << target << "\n" << r.out << r.err;
    const nlohmann::json j = r.json(), checked = j.at("checked");
    EXPECT_TRUE(checked.at("done").get<bool>()) << target << "\n" << checked;
    EXPECT_EQ(j.value("spills", 0), 0) << target;
    EXPECT_TRUE(std::filesystem::exists(out + "/kernel.cu"));
    std::filesystem::remove_all(out);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Corpus, testing::ValuesIn(kernels()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace nautilus::test
