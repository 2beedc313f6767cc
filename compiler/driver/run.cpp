#include "compiler/driver/run.h"

#include <iostream>

#include "compiler/driver/open.h"
#include "compiler/lower/lower.h"
#include "compiler/runtime/runtime.h"

namespace nautilus::driver {

using nlohmann::json;

namespace {

Expected<runtime::RunResult> lower_and_run(const Loaded& in, const poly::Schedule& s,
                                           const RunFlags& flags, tile::RewriteReport* report,
                                           std::string* text, std::vector<std::string>* notes) {
  tile::RewriteOptions options;
  options.numerics = flags.run.numerics;
  auto module = lower::lower(s, {true, options.numerics});
  if (!module) return module.error();
  if (notes) *notes = module->notes;
  if (auto m = sched::find_machine("cpu")) options.costs = op_costs(*m);
  const tile::Module rewritten = tile::rewrite(*module, options, report);
  if (auto bad = tile::verify(rewritten)) return *bad;
  if (text) *text = tile::print(rewritten);
  return runtime::run_cpu(in.program, in.sizes, rewritten, flags.run);
}

}  // namespace

void print_result(const std::string& what, const runtime::RunResult& r) {
  std::cout << what << ": " << (r.passed ? "passed" : "FAILED")
            << (r.failure.empty() ? "" : " (" + r.failure + ")") << "\n  time "
            << human_time(r.seconds) << ", compile " << human_time(r.compile_seconds)
            << ", reference " << human_time(r.reference_seconds) << "\n  max error " << r.max_error
            << ", RMS error " << r.rms_error << " over " << r.compared
            << " elements; straightforward evaluation in the same types: max "
            << r.baseline_max_error << ", RMS " << r.baseline_rms_error << "\n";
  for (const std::string& w : r.worst) std::cout << "  " << w << "\n";
  if (!r.suggest.empty()) std::cout << "  try: " << r.suggest << "\n";
}

int answer_of(const runtime::RunResult& r) {
  if (r.passed) return kGood;
  return r.failure.starts_with("timeout") || r.failure.starts_with("memory limit") ? kBudget : kNo;
}

namespace {

int run(const Input& in, SearchFlags f, RunFlags flags) {
  if (flags.on == "gpu") return run_on_gpu(in, f, flags);
  if (f.machine.empty()) f.machine = "cpu";
#ifndef NAUTILUS_HAVE_CLANG
  return fail(in.json,
              {"run --on cpu", "", "this build has no Clang, which compiles CPU code",
               "build the release preset"},
              kEnvironment);
#endif
  if (!flags.print_after.empty() || flags.print == "memory" || flags.print == "cuda")
    return fail(in.json,
                {"run --on cpu", "", "passes, memory programs and CUDA source are of the GPU's way",
                 "--print tile or tree, or --on gpu"},
                kBadInput);
  if (!flags.symbolic.empty())
    return fail(in.json,
                {"run --on cpu", "--symbolic", "the CPU's code is made for the sizes it runs at",
                 "leave --symbolic out, or --on gpu"},
                kBadInput);
  if (auto m = sched::find_machine(f.machine); !m) return fail(in.json, m.error(), kBadInput);
  const double memory_gb = flags.memory_gb > 0 ? flags.memory_gb : 8;
  if (flags.run.repeats <= 0) flags.run.repeats = 3;
  flags.run.memory_bytes = static_cast<uint64_t>(memory_gb * (1ull << 30));
  int status = kGood;
  auto loaded = load(in, true, status);
  if (!loaded) return status;
  auto choices = choose(*loaded, f, flags.choice, 1, in.json, status);
  if (!choices) return status;
  const json& about = choices->at(0).about;
  const sched::Plan& plan = choices->at(0).plan;
  const poly::Schedule& schedule = plan.schedule;
  flags.run.numerics = *tile::numerics_from_name(plan.numerics);
  const poly::Verification v = poly::verify(schedule);
  if (!v.ok)
    return fail(in.json,
                {"verify the schedule", loaded->program.name, v.verdict.why, v.verdict.suggest},
                kNo);
  tile::RewriteReport report;
  std::string text;
  std::vector<std::string> notes;
  auto result = lower_and_run(*loaded, schedule, flags, &report, &text, &notes);
  if (!result) return fail(in.json, result.error(), kNo);
  if (!choices->at(0).note.empty()) notes.push_back(choices->at(0).note);
  if (!flags.print.empty() && !in.json)
    std::cout << (flags.print == "tile" ? text : poly::to_text(schedule));
  json out = runtime::to_json(*result);
  std::optional<runtime::RunResult> original;
  if (flags.against_original) {
    auto o = lower_and_run(
        *loaded, poly::initial_schedule(std::make_shared<const poly::Program>(loaded->program)),
        flags, nullptr, nullptr, nullptr);
    if (!o) return fail(in.json, o.error(), kNo);
    original = *o;
    out["original"] = runtime::to_json(*o);
    if (result->seconds > 0) out["speedup_over_original"] = o->seconds / result->seconds;
  }
  const bool passed = result->passed && (!original || original->passed);
  const int answer = passed ? kGood : !result->passed ? answer_of(*result) : kNo;
  if (in.json) {
    out.update(about);
    out["name"] = loaded->program.name;
    out["sizes"] = loaded->sizes;
    out["on"] = flags.on;
    out["numerics"] = plan.numerics;
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
  f->machine = "";
  f->seconds = 30;  // a slow host finds the same as a fast one
  f->max_plans = 1000;
  CLI::App* verb =
      app.add_subcommand("run", "run a plan and compare with the double-precision reference");
  verb->footer(
      "example: nautilusc run softmax --size N=1025 --on cpu --json\n         "
      "compute-sanitizer nautilusc run matmul --on gpu --in-process");
  add_input(*verb, *in);
  add_search_flags(*verb, *f);
  verb->add_option("--on", flags->on, "where")
      ->check(CLI::IsMember({"cpu", "gpu"}))
      ->capture_default_str();
  add_choice_flags(*verb, flags->choice);
  verb->add_flag("--against-original", flags->against_original,
                 "also run the unfused, untiled schedule and compare times");
  verb->add_option("--print", flags->print,
                   "also print the tile program, the schedule tree, or (GPU) the memory program or "
                   "CUDA source")
      ->check(CLI::IsMember({"tile", "tree", "memory", "cuda"}));
  verb->add_option("--threads", flags->run.threads, "threads (0: all cores)")
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--limit", flags->run.seconds, "wall-clock limit of the child process, seconds")
      ->check(amount(1e-3, 1e6))
      ->capture_default_str();
  verb->add_option("--memory", flags->memory_gb,
                   "memory limit, GB: of the child process (default 8), or of the tensors on the "
                   "GPU (default: what is free)")
      ->check(amount(1e-3, 1e6));
  verb->add_option("--repeats", flags->run.repeats, "timed runs (default 3, on the GPU 20)")
      ->check(CLI::PositiveNumber);
  add_open_flag(*verb, flags->symbolic);
  verb->add_option("--target", flags->target, "GPU: compile for this (default: the device's)");
  verb->add_option(
          "--tries", flags->tries,
          "GPU: plans that are tried until one can be lowered (default 5, with --symbolic 40)")
      ->check(CLI::PositiveNumber);
  verb->add_flag("--in-process", flags->gpu.in_process,
                 "GPU: run once, without a child process, timing or guard bands (for "
                 "compute-sanitizer)");
  verb->add_flag("--no-check", flags->no_check,
                 "GPU: run kernels that the memory interpreter has not run first");
  verb->add_flag("--flush", flags->gpu.flush, "GPU: empty the L2 cache before each timed run");
  verb->add_option(
      "--turns", flags->gpu.turns,
      "GPU: a file that runs side by side lock, so that one uses the device at a time");
  verb->add_option("--print-after", flags->print_after,
                   "GPU: print the program after this pass, or after all");
  verb->add_option("--sample", flags->run.sample,
                   "reference rows (0: all; default: chosen by size)")
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--scale", flags->run.scale, "scale of the random inputs")
      ->check(amount(-1e38, 1e38))
      ->capture_default_str();
  verb->add_option("--data-seed", flags->run.seed, "seed of the random inputs")
      ->check(natural())
      ->capture_default_str();
  verb->add_option("--tolerance", flags->run.tolerance,
                   "of the largest error, relative to the magnitude of the terms; at least what "
                   "straightforward evaluation in the same types loses (0: derived from types and "
                   "lengths)")
      ->check(amount(0, 1e38));
  verb->callback([=, &status] { status = run(*in, *f, *flags); });
}

}  // namespace nautilus::driver
