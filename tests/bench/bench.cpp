// The figures that the design promises for two cores, measured here and now: search (search.md) and
// CPU code. Prints one line a figure: what, measured, target. Exit status 1 with --check when a
// target is missed.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "autosched/search.h"
#include "compiler/lower/lower.h"
#include "compiler/profile/profile.h"
#include "compiler/runtime/runtime.h"
#include "compiler/spec/reader.h"

namespace {

using namespace nautilus;
using Clock = std::chrono::steady_clock;

int missed = 0;

double since(Clock::time_point t) {
  return std::chrono::duration<double>(Clock::now() - t).count();
}

void figure(const char* what, double measured, const char* unit, bool at_most, double target) {
  const bool good = at_most ? measured <= target : measured >= target;
  missed += !good;
  std::printf("%-58s %10.4g %-6s target %s %g  %s\n", what, measured, unit,
              at_most ? "<=" : ">=", target, good ? "ok" : "MISSED");
  std::fflush(stdout);
}

double peak_mb() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return u.ru_maxrss / 1024.0;
}

poly::Program load(const char* kernel, const poly::Sizes& sizes) {
  auto p =
      spec::load_program(poly::make_context(), std::string(NAUTILUS_SOURCE_DIR "/corpus/kernels/") +
                                                   kernel + ".spec.cpp");
  if (!p) {
    std::fprintf(stderr, "%s\n", p.error().text().c_str());
    std::exit(2);
  }
  poly::Sizes all = p->typical;
  for (const auto& [k, v] : sizes) all[k] = v;
  return poly::restrict_to_demanded(*poly::bind_sizes(*p, all));
}

void search_figures() {
  const poly::Sizes sizes{{"B", 1}, {"Hk", 8}, {"G", 4}, {"N", 4096}, {"M", 4096}, {"D", 128}};
  auto program = std::make_shared<const poly::Program>(load("attention_causal_gqa", sizes));
  sched::SearchOptions options;
  options.sizes = sizes;
  options.machine = *sched::find_machine("h200");
  options.seconds = 60;
  options.max_plans = 5000;
  auto ops = profile::tile_ops_provider(tile::Numerics::Reassociate);
  auto r = sched::search(program, options, *ops);
  if (!r) {
    std::fprintf(stderr, "%s\n", r.error().text().c_str());
    std::exit(2);
  }
  std::printf("search: %d plans, %d structures verified, %zu nodes, stopped: %s\n", r->plans_costed,
              r->structures_verified, r->nodes.size(),
              std::string(sched::stop_reason_name(r->stop_reason)).c_str());
  figure("plans costed", r->plans_costed, "", false, 5000);
  figure("full search of attention, 5000 plans", r->seconds, "s", true, 10);
  figure("first complete plan", r->first_plan_seconds, "s", true, 1);
  figure("peak memory", peak_mb(), "MB", true, 500);
  const auto t = Clock::now();
  auto plan = sched::plan_of(program, *r, r->best.at(0));
  figure("replay of one node", since(t) * 1e3, "ms", true, 20);

  sched::Session session;
  session.kernel = program->name;
  session.options = options;
  session.result = *r;
  auto& nodes = session.result.nodes;
  const size_t base = nodes.size();
  for (size_t k = base; k < 100'000; ++k) {
    sched::SearchNode n = nodes[k % base];
    n.id = static_cast<int>(k);
    nodes.push_back(n);
  }
  const std::string path =
      (std::filesystem::temp_directory_path() / "nautilus_bench.nautilus.json").string();
  if (auto bad = sched::save_session(session, path))
    std::fprintf(stderr, "%s\n", bad->text().c_str());
  figure("session of 100,000 nodes on disk", std::filesystem::file_size(path) / 1e6, "MB", true,
         60);
  const auto t2 = Clock::now();
  auto back = sched::load_session(path);
  figure("session of 100,000 nodes reopened", since(t2), "s", true, 2);
  if (!back || back->result.nodes.size() != nodes.size())
    ++missed, std::printf("session did not read back\n");
  std::filesystem::remove(path);
}

void cpu_figures() {
  const poly::Program p =
      load("attention_f32", {{"B", 1}, {"H", 8}, {"N", 2048}, {"M", 2048}, {"D", 64}});
  poly::Sizes sizes;
  for (const std::string& name : p.params) sizes[name] = 0;
  for (const auto& [k, v] : poly::Sizes{{"B", 1}, {"H", 8}, {"N", 2048}, {"M", 2048}, {"D", 64}})
    if (sizes.count(k)) sizes[k] = v;
  auto program = std::make_shared<const poly::Program>(p);
  sched::SearchOptions options;
  options.sizes = sizes;
  options.machine = *sched::find_machine("cpu");
  options.seconds = 5;
  auto ops = profile::tile_ops_provider(tile::Numerics::Reassociate);
  auto r = sched::search(program, options, *ops);
  auto plan = r && !r->best.empty() ? sched::plan_of(program, *r, r->best[0])
                                    : Expected<sched::Plan>(Refusal{});
  if (!plan) {
    std::printf("no plan for the CPU\n"), ++missed;
    return;
  }
  auto time_of = [&](const poly::Schedule& s) {
    auto m = lower::lower(s);
    runtime::RunOptions run;
    run.seconds = 240;
    run.repeats = 3;
    if (!m) return 0.0;
    auto result = runtime::run_cpu(p, sizes, tile::rewrite(*m, {}), run);
    if (!result || !result->passed)
      std::printf("wrong or failed: %s\n", result ? result->failure.c_str() : "refused"), ++missed;
    return result ? result->seconds : 0.0;
  };
  const double best = time_of(plan->schedule), original = time_of(poly::initial_schedule(program));
  std::printf("attention f32, 8 heads, d 64, 2048: discovered %.4g s, unfused and untiled %.4g s\n",
              best, original);
  figure("discovered attention over unfused, untiled, same back end", original / best, "x", false,
         5);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "__worker") == 0) return runtime::worker_main(argc, argv);
  const bool check = argc > 1 && std::strcmp(argv[1], "--check") == 0;
  search_figures();
  cpu_figures();
  std::printf("%d target%s missed\n", missed, missed == 1 ? "" : "s");
  return check && missed ? 1 : 0;
}
