// The parent's side: inputs, reference, source text, child process, comparison.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "compiler/backend/cpu/cpu.h"
#include "compiler/runtime/compare.h"
#include "compiler/runtime/extents.h"
#include "compiler/runtime/formats.h"
#include "compiler/runtime/jit/worker.h"
#include "compiler/runtime/process.h"
#include "compiler/runtime/reference/prepare.h"
#include "compiler/runtime/runtime.h"

namespace nautilus::runtime {
namespace {

// Shapes of the module's tensors must be the program's.
Expected<WorkerJob> make_job(const poly::Program& p, const tile::Module& m, const RunOptions& o) {
  cpu::EmitOptions options;
  options.numerics = o.numerics;
  auto source = cpu::emit(m, options);
  if (!source) return source.error();
  WorkerJob job;
  job.source = *source;
  job.entry = cpu::entry_name(m);
  job.numerics = o.numerics == tile::Numerics::Strict ? "strict"
                 : o.numerics == tile::Numerics::Fast ? "fast"
                                                      : "reassociate";
  job.threads = o.threads;
  job.repeats = o.repeats;
  job.seconds = o.seconds;
  for (const auto& t : m.tensors) {
    JobTensor j{
        t.name,   t.type, 1, t.kind == poly::TensorKind::Output, t.kind == poly::TensorKind::Temp,
        job.bytes};
    std::vector<int64_t> extents;
    for (const IndexExpr& e : t.extents) extents.push_back(std::max<int64_t>(e.constant(), 0));
    j.elements = element_count(extents);
    const poly::Tensor* declared = p.tensor(t.name);
    if (!j.temporary && (!declared || extents != extents_of(p, t.name) || declared->type != t.type))
      return Refusal{"run " + m.name, t.name, "the tile program's tensor is not the program's",
                     "bind the same sizes in both"};
    if (!j.temporary) {
      const auto bytes = static_cast<double>(j.elements) * type_bytes(t.type);
      if (bytes > 0x1p46)
        return Refusal{"run " + m.name, t.name, "the tensor is too large", "smaller sizes"};
      // Two pages apart, so that a stray access is caught or at least hits no neighbour.
      job.bytes += (static_cast<uint64_t>(bytes) + 4095) / 4096 * 4096 + 4096;
    }
    job.tensors.push_back(j);
  }
  for (const poly::Tensor& t : p.tensors)
    if (t.kind == poly::TensorKind::Output &&
        std::none_of(m.tensors.begin(), m.tensors.end(),
                     [&](const auto& x) { return x.name == t.name; }))
      return Refusal{"run " + m.name, t.name, "the tile program does not compute this output", ""};
  return job;
}

// In words, what happened to a child that did not finish; `stage`: what it had reached.
std::string failure_text(const ChildEnd& end, const std::string& stage, const RunOptions& o) {
  char limit[32];
  std::snprintf(limit, sizeof limit, "%g", o.seconds);
  if (end.timed_out) return std::string("timeout after ") + limit + " s " + stage;
  const bool out_of_memory = end.log.find("out of memory") != std::string::npos ||
                             end.log.find("bad_alloc") != std::string::npos;
  if (out_of_memory) return "memory limit";
  std::string text =
      end.signal ? "killed by " + signal_text(end.signal) + " " + stage
                 : "the worker exited with status " + std::to_string(end.status) + " " + stage;
  if (!end.log.empty()) text += ": " + end.log;
  return text;
}

// Runs the job; fills seconds and compile_seconds, or failure.
std::optional<Refusal> run_child_job(const WorkerJob& job, SharedMemory& data, const RunOptions& o,
                                     RunResult& r) {
  SharedMemory description, report;
  description.write(to_json(job).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  const std::string program = worker_program();
  auto end = run_child(program, {"__worker"}, {description.fd(), data.fd(), report.fd()},
                       {o.seconds, o.memory_bytes});
  if (!end) {
    Refusal r = end.error();
    r.suggest = "set NAUTILUS_WORKER to the nautilusc executable";
    return r;
  }
  bool ready = false, compiled = false, done = false;
  const std::string lines = report.contents();
  for (size_t at = 0; at < lines.size();) {
    const size_t stop = std::min(lines.find('\n', at), lines.size());
    const auto j = nlohmann::json::parse(lines.substr(at, stop - at), nullptr, false);
    at = stop + 1;
    if (!j.is_object()) continue;
    ready |= j.contains("ready");
    if (j.contains("compiled")) {
      compiled = true;
      r.compile_seconds = j["compiled"];
    }
    if (j.contains("failure")) r.failure = j["failure"].get<std::string>();
    if (j.contains("memory")) r.failure = "memory limit";
    if (j.contains("done")) {
      done = true;
      r.seconds = j["seconds"];
    }
  }
  if (!r.failure.empty() || (done && !end->timed_out && end->signal == 0)) return std::nullopt;
  if (!ready && !end->timed_out && end->signal == 0)
    return Refusal{
        "run on the CPU", program,
        "it does not answer to __worker (exit status " + std::to_string(end->status) + ")",
        "set NAUTILUS_WORKER to the nautilusc executable"};
  r.failure = failure_text(*end,
                           done       ? "after the run"
                           : compiled ? "while running"
                                      : "while compiling",
                           o);
  return std::nullopt;
}

}  // namespace

Expected<RunResult> run_cpu(const poly::Program& program, const poly::Sizes& sizes,
                            const tile::Module& m, const RunOptions& options) {
  if (std::getenv("NAUTILUS_IN_WORKER"))
    return Refusal{"run on the CPU", "", "this process is a worker itself",
                   "the program must call worker_main for __worker"};
  auto bound = instantiate_for_run(program, sizes);
  if (!bound) return bound.error();
  auto job = make_job(*bound, m, options);
  if (!job) return job.error();
  RunResult r;
  if (options.memory_bytes > 0 && job->bytes > options.memory_bytes) {
    r.failure = "memory limit";
    return r;
  }
  auto prepared = prepare(*bound, options);
  if (!prepared) return prepared.error();
  r.reference_seconds = (*prepared)->seconds;
  try {
    SharedMemory data(job->bytes);
    for (const JobTensor& t : job->tensors)
      if (!t.output && !t.temporary)
        encode(t.type, (*prepared)->inputs.at(t.name).data(), static_cast<size_t>(t.elements),
               data.data() + t.offset);
    if (auto bad = run_child_job(*job, data, options, r)) return *bad;
    if (!r.failure.empty()) return r;
    poly::Buffers got;
    for (const JobTensor& t : job->tensors) {
      if (!t.output) continue;
      auto& v = got[t.name];
      v.resize(static_cast<size_t>(t.elements));
      decode(t.type, data.data() + t.offset, v.size(), v.data());
    }
    compare(*bound, (*prepared)->evaluation.exact, (*prepared)->evaluation.baseline, got, options,
            r);
  } catch (const std::runtime_error& e) {
    return Refusal{"run on the CPU", program.name, e.what(), ""};
  }
  return r;
}

}  // namespace nautilus::runtime
