// `tune` as a user runs it, with stand-ins for the compiler and the driver.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include "tests/driver/command.h"

namespace nautilus::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// Doubles every element: its plans differ in their tiles alone.
const char* const kDoubling = R"(naut 1
program doubling
sizes N
where [N] -> {  : N >= 0 }
tensor X input f32
  extent [N] -> { [(N)] }
tensor Y output f32
  extent [N] -> { [(N)] }
statement S_Y(i)
  domain [N] -> { S_Y[i] : 0 <= i < N }
  write Y [N] -> { S_Y[i] -> Y[i] }
  read X [N] -> { S_Y[i] -> X[i] }
  expr $0 * 2
)";

// A compiler of kernels for the stand-in: those of every second source that it sees double 1000
// elements, the others triple them. The fifth source's takes a millisecond, others 2 and more.
// `none`: it refuses all sources.
std::string doubling_compiler(bool none = false) {
  const std::string refuse = none ? "echo 'error: no kernel today' >&2; exit 1\n" : "";
  const std::string seen = "seen='" + write_temp("seen-sources", "") + "'\n";
  const std::string path = write_temp("doubling-nvcc", "#!/bin/sh\n" + refuse + seen + R"sh(
for a; do
  case "$a" in *.cu) source=$a ;; esac
  [ "$last" = -o ] && out=$a
  last=$a
done
name=$(grep -o 'doubling_doubling_[0-9]*' "$source" | head -1)
sum=$(cksum < "$source")
grep -q "^$sum" "$seen" || echo "$sum" >> "$seen"
line=$(grep -n "^$sum" "$seen" | head -1 | cut -d: -f1)
echo "kernel $name scale 1 0 =1000 $((3 - line % 2)) $(( (line - 5) * (line - 5) + (line != 5) )).75" > "$out"
echo "ptxas info    : Compiling entry function '$name' for 'sm_90a'" >&2
echo "ptxas info    : Used 24 registers" >&2
)sh");
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

// The fastest right kernel is kept, with its files and a session that the explorer opens.
TEST(Tune, KeepsTheFastestThatIsRight) {
  const Setting fake("NAUTILUS_LIBCUDA", NAUTILUS_FAKE_CUDA),
      compiler("NAUTILUS_NVCC", doubling_compiler());
  const std::string spec = write_temp("doubling.naut", kDoubling), out = folder("tuned"),
                    session = folder("tuned.nautilus.json");
  const Ran r = nautilusc({"tune", spec, "--size", "N=1000", "--max-plans", "40", "--seconds", "60",
                           "--jobs", "1", "--finalists", "2", "--rounds", "2", "-o", out,
                           "--session", session, "--json"});
  ASSERT_EQ(r.status, kGood) << r.err << r.out;
  const json j = r.json();
  EXPECT_EQ(j["device"], "Fake H200");
  EXPECT_EQ(j["target"], "sm_90a");
  int right = 0, wrong = 0;
  std::set<int> nodes;
  for (const json& c : j["candidates"]) {
    EXPECT_TRUE(nodes.insert(c["node"].get<int>()).second);
    EXPECT_GT(c["predicted_seconds"].get<double>(), 0);
    if (c.contains("seconds")) {
      ++right;
      EXPECT_EQ(c["why"], "");
      EXPECT_GE(c["seconds"].get<double>(), 0.999e-3);
    } else {
      ++wrong;
      EXPECT_EQ(c["why"].get<std::string>().rfind("wrong result: ", 0), 0u) << c;
    }
  }
  EXPECT_GE(right, 2);
  EXPECT_GE(wrong, 2);
  ASSERT_TRUE(j.contains("best")) << r.out;
  EXPECT_TRUE(j["best"].contains("seconds"));
  EXPECT_GE(j["best"]["samples"].size(), 3u);  // once beside others, then each round
  EXPECT_EQ(j["best"]["node"], j["candidates"].at(4)["node"]);  // the fifth source
  EXPECT_NEAR(j["best"]["seconds"].get<double>(), 1e-3, 1e-8);
  // The first, which the search alone would take: 1 + 16 + 1 ms.
  EXPECT_NEAR(j["gain_over_prediction"].get<double>(), 18, 1e-4);
  const json plan = json::parse(slurp(out + "/plan.json"), nullptr, false);
  EXPECT_EQ(plan["knobs"], j["best"]["knobs"]);
  EXPECT_EQ(slurp(out + "/doubling.cubin").rfind("kernel doubling_doubling_0 scale", 0), 0u);
  const json saved = json::parse(slurp(session), nullptr, false);
  ASSERT_TRUE(saved.is_object());
  EXPECT_EQ(saved["measured"].size(), size_t(right + wrong));
}

