#include <fstream>
#include <iostream>
#include <sstream>

#include "compiler/driver/searching.h"
#include "compiler/driver/story.h"
#include "compiler/lower/lower.h"
#include "compiler/runtime/runtime.h"

namespace nautilus::driver {

using nlohmann::json;

namespace {

struct RunFlags {
  std::string on = "cpu", schedule = "best", plan, print;
  runtime::RunOptions run;
  double memory_gb = 8;
  bool against_original = false;
};

// The schedule to run: the search's best, one from a plan file, or the program's original order.
Expected<poly::Schedule> choose(const Loaded& in, const SearchFlags& f, const RunFlags& flags,
                                bool json_out, json& about, int& status) {
  auto program = std::make_shared<const poly::Program>(in.program);
  if (!flags.plan.empty()) {
    std::ifstream file(flags.plan);
    if (!file)
      return Refusal{"read plan " + flags.plan, "", "cannot open it",
                     "nautilusc explore SPEC --plan FILE writes one"};
    json j = json::parse(file, nullptr, false);
    auto plan = sched::plan_from_json(program, j);
    if (!plan) {
      Refusal r = plan.error();
      r.where = flags.plan;
      if (j.is_discarded()) r.why = "it is not JSON";
      return r;
    }
    about["plan"] = flags.plan;
    return plan->schedule;
  }
  if (flags.schedule == "original") {
    about["plan"] = "original order";
    return poly::initial_schedule(program);
  }
  auto found = run_search(in, f, json_out, status);
  if (!found) return Refusal{};
  if (found->result.best.empty())
    return Refusal{"search for a plan", in.program.name,
                   "no complete plan within the budget (" +
                       std::string(sched::stop_reason_name(found->result.stop_reason)) + ")",
                   "more --seconds"};
  const int best = found->result.best[0];
  auto plan = sched::plan_of(found->program, found->result, best);
  if (!plan) return plan.error();
  about["plan"] = "best of " + std::to_string(found->result.plans_costed) + " plans";
  if (!found->result.note.empty()) about["note"] = found->result.note;
  about["predicted_seconds"] = found->result.nodes[best].seconds;
  about["limiter"] = found->result.nodes[best].limiter;
  about["knobs"] = found->result.nodes[best].knobs;
  return plan->schedule;
}

Expected<runtime::RunResult> lower_and_run(const Loaded& in, const poly::Schedule& s,
                                           const SearchFlags& f, const RunFlags& flags,
                                           tile::RewriteReport* report, std::string* text,
                                           std::vector<std::string>* notes) {
  tile::RewriteOptions options;
  options.numerics = *tile::numerics_from_name(f.numerics);
  auto module = lower::lower(s, {true, options.numerics});
  if (!module) return module.error();
  if (notes) *notes = module->notes;
  if (auto m = sched::find_machine("cpu")) options.costs = op_costs(*m);
  const tile::Module rewritten = tile::rewrite(*module, options, report);
  if (auto bad = tile::verify(rewritten)) return *bad;
  if (text) *text = tile::print(rewritten);
  return runtime::run_cpu(in.program, in.sizes, rewritten, flags.run);
}

void print_result(const char* what, const runtime::RunResult& r) {
  std::cout << what << ": " << (r.passed ? "passed" : "FAILED")
            << (r.failure.empty() ? "" : " (" + r.failure + ")") << "\n  time "
            << human_time(r.seconds) << ", compile " << human_time(r.compile_seconds)
            << ", reference " << human_time(r.reference_seconds) << "\n  max error " << r.max_error
            << ", RMS error " << r.rms_error << " over " << r.compared
            << " elements; straightforward evaluation in the same types: max "
            << r.baseline_max_error << ", RMS " << r.baseline_rms_error << "\n";
  for (const std::string& w : r.worst) std::cout << "  " << w << "\n";
}

bool ran_out(const runtime::RunResult& r) {
  return r.failure.starts_with("timeout") || r.failure.starts_with("memory limit");
}

int run(const Input& in, SearchFlags f, RunFlags flags) {
  if (flags.on == "gpu")
    return fail(in.json, {"run --on gpu", "", "this version has no CUDA back end", "run --on cpu"},
                kEnvironment);
#ifndef NAUTILUS_HAVE_CLANG
  return fail(in.json,
              {"run --on cpu", "", "this build has no Clang, which compiles CPU code",
               "build the release preset"},
              kEnvironment);
#endif
  flags.run.memory_bytes = static_cast<uint64_t>(flags.memory_gb * (1ull << 30));
  flags.run.numerics = *tile::numerics_from_name(f.numerics);
  int status = kGood;
  auto loaded = load(in, true, status);
  if (!loaded) return status;
  json about = json::object();
  auto schedule = choose(*loaded, f, flags, in.json, about, status);
  if (!schedule) return status != kGood ? status : fail(in.json, schedule.error(), kBadInput);
  const poly::Verification v = poly::verify(*schedule);
  if (!v.ok)
    return fail(in.json,
                {"verify the schedule", loaded->program.name, v.verdict.why, v.verdict.suggest},
                kNo);
  tile::RewriteReport report;
  std::string text;
  std::vector<std::string> notes;
  auto result = lower_and_run(*loaded, *schedule, f, flags, &report, &text, &notes);
  if (!result) return fail(in.json, result.error(), kNo);
  if (!flags.print.empty() && !in.json)
    std::cout << (flags.print == "tile" ? text : poly::to_text(*schedule));
  json out = runtime::to_json(*result);
  std::optional<runtime::RunResult> original;
  if (flags.against_original) {
    auto o = lower_and_run(
        *loaded, poly::initial_schedule(std::make_shared<const poly::Program>(loaded->program)), f,
        flags, nullptr, nullptr, nullptr);
    if (!o) return fail(in.json, o.error(), kNo);
    original = *o;
    out["original"] = runtime::to_json(*o);
    if (result->seconds > 0) out["speedup_over_original"] = o->seconds / result->seconds;
  }
  const bool passed = result->passed && (!original || original->passed);
  const int answer = passed ? kGood : ran_out(*result) ? kBudget : kNo;
  if (in.json) {
    out.update(about);
    out["name"] = loaded->program.name;
    out["sizes"] = loaded->sizes;
    out["on"] = flags.on;
    out["verified"] = v.ok;
    out["rewrites"] = report.applied;
    out["rewriting"] = {{"stop_reason", report.stop_reason},
                        {"cost_before", report.cost_before},
                        {"cost_after", report.cost_after}};
    out["notes"] = notes;
    print_json(out);
    return answer;
  }
  std::cout << loaded->program.name << " at";
  for (const auto& [name, value] : loaded->sizes) std::cout << " " << name << "=" << value;
  std::cout << " on this CPU (" << about.value("plan", "") << ")\n";
  for (const std::string& n : loaded->notes) std::cout << "  (" << n << ")\n";
  for (const std::string& n : notes) std::cout << "  note: " << n << "\n";
  if (about.contains("note"))
    std::cout << "  (" << about["note"].get<std::string>() << "; more --seconds)\n";
  print_result("discovered schedule", *result);
  if (original) {
    print_result("unfused, untiled schedule", *original);
    if (result->seconds > 0)
      std::cout << "speed-up " << original->seconds / result->seconds << "\n";
  }
  return answer;
}

}  // namespace

void add_run(CLI::App& app, int& status) {
  auto in = std::make_shared<Input>();
  auto f = std::make_shared<SearchFlags>();
  auto flags = std::make_shared<RunFlags>();
  f->machine = "cpu";
  f->seconds = 30;  // a slow host finds the same as a fast one
  f->max_plans = 1000;
  CLI::App* verb =
      app.add_subcommand("run", "run a plan and compare with the double-precision reference");
  verb->footer("example: nautilusc run softmax --size N=1025 --on cpu --json");
  add_input(*verb, *in);
  add_search_flags(*verb, *f);
  verb->add_option("--on", flags->on, "where")
      ->check(CLI::IsMember({"cpu", "gpu"}))
      ->capture_default_str();
  verb->add_option("--schedule", flags->schedule, "which schedule")
      ->check(CLI::IsMember({"best", "original"}))
      ->capture_default_str();
  verb->add_option("--plan", flags->plan, "run this plan (from explore --plan)");
  verb->add_flag("--against-original", flags->against_original,
                 "also run the unfused, untiled schedule and compare times");
  verb->add_option("--print", flags->print, "also print the tile program or the schedule tree")
      ->check(CLI::IsMember({"tile", "tree"}));
  verb->add_option("--threads", flags->run.threads, "threads (0: all cores)")
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--limit", flags->run.seconds, "wall-clock limit of the child process, seconds")
      ->check(amount(1e-3, 1e6))
      ->capture_default_str();
  verb->add_option("--memory", flags->memory_gb, "memory limit of the child process, GB")
      ->check(amount(1e-3, 1e6))
      ->capture_default_str();
  verb->add_option("--repeats", flags->run.repeats, "timed runs")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb->add_option("--sample", flags->run.sample,
                   "reference rows (0: all; default: chosen by size)");
  verb->add_option("--scale", flags->run.scale, "scale of the random inputs")
      ->check(amount(-1e38, 1e38))
      ->capture_default_str();
  verb->add_option("--data-seed", flags->run.seed, "seed of the random inputs")
      ->capture_default_str();
  verb->add_option("--tolerance", flags->run.tolerance,
                   "of the largest error, relative to the magnitude of the terms; at least what "
                   "straightforward evaluation in the same types loses (0: derived from types and "
                   "lengths)")
      ->check(amount(0, 1e38));
  verb->callback([=, &status] { status = run(*in, *f, *flags); });
}

}  // namespace nautilus::driver
