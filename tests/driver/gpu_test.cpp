// `compile` and `run --on gpu` as a user runs them, on a machine without a GPU.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "compiler/backend/cuda/cuda.h"
#include "tests/driver/command.h"

namespace nautilus::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const std::vector<std::string> kSmall{"--size", "N=40",      "M=96", "--max-plans",
                                      "40",     "--seconds", "60",   "--json"};
Ran small(std::vector<std::string> args) {
  args.insert(args.end(), kSmall.begin(), kSmall.end());
  return nautilusc(args);
}

TEST(Gpu, AbsentDriverIsNamed) {
  const Setting no("NAUTILUS_LIBCUDA", "/nonexistent/libcuda.so.1");
  const Ran r = nautilusc({"run", "softmax", "--on", "gpu"});
  EXPECT_EQ(r.status, kEnvironment);
  EXPECT_NE(r.err.find("CUDA driver library /nonexistent/libcuda.so.1 cannot be loaded"),
            std::string::npos)
      << r.err;
  const Ran j = nautilusc({"run", "softmax", "--on", "gpu", "--json"});
  EXPECT_EQ(j.status, kEnvironment);
  EXPECT_EQ(j.json()["error"]["asked"], "run --on gpu") << j.out;
}

TEST(Gpu, DriverWithoutADeviceIsNamed) {
  const Setting fake("NAUTILUS_LIBCUDA", NAUTILUS_FAKE_CUDA), none("FAKE_CUDA_DEVICES", "0");
  const Ran r = nautilusc({"run", "softmax", "--on", "gpu"});
  EXPECT_EQ(r.status, kEnvironment);
  EXPECT_NE(r.err.find("no GPU is visible"), std::string::npos) << r.err;
}

// Plans for the GPU are made for a GPU, and that is said before the search.
TEST(Gpu, RunsNeedAGpuToPlanFor) {
  const Setting fake("NAUTILUS_LIBCUDA", NAUTILUS_FAKE_CUDA);
  const auto error = [](const char* option, const char* value) {
    const Ran r = nautilusc({"run", "softmax", "--on", "gpu", option, value, "--json"});
    EXPECT_EQ(r.status, kBadInput) << r.out << r.err;
    return r.json()["error"]["why"];
  };
  EXPECT_EQ(error("--machine", "cpu"), "it is no GPU");
  EXPECT_EQ(error("--machine", "abacus"), "no such machine");
  EXPECT_EQ(error("--target", "gtx"), "not a target that is known here");
}

TEST(Gpu, BadRequests) {
  const std::string out = folder("never");
  EXPECT_EQ(nautilusc({"compile", "softmax"}).status, kBadInput) << "no -o";
  EXPECT_EQ(nautilusc({"compile", "softmax", "--target", "sm_70", "-o", out}).status, kBadInput);
  EXPECT_EQ(nautilusc({"compile", "softmax", "--target", "gtx", "-o", out}).status, kBadInput);
  EXPECT_EQ(nautilusc({"compile", "softmax", "--machine", "cpu", "-o", out}).status, kBadInput);
  EXPECT_EQ(
      nautilusc({"compile", "softmax", "--schedule", "original", "--machine", "abacus", "-o", out})
          .status,
      kBadInput);
  EXPECT_EQ(nautilusc({"compile", NAUTILUS_SOURCE_DIR "/tests/memory/samples/gather_sums.mtile",
                       "--target", "sm_70", "-o", out})
                .status,
            kBadInput);
  EXPECT_EQ(nautilusc({"compile", "/nonexistent.mtile", "-o", out}).status, kBadInput);
  EXPECT_EQ(nautilusc({"compile", write_temp("bad.mtile", "module {"), "-o", out}).status,
            kBadInput);
  EXPECT_EQ(nautilusc({"run", "softmax", "--print", "cuda"}).status, kBadInput);
  EXPECT_EQ(nautilusc({"run", "softmax", "--print-after", "all"}).status, kBadInput);
  EXPECT_FALSE(fs::exists(out)) << "nothing is written for a bad request";
}

