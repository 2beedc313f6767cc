// Jobs: numbers from a source, the calls they make of the driver in order, and every way to fail.
#include "compiler/runtime/gpu/execute.h"

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "compiler/runtime/gpu/worker.h"
#include "helpers.h"

namespace nautilus::gpu {
namespace {

struct Ran {
  Outcome outcome;
  std::vector<float> y;
};
// Runs a job of scaling() in this process on X = 1, 2, 3...
Ran run(const Job& job, const std::string& cubin) {
  runtime::SharedMemory data(job.bytes);
  auto* x = reinterpret_cast<float*>(data.data() + job.tensors[0].offset);
  for (int64_t k = 0; k < job.tensors[0].elements; ++k) x[k] = static_cast<float>(k + 1);
  Ran r;
  const auto d = Driver::open();
  if (!d) {
    ADD_FAILURE() << d.error().text();
    return r;
  }
  r.outcome = execute(**d, job, cubin, data.data());
  r.y.resize(static_cast<size_t>(job.tensors[1].elements));
  if (!r.y.empty()) std::memcpy(r.y.data(), data.data() + job.tensors[1].offset, 4 * r.y.size());
  return r;
}
Job job_of(const cuda::Source& s, int64_t n, int repeats = 3) {
  auto job = make_job(s, {{"N", n}});
  if (!job) {
    ADD_FAILURE() << job.error().text();
    return {};
  }
  job->repeats = repeats;
  return *job;
}

TEST_F(FakeCuda, JobHasTheNumbersOfItsSource) {
  const Job job = job_of(scaling(), 100);
  ASSERT_EQ(job.tensors.size(), 3u);
  EXPECT_EQ(job.tensors[0].role, Role::Input);
  EXPECT_EQ(job.tensors[1].role, Role::Output);
  EXPECT_EQ(job.tensors[2].role, Role::Scratch);
  EXPECT_EQ(job.tensors[2].elements, 200);
  EXPECT_EQ(job.sizes, std::vector<int64_t>{100});
  EXPECT_EQ(job.launches.at(0).grid, 8);
  EXPECT_EQ(device_bytes(job), 1600u);
  EXPECT_GE(job.bytes, 800u);
  const Job again = job_from_json(to_json(job));
  EXPECT_EQ(to_json(again), to_json(job));
}

TEST_F(FakeCuda, JobsThatCannotBe) {
  const auto unbound = make_job(scaling(), {});
  ASSERT_FALSE(unbound);
  EXPECT_NE(unbound.error().why.find("size N has no value"), std::string::npos);
  cuda::Source even = scaling();
  even.facts = Cond{{{Cond::Atom{IndexExpr::mod(IndexExpr::var("N"), 2), true}}}};
  EXPECT_TRUE(make_job(even, {{"N", 4}}));
  const auto odd = make_job(even, {{"N", 5}});
  ASSERT_FALSE(odd);
  EXPECT_NE(odd.error().text().find("take for granted that 0 = mod(N, 2)"), std::string::npos)
      << odd.error().text();
  const auto wide = make_job(scaling(), {{"N", int64_t{1} << 36}});
  ASSERT_FALSE(wide);
  EXPECT_NE(wide.error().why.find("2^31 - 1"), std::string::npos) << wide.error().text();
  EXPECT_FALSE(make_job(scaling(), {{"N", int64_t{1} << 50}}));
}

TEST_F(FakeCuda, LaunchOrderGridsAndArguments) {
  cuda::Source s = scaling(100 << 10);
  s.launches.push_back({"add_t", {3, IndexExpr::var("N")}, 128, 0, 1, {}});
  const Ran r = run(job_of(s, 100, 0), std::string(kRight) + "kernel add_t add 1 3 0.5\n");
  EXPECT_EQ(r.outcome.failure, "");
  EXPECT_EQ(r.outcome.device, "Fake H200");
  for (size_t k = 0; k < r.y.size(); ++k) ASSERT_EQ(r.y[k], 2.0f * (k + 1) + 0.5f) << k;
  EXPECT_EQ(log("cuLaunchKernel"),
            (std::vector<std::string>{
                "cuLaunchKernel scale_x grid 8x1x1 block 64x1x1 shared 102400 stream default",
                "cuLaunchKernel add_t grid 300x1x1 block 128x1x1 shared 0 stream default"}));
  EXPECT_EQ(log("cuFuncSetAttribute"),
            std::vector<std::string>{"cuFuncSetAttribute scale_x 8 102400"});
  ASSERT_EQ(r.outcome.kernels.size(), 2u);
  EXPECT_EQ(r.outcome.kernels[0].registers, 64);
  EXPECT_EQ(r.outcome.kernels[0].blocks_per_unit, 16);
  // Everything was given back before the context was.
  EXPECT_EQ(log("cuDevicePrimaryCtxRelease"),
            std::vector<std::string>{"cuDevicePrimaryCtxRelease 0 allocations left"});
}

TEST_F(FakeCuda, WhatIsNotWrittenIsNaN) {
  const Ran r = run(job_of(scaling(), 10, 0), "kernel scale_x scale 1 0 =7 2\n");
  EXPECT_EQ(r.outcome.failure, "");
  EXPECT_EQ(r.y[6], 14.0f);
  EXPECT_TRUE(std::isnan(r.y[7]));
  EXPECT_TRUE(std::isnan(r.y[9]));
}

TEST_F(FakeCuda, EmptyGridsAreNotLaunched) {
  const Ran r = run(job_of(scaling(), 0), kRight);
  EXPECT_EQ(r.outcome.failure, "");
  EXPECT_TRUE(log("cuLaunchKernel").empty());
}

TEST_F(FakeCuda, TimedRunsAreAMedianOfEvents) {
  const Ran r = run(job_of(scaling(), 100, 5), kRight);
  EXPECT_EQ(r.outcome.failure, "");
  EXPECT_EQ(r.outcome.samples, 5);
  EXPECT_NEAR(r.outcome.seconds, 0.25e-3, 1e-9);  // the stand-in's clock: 0.25 ms a launch
  EXPECT_TRUE(r.outcome.repeatable);
  EXPECT_EQ(log("cuEventDestroy").size(), 2u);
}

TEST_F(FakeCuda, FlushOverwritesTwiceTheCacheBeforeEachSample) {
  Job job = job_of(scaling(), 100, 5);
  job.flush = true;
  const Ran r = run(job, kRight);
  EXPECT_EQ(r.outcome.failure, "");
  const size_t flushes = log("cuMemsetD8Async 0 " + std::to_string(2 << 20)).size();
  EXPECT_EQ(log("cuEventRecord").size(), 2 * flushes);
  EXPECT_EQ(log("cuLaunchKernel").size(), flushes + 1);
}

TEST_F(FakeCuda, ResultsThatChangeFromRunToRunAreSeen) {
  cuda::Source s = scaling();
  s.launches.push_back({"copy", {1}, 32, 0, 1, {}});
  const std::string cubin = "kernel scale_x add 0 =1 1\nkernel copy scale 1 0 =1 1\n";
  EXPECT_FALSE(run(job_of(s, 1, 2), cubin).outcome.repeatable);
}

TEST_F(FakeCuda, ZeroedTensorsAreZeroBeforeEveryRun) {
  cuda::Source s = scaling();
  s.zeroed = {"Y"};
  const Ran r = run(job_of(s, 10, 4), "kernel scale_x add 1 3 1.5\n");
  EXPECT_EQ(r.outcome.failure, "");
  for (const float v : r.y) EXPECT_EQ(v, 1.5f);
  EXPECT_TRUE(r.outcome.repeatable);
}

TEST_F(FakeCuda, TensorMapsAreMadeAndPassed) {
  cuda::Source s = scaling();
  cuda::TensorMap m;
  m.parameter = "map_X";
  m.tensor = "X";
  m.elem = Type::BF16;
  m.extents = {IndexExpr::var("N"), 5};
  m.box = {64, 2};
  m.swizzle = 3;
  s.launches[0].maps = {m};
  const Ran r = run(job_of(s, 96, 0), "kernel scale_x map 4\n");
  EXPECT_EQ(r.outcome.failure, "");
  EXPECT_EQ(log("cuTensorMapEncodeTiled"),
            std::vector<std::string>{"cuTensorMapEncodeTiled type 9 rank 2 96/64/1 5/2/1/192 modes "
                                     "0320"});
  EXPECT_EQ(log("map-of-kernel"), std::vector<std::string>{"map-of-kernel 96 64"});
  // 100 elements of 2 bytes are no multiple of 16.
  EXPECT_FALSE(make_job(s, {{"N", 100}}));
}

TEST_F(FakeCuda, FaultsNameTheirKernel) {
  cuda::Source s = scaling();
  s.launches.push_back({"second", {1}, 32, 0, 1, {}});
  const Ran r = run(job_of(s, 10), std::string(kRight) + "kernel second fault 700\n");
  EXPECT_EQ(r.outcome.failure,
            "kernel second: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered");
}

TEST_F(FakeCuda, WritesBesideATensorAreFound) {
  for (const char* index : {"10", "-1", "200"}) {
    const Ran r = run(job_of(scaling(), 10), std::string("kernel scale_x write 1 ") + index);
    EXPECT_EQ(r.outcome.failure, std::string("out of bounds: memory just ") +
                                     (index[0] == '-' ? "before" : "after") +
                                     " tensor Y was written to")
        << index;
  }
  EXPECT_EQ(run(job_of(scaling(), 10), "kernel scale_x write 1 9").outcome.failure, "");
}

TEST_F(FakeCuda, EveryCallThatFailsIsSaid) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"cuDevicePrimaryCtxRetain=2", "make a context: CUDA_ERROR_OUT_OF_MEMORY"},
      {"cuModuleLoadData=209", "load code for sm_90: CUDA error 209"},
      {"cuMemAlloc#2=2", "memory limit: allocate "},
      {"cuMemcpyHtoD=1", "copy X in: CUDA error 1"},
      {"cuLaunchKernel=701", "kernel scale_x: CUDA error 701"},
      {"cuMemcpyDtoH=700", "copy Y back: CUDA_ERROR_ILLEGAL_ADDRESS"},
      {"cuEventSynchronize=700", "run the kernels again: CUDA_ERROR_ILLEGAL_ADDRESS"},
  };
  for (const auto& [wish, words] : cases) {
    set("FAKE_CUDA_FAIL", wish);
    // The stand-in counts its calls as long as it is loaded: a fresh process for each.
    const auto o = run_in_child(job_of(scaling(), 10), kRight,
                                runtime::SharedMemory(job_of(scaling(), 10).bytes));
    ASSERT_TRUE(o) << o.error().text();
    EXPECT_EQ(o->failure.rfind(words, 0), 0u) << wish << ": " << o->failure;
  }
}

TEST_F(FakeCuda, KernelThatIsNotThere) {
  EXPECT_EQ(run(job_of(scaling(), 10), "kernel other scale 1 0 3 2\n")
                .outcome.failure.rfind("find kernel scale_x: ", 0),
            0u);
}

TEST_F(FakeCuda, MoreThanTheDeviceHasFreeIsAMemoryLimit) {
  set("FAKE_CUDA_FREE", "100");
  const Ran r = run(job_of(scaling(), 10), kRight);
  EXPECT_EQ(r.outcome.failure,
            "memory limit: the tensors take 160 bytes, 100 are free on the device");
  EXPECT_TRUE(log("cuMemAlloc").empty());
}

}  // namespace
}  // namespace nautilus::gpu