// What was measured before a Ctrl-C stands, and is written.
TEST(Tune, InterruptedKeepsWhatItHas) {
  const Setting fake("NAUTILUS_LIBCUDA", NAUTILUS_FAKE_CUDA),
      compiler("NAUTILUS_NVCC", doubling_compiler());
  const std::string spec = write_temp("doubling.naut", kDoubling), out = folder("interrupted-tune"),
                    session = folder("interrupted.nautilus.json");
  // Long enough for the first measurements, and far less than a million rounds take.
  const Ran r =
      nautilusc({"tune", spec, "--size", "N=1000", "--max-plans", "40", "--seconds", "60",
                 "--finalists", "2", "--rounds", "1000", "-o", out, "--session", session, "--json"},
                10);
  EXPECT_EQ(r.status, kBudget) << r.err << r.out;
  const json j = r.json();
  ASSERT_TRUE(j.contains("best")) << r.out;
  EXPECT_GT(j["best"]["samples"].size(), 1u);
  EXPECT_TRUE(fs::exists(out + "/plan.json"));
  const json saved = json::parse(slurp(session), nullptr, false);
  ASSERT_TRUE(saved.is_object());
  for (const json& c : j["candidates"])
    EXPECT_EQ(c["why"].get<std::string>().empty(), c.contains("seconds")) << c;
}

TEST(Tune, SaysWhyThereIsNothing) {
  const std::string spec = write_temp("doubling.naut", kDoubling);
  const std::vector<std::string> args{"tune", spec,        "--size", "N=1000", "--max-plans",
                                      "40",   "--seconds", "60",     "--json", "--rounds",
                                      "1",    "--jobs",    "2"};
  {
    const Setting none("NAUTILUS_LIBCUDA", "/nonexistent/libcuda.so.1");
    const Ran r = nautilusc(args);
    EXPECT_EQ(r.status, kEnvironment) << r.out;
    EXPECT_EQ(r.json()["error"]["asked"], "tune") << r.out;
  }
  const Setting fake("NAUTILUS_LIBCUDA", NAUTILUS_FAKE_CUDA);
  {
    const Setting refuses("NAUTILUS_NVCC", doubling_compiler(true));
    const Ran r = nautilusc(args);
    EXPECT_EQ(r.status, kNo) << r.err << r.out;
    const json j = r.json();
    EXPECT_FALSE(j.contains("best"));
    ASSERT_FALSE(j["candidates"].empty()) << r.out;
    for (const json& c : j["candidates"])
      EXPECT_NE(c["why"].get<std::string>().find("no kernel today"), std::string::npos) << c;
  }
  const Setting compiler("NAUTILUS_NVCC", doubling_compiler());
  const Ran bad = nautilusc({"tune", spec, "--size", "N=1000", "--candidates", "0", "--json"});
  EXPECT_EQ(bad.status, kBadInput);
  const Ran file =
      nautilusc({"tune", spec, "--size", "N=1000", "--session", "/nonexistent/s.json"});
  EXPECT_EQ(file.status, kBadInput) << file.err;
}

// Runs side by side take turns on the device.
TEST(Tune, RunsTakeTurns) {
  const Setting fake("NAUTILUS_LIBCUDA", NAUTILUS_FAKE_CUDA),
      compiler("NAUTILUS_NVCC", doubling_compiler());
  const std::string spec = write_temp("doubling.naut", kDoubling), turns = write_temp("turns", "");
  const std::vector<std::string> args{"run",         spec, "--on",      "gpu", "--size", "N=1000",
                                      "--max-plans", "40", "--seconds", "60",  "--turns"};
  const int held = ::open(turns.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  std::atomic<bool> over = false;
  Ran r;
  std::thread other([&] {
    std::vector<std::string> all = args;
    all.push_back(turns);
    r = nautilusc(all);
    over = true;
  });
  usleep(1'500'000);
  EXPECT_FALSE(over);  // it waits
  ::close(held);
  other.join();
  EXPECT_EQ(r.status, kGood) << r.err << r.out;
  std::vector<std::string> all = args;
  all.push_back("/nonexistent/turns");
  EXPECT_EQ(nautilusc(all).status, kNo);
}

}  // namespace
}  // namespace nautilus::test