// Every file, and the numbers that users of --json rely on.
TEST(Gpu, CompileWritesEverything) {
  const std::string out = folder("softmax-sm80");
  const Ran r = small({"compile", "softmax", "--target", "sm_80", "-o", out});
  ASSERT_EQ(r.status, kGood) << r.err << r.out;
  const json j = r.json();
  const bool cubin = cuda::find_compiler().has_value();
  std::vector<std::string> expected{"kernel.tile",        "plan.json",       "kernel.mtile",
                                    "kernel.cu",          "kernel.map.json", "softmax.h",
                                    "softmax_launch.cpp", "softmax.py"};
  if (cubin) expected.push_back("softmax.cubin");
  for (const std::string& f : expected) {
    EXPECT_TRUE(fs::exists(out + "/" + f)) << f;
    EXPECT_GT(fs::file_size(out + "/" + f), 0u) << f;
    EXPECT_NE(std::find(j["files"].begin(), j["files"].end(), f), j["files"].end()) << f;
  }
  EXPECT_EQ(j["files"].size(), expected.size());
  EXPECT_EQ(j["target"], "sm_80");
  EXPECT_EQ(j["machine"], "a100") << "plans for a target are made for its machine";
  ASSERT_FALSE(j["kernels"].empty());
  const std::string source = slurp(out + "/kernel.cu");
  for (const json& k : j["kernels"])
    EXPECT_NE(source.find(k["kernel"].get<std::string>()), std::string::npos);
  const json plan = json::parse(slurp(out + "/plan.json"), nullptr, false);
  EXPECT_EQ(plan["target"], "sm_80");
  EXPECT_EQ(plan["sizes"]["M"], 96);
  EXPECT_TRUE(plan["script"].is_array());
  const json map = json::parse(slurp(out + "/kernel.map.json"), nullptr, false);
  ASSERT_FALSE(map["lines"].empty());
  const auto lines = std::count(source.begin(), source.end(), '\n');
  for (const json& l : map["lines"]) {
    EXPECT_GE(l["line"].get<int>(), 1);
    EXPECT_LE(l["line"].get<int>(), lines);
  }
  if (!cubin) {
    EXPECT_NE(j["no_cubin"]["why"].get<std::string>().find("nvcc"), std::string::npos);
    return;
  }
  for (const char* field : {"registers", "spills", "shared_bytes", "occupancy"}) {
    EXPECT_TRUE(j.contains(field)) << field;
    EXPECT_TRUE(j["kernels"][0].contains(field)) << field;
    EXPECT_TRUE(plan["resources"].contains(field)) << field;
  }
  EXPECT_GT(j["registers"].get<int>(), 0);
  EXPECT_GT(j["occupancy"].get<double>(), 0);
  EXPECT_GT(j["with_resources"]["seconds"].get<double>(), 0);
}

// The plan that was written gives the same source again.
TEST(Gpu, PlanReadBackGivesTheSameKernels) {
  const std::string first = folder("plan-first"), second = folder("plan-second");
  ASSERT_EQ(small({"compile", "softmax", "-o", first}).status, kGood);
  const Ran r = small({"compile", "softmax", "--plan", first + "/plan.json", "-o", second});
  ASSERT_EQ(r.status, kGood) << r.out;
  EXPECT_EQ(slurp(first + "/kernel.cu"), slurp(second + "/kernel.cu"));
  const Ran applied = nautilusc(
      {"apply", "softmax", "--size", "N=40", "M=96", "--script", first + "/plan.json", "--json"});
  EXPECT_EQ(applied.status, kGood) << applied.out;
}

TEST(Gpu, WithoutNvccTheRestIsWritten) {
  const Setting none("NAUTILUS_NVCC", "/nonexistent/nvcc"), path("PATH", "/nonexistent");
  if (cuda::find_compiler()) GTEST_SKIP() << "nvcc is found in a folder that is always looked in";
  const std::string out = folder("no-nvcc");
  const Ran r = small({"compile", "softmax", "-o", out});
  ASSERT_EQ(r.status, kGood) << r.err << r.out;
  EXPECT_NE(r.json()["no_cubin"]["why"].get<std::string>().find("nvcc"), std::string::npos);
  EXPECT_TRUE(fs::exists(out + "/kernel.cu"));
  EXPECT_FALSE(fs::exists(out + "/softmax.cubin"));
}

