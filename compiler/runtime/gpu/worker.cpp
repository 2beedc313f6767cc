#include "compiler/runtime/gpu/worker.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "compiler/runtime/gpu/execute.h"

namespace nautilus::gpu {
namespace {

using nlohmann::json;

enum Descriptor { kJob = 3, kTensors = 4, kReport = 5, kCubin = 6 };

void report(const json& j) {
  runtime::write_descriptor(kReport, j.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
}

// What the lines of a report tell: how far the child came, and the outcome if it got there.
struct Told {
  bool ready = false;
  std::string stage = "while starting";
  std::optional<Outcome> outcome;
  std::optional<Refusal> refusal;
};
Told read_report(const std::string& lines) {
  Told told;
  for (size_t at = 0; at < lines.size();) {
    const size_t stop = std::min(lines.find('\n', at), lines.size());
    const json j = json::parse(lines.substr(at, stop - at), nullptr, false);
    at = stop + 1;
    if (!j.is_object()) continue;
    told.ready |= j.contains("ready");
    if (j.contains("reached"))
      told.stage = j["reached"] == "loaded" ? "while running" : "while timing";
    if (j.contains("outcome")) told.outcome = outcome_from_json(j["outcome"]);
    if (j.contains("refusal")) {
      const json& r = j["refusal"];
      told.refusal = Refusal{r.at("asked"), r.at("where"), r.at("why"), r.at("suggest")};
    }
  }
  return told;
}

std::string failure_text(const runtime::ChildEnd& end, const std::string& stage, double seconds) {
  char limit[32];
  std::snprintf(limit, sizeof limit, "%g", seconds);
  if (end.timed_out) return std::string("timeout after ") + limit + " s " + stage;
  std::string text =
      end.signal ? "killed by " + runtime::signal_text(end.signal) + " " + stage
                 : "the worker exited with status " + std::to_string(end.status) + " " + stage;
  if (!end.log.empty()) text += ": " + end.log;
  return text;
}

void work(const Job& job) {
  auto driver = Driver::open();
  if (!driver) {
    const Refusal& r = driver.error();
    return report(
        {{"refusal",
          {{"asked", r.asked}, {"where", r.where}, {"why", r.why}, {"suggest", r.suggest}}}});
  }
  char* shared = nullptr;
  if (job.bytes > 0) {
    void* p = mmap(nullptr, job.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, kTensors, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    shared = static_cast<char*>(p);
  }
  const Outcome o =
      execute(**driver, job, runtime::read_descriptor(kCubin), shared, [](const std::string& what) {
        report({{"reached", what}});
      });
  report({{"outcome", to_json(o)}});
}

}  // namespace

Expected<Outcome> run_in_child(const Job& job, const std::string& cubin,
                               const runtime::SharedMemory& data) {
  runtime::SharedMemory description, lines, code;
  description.write(to_json(job).dump(-1, ' ', false, json::error_handler_t::replace));
  code.write(cubin);
  const std::string program = runtime::worker_program();
  // No limit on the address space: the driver reserves far more than it uses. Device memory is
  // limited by the caller (run_gpu) and by what is free.
  auto end =
      runtime::run_child(program, {"__gpu_worker"},
                         {description.fd(), data.fd(), lines.fd(), code.fd()}, {job.seconds, 0});
  if (!end) {
    Refusal r = end.error();
    r.suggest = "set NAUTILUS_WORKER to the nautilusc executable";
    return r;
  }
  const Told told = read_report(lines.contents());
  if (told.refusal) return *told.refusal;
  if (!told.ready && !end->timed_out && end->signal == 0)
    return Refusal{
        "run on the GPU", program,
        "it does not answer to __gpu_worker (exit status " + std::to_string(end->status) + ")",
        "set NAUTILUS_WORKER to the nautilusc executable"};
  if (told.outcome && !end->timed_out && end->signal == 0) return *told.outcome;
  Outcome o;
  if (told.outcome) o = *told.outcome;
  if (o.failure.empty())
    o.failure = failure_text(*end, told.outcome ? "after the run" : told.stage, job.seconds);
  return o;
}

int worker_main() {
  struct stat s {};
  if (fstat(kJob, &s) != 0 || fstat(kReport, &s) != 0) {
    std::fputs(
        "__gpu_worker is how nautilusc runs a candidate in a child process; it is not for use by "
        "hand\n",
        stderr);
    return 2;
  }
  try {
    runtime::crash_by_signal();
    report({{"ready", true}});
    work(job_from_json(json::parse(runtime::read_descriptor(kJob))));
    return 0;
  } catch (const std::bad_alloc&) {
    Outcome o;
    o.failure = "memory limit: the host has no room for the tensors";
    report({{"outcome", to_json(o)}});
    return 1;
  } catch (const std::exception& e) {
    Outcome o;
    o.failure = e.what();
    report({{"outcome", to_json(o)}});
    return 1;
  }
}

}  // namespace nautilus::gpu
