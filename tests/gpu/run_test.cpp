// Candidates on the GPU, in a child process and in this one, compared with the reference.
#include "compiler/runtime/gpu/run.h"

#include <chrono>

#include "helpers.h"

namespace nautilus::gpu {
namespace {

const char* const kScaling = R"(naut 1
program scaling
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

GpuResult run(const std::string& cubin, GpuOptions gpu = {}, double seconds = 60,
              const cuda::Source& source = scaling()) {
  auto p = poly::parse_naut(poly::make_context(), kScaling);
  if (!p) {
    ADD_FAILURE() << p.error().text();
    return {};
  }
  cuda::Compiled code;
  code.cubin = cubin;
  runtime::RunOptions o;
  o.seconds = seconds;
  auto r = run_gpu(*p, {{"N", 1000}}, source, code, o, gpu);
  if (!r) {
    ADD_FAILURE() << r.error().text();
    return {};
  }
  return *r;
}

TEST_F(FakeCuda, RightResultPasses) {
  const GpuResult r = run(kRight);
  EXPECT_TRUE(r.run.passed) << r.run.failure;
  EXPECT_EQ(r.run.compared, 1000);
  EXPECT_EQ(r.run.max_error, 0);
  EXPECT_NEAR(r.run.seconds, 0.25e-3, 1e-9);
  EXPECT_EQ(r.outcome.device, "Fake H200");
  EXPECT_EQ(r.outcome.kernels.at(0).registers, 64);
}

TEST_F(FakeCuda, InProcessRunsOnceWithoutBands) {
  GpuOptions gpu;
  gpu.in_process = true;
  const GpuResult r = run(kRight, gpu);
  EXPECT_TRUE(r.run.passed) << r.run.failure;
  EXPECT_EQ(log("cuLaunchKernel").size(), 1u);
  EXPECT_EQ(log("cuMemAlloc"),
            (std::vector<std::string>{"cuMemAlloc 4000", "cuMemAlloc 4000", "cuMemAlloc 8000"}));
}

TEST_F(FakeCuda, WrongResultNamesElements) {
  const GpuResult r = run("kernel scale_x scale 1 0 3 2.01\n");
  EXPECT_FALSE(r.run.passed);
  EXPECT_EQ(r.run.failure.rfind("wrong result: ", 0), 0u) << r.run.failure;
  EXPECT_EQ(r.run.worst.at(0).rfind("Y[", 0), 0u);
}

TEST_F(FakeCuda, ElementsNeverWrittenAreWrong) {
  const GpuResult r = run("kernel scale_x scale 1 0 =990 2\n");
  EXPECT_NE(r.run.failure.find("10 of 1000"), std::string::npos) << r.run.failure;
}

TEST_F(FakeCuda, FaultIsAResult) {
  const GpuResult r = run("kernel scale_x fault 700\n");
  EXPECT_FALSE(r.run.passed);
  EXPECT_EQ(r.run.failure.rfind("kernel scale_x: CUDA_ERROR_ILLEGAL_ADDRESS", 0), 0u)
      << r.run.failure;
}

TEST_F(FakeCuda, CrashIsAResult) {
  const GpuResult r = run("kernel scale_x crash\n");
  EXPECT_EQ(r.run.failure.rfind("killed by SIGSEGV while running", 0), 0u) << r.run.failure;
}

TEST_F(FakeCuda, HangIsEndedByTheTimeLimit) {
  const auto start = std::chrono::steady_clock::now();
  const GpuResult r = run("kernel scale_x hang\n", {}, 1);
  EXPECT_EQ(r.run.failure, "timeout after 1 s while running");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST_F(FakeCuda, MemoryLimitOfTheCaller) {
  GpuOptions gpu;
  gpu.memory_bytes = 15999;
  EXPECT_EQ(run(kRight, gpu).run.failure, "memory limit");
  gpu.memory_bytes = 16000;
  EXPECT_EQ(run(kRight, gpu).run.failure, "");
}

TEST_F(FakeCuda, DriverThatIsAbsentInTheChildIsARefusal) {
  set("NAUTILUS_LIBCUDA", "/nonexistent/libcuda.so.1");
  auto p = poly::parse_naut(poly::make_context(), kScaling);
  ASSERT_TRUE(p);
  const auto r = run_gpu(*p, {{"N", 10}}, scaling(), {}, {}, {});
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().why.find("/nonexistent/libcuda.so.1"), std::string::npos);
}

TEST_F(FakeCuda, SourceMustComputeTheProgramsTensors) {
  auto p = poly::parse_naut(poly::make_context(), kScaling);
  ASSERT_TRUE(p);
  cuda::Source shape = scaling(), type = scaling(), none = scaling();
  shape.tensors[1].extents = {IndexExpr(9)};
  type.tensors[0].type = Type::F16;
  none.tensors[1].kind = poly::TensorKind::Temp;
  for (const cuda::Source& s : {shape, type, none}) {
    const auto r = run_gpu(*p, {{"N", 10}}, s, {}, {}, {});
    ASSERT_FALSE(r);
    EXPECT_TRUE(r.error().where == "Y" || r.error().where == "X") << r.error().text();
  }
}

TEST_F(FakeCuda, WorkerThatIsNoWorkerIsRefused) {
  set("NAUTILUS_WORKER", "/bin/true");
  auto p = poly::parse_naut(poly::make_context(), kScaling);
  ASSERT_TRUE(p);
  const auto r = run_gpu(*p, {{"N", 10}}, scaling(), {}, {}, {});
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().why.find("does not answer to __gpu_worker"), std::string::npos);
}

}  // namespace
}  // namespace nautilus::gpu