// nvcc starts programs of its own, and none of them hears the terminal's Ctrl-C.
TEST(Gpu, CtrlCEndsWhatTheCompilerStarted) {
  const std::string child = write_temp("child", "");
  const std::string compiler = write_temp(
      "slow-nvcc", "#!/bin/sh\nsleep 300 & echo $! > '" + child + "'\nkill -INT $PPID\nwait\n");
  fs::permissions(compiler, fs::perms::owner_all);
  const Setting slow("NAUTILUS_NVCC", compiler);
  const Ran r =
      nautilusc({"compile", NAUTILUS_SOURCE_DIR "/tests/memory/samples/ampere_product.mtile", "-o",
                 folder("interrupted")});
  EXPECT_EQ(r.status, 130) << r.err << r.out;
  const std::string pid = slurp(child).substr(0, slurp(child).find('\n'));
  ASSERT_FALSE(pid.empty());
  bool ended = false;
  for (int k = 0; k < 1000 && !ended; ++k) {
    const std::string state = slurp("/proc/" + pid + "/stat");
    ended = state.empty() || state.find(") Z") != std::string::npos;
    usleep(10'000);
  }
  EXPECT_TRUE(ended);
}

TEST(Gpu, MemoryProgramsCompileAsTheyStand) {
  const std::string out = folder("product");
  const Ran r =
      nautilusc({"compile", NAUTILUS_SOURCE_DIR "/tests/memory/samples/ampere_product.mtile", "-o",
                 out, "--json"});
  ASSERT_EQ(r.status, kGood) << r.err << r.out;
  const json j = r.json();
  EXPECT_EQ(j["name"], "ampere_product");
  EXPECT_EQ(j["kernels"][0]["grid"].size(), 2u);
  EXPECT_EQ(j["kernels"][0]["threads"], 128);
  const std::string wrapper = slurp(out + "/ampere_product.py");
  EXPECT_NE(wrapper.find("(\"K8\", \"A\", 1, 8, 0,)"), std::string::npos)
      << "the size K8 is found from A's second dimension, a multiple of 8";
}

// Kernels are run in the memory interpreter before they are handed out.
TEST(Gpu, CompileChecksKernels) {
  const std::string out = folder("checked");
  const json j = small({"compile", "softmax", "-o", out}).json()["checked"];
  EXPECT_EQ(j["done"], true) << j;
  EXPECT_EQ(j["every_block"], true) << j;
  EXPECT_EQ(j["values"], true) << j;
  EXPECT_EQ(j["left_out"], "") << j;
  EXPECT_EQ(j["sizes"]["M"], 96) << "a row is one tile";
  const json none = small({"compile", "softmax", "-o", out, "--no-check"}).json()["checked"];
  EXPECT_EQ(none["done"], false) << none;
  EXPECT_EQ(none["left_out"], "--no-check");
}

// Large sizes: the same steps at small ones, with what was left over beside full tiles.
TEST(Gpu, ChecksOfLargeKernelsAreMadeAtSmallSizes) {
  const Ran r =
      nautilusc({"compile", "attention_causal", "--size", "B=1", "H=8", "N=1025", "M=1025", "D=64",
                 "--max-plans", "60", "--seconds", "60", "-o", folder("large"), "--json"});
  ASSERT_EQ(r.status, kGood) << r.err;
  const json j = r.json()["checked"];
  EXPECT_EQ(j["done"], true) << j;
  EXPECT_EQ(j["reduced"], true) << j;
  EXPECT_EQ(j["sizes"]["N"], j["sizes"]["M"]) << "a causal mask compares rows with columns";
  EXPECT_LT(j["sizes"]["N"], 1025) << j;
  EXPECT_EQ(j["sizes"]["N"].get<int>() % 8, 1) << j;
  EXPECT_EQ(j["sizes"]["D"], 64) << j;
}

// A head's tiles by bulk copies, however many heads there are: strides are products of open sizes.
TEST(Gpu, OpenSizesOfTensorMaps) {
  const std::string out = folder("open_maps");
  const Ran r = nautilusc({"compile",    "attention_causal", "--size", "N=4096",    "M=4096",
                           "D=128",      "--symbolic",       "B",      "H",         "N",
                           "M",          "--target",         "sm_90a", "--machine", "h200",
                           "--no-check", "--max-plans",      "300",    "-o",        out,
                           "--json"});
  ASSERT_EQ(r.status, kGood) << r.err << r.out;
  const std::string launcher = slurp(out + "/attention_causal_launch.cpp");
  EXPECT_NE(launcher.find("uint64_t(M), uint64_t(H), uint64_t(B)}"), std::string::npos) << launcher;
}

// Sizes left open: arguments of the kernels, which are checked at several values.
TEST(Gpu, OpenSizes) {
  const std::string out = folder("open");
  const Ran r =
      nautilusc({"compile", "attention_causal", "--size", "B=1", "H=2", "N=256", "M=256",
                 "D=32",    "--symbolic",       "B",      "H",   "N",   "M",     "--max-plans",
                 "60",      "--seconds",        "60",     "-o",  out,   "--json"});
  ASSERT_EQ(r.status, kGood) << r.err << r.out;
  const json j = r.json();
  EXPECT_EQ(j["symbolic"], json({"B", "H", "N", "M"})) << j;
  EXPECT_EQ(j["checked"]["done"], true) << j["checked"];
  EXPECT_EQ(j["checked"]["values"], true) << j["checked"];
  EXPECT_FALSE(j["checked"]["other_sizes"].empty()) << j["checked"];
  const std::string source = slurp(out + "/kernel.cu"),
                    wrapper = slurp(out + "/attention_causal.py");
  EXPECT_NE(source.find("int64_t N_size"), std::string::npos);
  EXPECT_NE(wrapper.find("_SIZES = [\"B\", \"H\", \"N\", \"M\"]"), std::string::npos) << wrapper;
  EXPECT_NE(slurp(out + "/attention_causal.h").find("int64_t N"), std::string::npos);
  EXPECT_EQ(json::parse(slurp(out + "/plan.json"))["symbolic"], j["symbolic"]);
}

TEST(Gpu, OpenSizesThatCannotBe) {
  const std::string out = folder("never-open");
  const Ran no_such = small({"compile", "softmax", "--symbolic", "Q", "-o", out});
  EXPECT_EQ(no_such.status, kBadInput);
  EXPECT_EQ(no_such.json()["error"]["suggest"], "one of its sizes: N, M") << no_such.out;
  const Ran on_cpu = small({"run", "softmax", "--symbolic", "N"});
  EXPECT_EQ(on_cpu.status, kBadInput) << on_cpu.out;
  // A plan made for bound sizes holds a row in one tile.
  const Ran bound = small({"compile", "softmax", "-o", out});
  ASSERT_EQ(bound.status, kGood) << bound.out << bound.err;
  const std::string plan = out + "-row.json";
  fs::copy_file(out + "/plan.json", plan, fs::copy_options::overwrite_existing);
  fs::remove_all(out);
  const Ran row = small({"compile", "softmax", "--symbolic", "M", "--plan", plan, "-o", out});
  EXPECT_EQ(row.status, kNo) << row.out;
  const std::string why = row.json()["error"]["why"], suggest = row.json()["error"]["suggest"];
  EXPECT_NE(why.find("is not constant"), std::string::npos) << row.out;
  EXPECT_NE(suggest.find("tile this dimension"), std::string::npos) << row.out;
  EXPECT_FALSE(fs::exists(out));
  // A search that knows keeps loops, though a row of 96 would fit a tile.
  const Ran tiled = small({"compile", "softmax", "--symbolic", "N", "M", "-o", out});
  ASSERT_EQ(tiled.status, kGood) << tiled.out << tiled.err;
  EXPECT_EQ(tiled.json()["symbolic"], json({"N", "M"}));
  EXPECT_EQ(tiled.json()["plan"].get<std::string>().rfind("best of", 0), 0u) << tiled.out;
  EXPECT_EQ(tiled.json()["checked"]["done"], true) << tiled.out;
}

// Sizes that are equal by accident and do not go together: those that count blocks become small.
TEST(Gpu, CheckedWhereOneOfEqualSizesStays) {
  const Ran r = nautilusc({"compile", "rmsnorm", "--size", "N=4096", "D=4096", "--max-plans", "60",
                           "--seconds", "60", "-o", folder("equal"), "--json"});
  ASSERT_EQ(r.status, kGood) << r.err;
  const json j = r.json()["checked"];
  EXPECT_EQ(j["done"], true) << j;
  EXPECT_EQ(j["sizes"]["D"], 4096) << j;
  EXPECT_LT(j["sizes"]["N"], 100) << j;
}

// Registers: the compiler's word decides, and what spills is lowered otherwise.
TEST(Gpu, WhatSpillsIsLoweredOtherwise) {
  if (!cuda::find_compiler()) GTEST_SKIP() << "nvcc is not there";
  for (const char* kernel : {"matmul", "matmul_bias_gelu"}) {
    const std::string file = std::string(NAUTILUS_SOURCE_DIR "/tests/golden/") + kernel + ".naut";
    const Ran r =
        nautilusc({"compile", file, "--size", "K=256", "M=1025", "N=1025", "--max-plans", "200",
                   "--seconds", "60", "-o", folder("spills"), "--json", "--no-check"});
    ASSERT_EQ(r.status, kGood) << r.err;
    EXPECT_EQ(r.json()["spills"], 0) << kernel << "\n" << r.out;
  }
}

// A barrier taken out of a kernel is found before anything is written.
// Sums over c that share a loop with their users are legal as long as c is one tile: a plan that
// does not fit gets no smaller tiles there.
TEST(Gpu, SmallerTilesAreLegalToo) {
  const Ran r =
      nautilusc({"compile", NAUTILUS_SOURCE_DIR "/tests/golden/attention_qk_norm.naut", "--machine",
                 "h200", "--max-plans", "200", "--seconds", "0", "--no-check", "--size", "B=1",
                 "H=2", "N=192", "M=192", "D=64", "-o", folder("smaller"), "--json"});
  EXPECT_EQ(r.status, kGood) << r.err << r.out;
}

TEST(Gpu, FaultyKernelsAreRefused) {
  std::string text = slurp(NAUTILUS_SOURCE_DIR "/tests/cuda/samples/written_and_read.mtile");
  const std::string barrier = "      block_sync\n";
  ASSERT_NE(text.find(barrier), std::string::npos);
  text.erase(text.find(barrier), barrier.size());
  const std::string file = write_temp("race.mtile", text), out = folder("race");
  const Ran r = nautilusc({"compile", file, "--size", "N=3", "-o", out, "--json"});
  EXPECT_EQ(r.status, kNo) << r.out;
  EXPECT_NE(r.json()["error"]["why"].get<std::string>().find("race"), std::string::npos) << r.out;
  EXPECT_FALSE(fs::exists(out));
  // The fault is what is told, whichever pass was to be printed.
  const Ran printed = nautilusc(
      {"compile", file, "--size", "N=3", "-o", out, "--print-after", "rewrite", "--json"});
  EXPECT_EQ(printed.status, kNo) << printed.out;
  EXPECT_EQ(printed.json()["error"], r.json()["error"]) << printed.out;
  EXPECT_EQ(nautilusc({"compile", file, "--size", "N=3", "-o", out, "--no-check"}).status, kGood);
}

TEST(Gpu, WrapperIsPython) {
  if (std::system("python3 -c '' >/dev/null 2>&1") != 0) GTEST_SKIP() << "python3 is not there";
  const std::string out = folder("python");
  ASSERT_EQ(small({"compile", "softmax", "-o", out}).status, kGood);
  EXPECT_EQ(std::system(("python3 -m py_compile " + out + "/softmax.py").c_str()), 0);
}

TEST(Gpu, PassesArePrinted) {
  const std::string out = folder("passes");
  const std::vector<std::string> args{"compile",     "softmax", "--size", "N=40", "M=96",
                                      "--max-plans", "40",      "-o",     out,    "--print-after"};
  auto with = [&](const std::string& pass) {
    std::vector<std::string> all = args;
    all.push_back(pass);
    return nautilusc(all);
  };
  const Ran one = with("rewrite"), all = with("all"), none = with("levitate");
  EXPECT_EQ(one.status, kGood) << one.err;
  EXPECT_NE(one.out.find("// after rewrite\nmodule softmax"), std::string::npos) << one.out;
  EXPECT_EQ(one.out.find("// after cuda"), std::string::npos);
  for (const char* pass : {"// after lower\n", "// after rewrite\n", "// after cuda\n"})
    EXPECT_NE(all.out.find(pass), std::string::npos) << pass;
  EXPECT_EQ(none.status, kBadInput);
  EXPECT_NE(none.err.find("one of lower, rewrite"), std::string::npos) << none.err;
}

// All the way to the device, which the stand-in is: it takes no machine code, and that is a result.
TEST(Gpu, RunGoesToTheDevice) {
  if (!cuda::find_compiler()) GTEST_SKIP() << "nvcc is not there";
  const Setting fake("NAUTILUS_LIBCUDA", NAUTILUS_FAKE_CUDA);
  const Ran r = small({"run", "softmax", "--on", "gpu"});
  EXPECT_EQ(r.status, kNo) << r.err << r.out;
  const json j = r.json();
  ASSERT_TRUE(j.contains("failure")) << r.out;
  EXPECT_EQ(j["failure"].get<std::string>().rfind("load code for sm_90a: ", 0), 0u) << r.out;
  EXPECT_EQ(j["passed"], false);
  EXPECT_EQ(j["device"]["name"], "Fake H200");
  EXPECT_EQ(j["machine"], "h200");
  EXPECT_EQ(j["target"], "sm_90a");
  for (const char* field : {"registers", "spills", "shared_bytes", "occupancy", "kernels"})
    EXPECT_TRUE(j.contains(field)) << field;
  const Ran in_process = small({"run", "softmax", "--on", "gpu", "--in-process"});
  EXPECT_EQ(in_process.status, kNo);
  EXPECT_EQ(in_process.json()["failure"], j["failure"]);
}

}  // namespace
}  // namespace nautilus::test
