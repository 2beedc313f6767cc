// The child's side of run_cpu: compile, run, time, report. Lines of JSON tell the parent how far it
// came.
#include "compiler/runtime/jit/worker.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "compiler/backend/cpu/cpu.h"
#include "compiler/runtime/process.h"
#include "compiler/runtime/runtime.h"

namespace nautilus::runtime {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point t) {
  return std::chrono::duration<double>(Clock::now() - t).count();
}

void report(const nlohmann::json& j) { write_descriptor(5, j.dump() + "\n"); }

struct Free {
  void operator()(void* p) const { std::free(p); }
};

// Memory of every tensor: parts of the shared memory, or the worker's own for temporaries. What the
// kernel must write starts as NaN (all bits set), so an element it misses shows.
struct Memory {
  std::vector<void*> pointers;
  std::vector<std::unique_ptr<void, Free>> own;
};
Memory lay_out(const WorkerJob& job, char* shared) {
  Memory m;
  for (const JobTensor& t : job.tensors) {
    const size_t bytes = static_cast<size_t>(t.elements) * static_cast<size_t>(type_bytes(t.type));
    void* p = shared + t.offset;
    if (t.temporary) {
      p = std::aligned_alloc(64, (bytes + 127) / 64 * 64);
      if (!p) throw std::bad_alloc();
      m.own.emplace_back(p);
    }
    if (t.temporary || t.output) std::memset(p, 0xff, bytes);
    m.pointers.push_back(p);
  }
  return m;
}

void work(const WorkerJob& job) {
  const auto start = Clock::now();
  const auto numerics =
      tile::numerics_from_name(job.numerics).value_or(tile::Numerics::Reassociate);
  auto code = cpu::compile(job.source, job.entry, numerics);
  if (!code) return report({{"failure", code.error().why}});
  report({{"compiled", since(start)}});
  char* shared = nullptr;
  if (job.bytes > 0) {
    void* p = mmap(nullptr, job.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, 4, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    shared = static_cast<char*>(p);
  }
  Memory memory = lay_out(job, shared);
  auto once = [&] {
    const auto t = Clock::now();
    (*code)->run(memory.pointers.data(), job.threads);
    return since(t);
  };
  std::vector<double> times{once()};
  report({{"first", times[0]}});
  // The first run warms up; it counts only when there is no time for more.
  const double left = job.seconds * 0.8 - since(start);
  const int repeats =
      static_cast<int>(std::min<double>(job.repeats, left / std::max(times[0], 1e-9)));
  if (repeats > 0) times.clear();
  for (int r = 0; r < repeats; ++r) times.push_back(once());
  std::sort(times.begin(), times.end());
  report({{"done", true}, {"seconds", times[times.size() / 2]}, {"runs", times.size()}});
}

}  // namespace

nlohmann::json to_json(const WorkerJob& job) {
  nlohmann::json tensors = nlohmann::json::array();
  for (const JobTensor& t : job.tensors)
    tensors.push_back({{"name", t.name},
                       {"type", type_name(t.type)},
                       {"elements", t.elements},
                       {"output", t.output},
                       {"temporary", t.temporary},
                       {"offset", t.offset}});
  return {{"source", job.source},   {"entry", job.entry},    {"numerics", job.numerics},
          {"tensors", tensors},     {"bytes", job.bytes},    {"threads", job.threads},
          {"repeats", job.repeats}, {"seconds", job.seconds}};
}

WorkerJob job_from_json(const nlohmann::json& j) {
  WorkerJob job;
  job.source = j.at("source");
  job.entry = j.at("entry");
  job.numerics = j.at("numerics");
  job.bytes = j.at("bytes");
  job.threads = j.at("threads");
  job.repeats = j.at("repeats");
  job.seconds = j.at("seconds");
  for (const auto& t : j.at("tensors")) {
    const auto type = type_from_name(t.at("type").get<std::string>());
    job.tensors.push_back({t.at("name"), type.value_or(Type::F32), t.at("elements"), t.at("output"),
                           t.at("temporary"), t.at("offset")});
  }
  return job;
}

int worker_main(int, char**) {
  struct stat s{};
  if (fstat(3, &s) != 0 || fstat(5, &s) != 0) {
    std::fputs(
        "__worker is how nautilusc runs a candidate in a child process; it is not for use by "
        "hand\n",
        stderr);
    return 2;
  }
  try {
    crash_by_signal();
    report({{"ready", true}});
    work(job_from_json(nlohmann::json::parse(read_descriptor(3))));
    return 0;
  } catch (const std::bad_alloc&) {
    report({{"memory", true}});
    return 1;
  } catch (const std::exception& e) {
    report({{"failure", e.what()}});
    return 1;
  }
}

}  // namespace nautilus::runtime
