// The parent's side of a run on the GPU: inputs, reference, child process, comparison.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "compiler/runtime/compare.h"
#include "compiler/runtime/extents.h"
#include "compiler/runtime/formats.h"
#include "compiler/runtime/gpu/execute.h"
#include "compiler/runtime/gpu/run.h"
#include "compiler/runtime/gpu/worker.h"
#include "compiler/runtime/reference/prepare.h"

namespace nautilus::gpu {
namespace {

// Shapes of the source's inputs and outputs must be the program's; it computes every output.
std::optional<Refusal> check_tensors(const poly::Program& p, const cuda::Source& s,
                                     const Job& job) {
  for (const JobTensor& t : job.tensors) {
    if (t.role == Role::Scratch) continue;
    const poly::Tensor* declared = p.tensor(t.name);
    if (!declared || declared->type != t.type ||
        t.elements != runtime::element_count(runtime::extents_of(p, t.name)))
      return Refusal{"run " + s.name, t.name, "the kernels' tensor is not the program's",
                     "bind the same sizes in both"};
  }
  for (const poly::Tensor& t : p.tensors)
    if (t.kind == poly::TensorKind::Output &&
        std::none_of(job.tensors.begin(), job.tensors.end(), [&](const JobTensor& x) {
          return x.name == t.name && x.role == Role::Output;
        }))
      return Refusal{"run " + s.name, t.name, "the kernels do not compute this output", ""};
  return std::nullopt;
}

// A file's lock, waited for; nobody else's until this goes.
class Turn {
 public:
  explicit Turn(const std::string& path) {
    if (path.empty()) return;
    file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    int status = -1;
    do status = file_ < 0 ? -1 : ::flock(file_, LOCK_EX);
    while (file_ >= 0 && status != 0 && errno == EINTR);
    if (status != 0)
      refused_ = Refusal{"wait for a turn on the GPU", path, std::strerror(errno),
                         "a file that can be written"};
  }
  ~Turn() {
    if (file_ >= 0) ::close(file_);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  const std::optional<Refusal>& refused() const { return refused_; }

 private:
  int file_ = -1;
  std::optional<Refusal> refused_;
};

Expected<Outcome> carry_out(const Job& job, const std::string& cubin,
                            const runtime::SharedMemory& data, const GpuOptions& gpu) {
  const Turn turn(gpu.turns);
  if (turn.refused()) return *turn.refused();
  if (!gpu.in_process) return run_in_child(job, cubin, data);
  auto driver = Driver::open();
  if (!driver) return driver.error();
  return execute(**driver, job, cubin, data.data());
}

}  // namespace

Expected<GpuResult> run_gpu(const poly::Program& program, const poly::Sizes& sizes,
                            const cuda::Source& source, const cuda::Compiled& code,
                            const runtime::RunOptions& options, const GpuOptions& gpu) {
  if (std::getenv("NAUTILUS_IN_WORKER"))
    return Refusal{"run on the GPU", "", "this process is a worker itself",
                   "the program must call gpu::worker_main for __gpu_worker"};
  auto bound = runtime::instantiate_for_run(program, sizes);
  if (!bound) return bound.error();
  auto job = make_job(source, sizes);
  if (!job) return job.error();
  if (auto bad = check_tensors(*bound, source, *job)) return *bad;
  job->repeats = gpu.in_process ? 0 : options.repeats;
  job->flush = gpu.flush;
  job->guard = !gpu.in_process;
  job->seconds = options.seconds;
  GpuResult r;
  if (gpu.memory_bytes > 0 && device_bytes(*job) > gpu.memory_bytes) {
    r.run.failure = "memory limit";
    return r;
  }
  auto prepared = runtime::prepare(*bound, options);
  if (!prepared) return prepared.error();
  r.run.reference_seconds = (*prepared)->seconds;
  try {
    runtime::SharedMemory data(job->bytes);
    for (const JobTensor& t : job->tensors)
      if (t.role == Role::Input)
        runtime::encode(t.type, (*prepared)->inputs.at(t.name).data(),
                        static_cast<size_t>(t.elements), data.data() + t.offset);
    auto outcome = carry_out(*job, code.cubin, data, gpu);
    if (!outcome) return outcome.error();
    r.outcome = *outcome;
    r.run.seconds = outcome->seconds;
    r.run.failure = outcome->failure;
    if (!r.run.failure.empty()) return r;
    poly::Buffers got;
    for (const JobTensor& t : job->tensors) {
      if (t.role != Role::Output) continue;
      auto& v = got[t.name];
      v.resize(static_cast<size_t>(t.elements));
      runtime::decode(t.type, data.data() + t.offset, v.size(), v.data());
    }
    runtime::compare(*bound, (*prepared)->evaluation.exact, (*prepared)->evaluation.baseline, got,
                     options, r.run);
  } catch (const std::runtime_error& e) {
    return Refusal{"run on the GPU", program.name, e.what(), ""};
  }
  return r;
}

}  // namespace nautilus::gpu
