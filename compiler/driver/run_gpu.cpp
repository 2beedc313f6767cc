// `run --on gpu`: plan, lower, compile, run on the device, compare.
#include <iostream>

#include "compiler/driver/gpu_code.h"
#include "compiler/driver/host_gpu.h"
#include "compiler/driver/run.h"

namespace nautilus::driver {

using nlohmann::json;

namespace {

struct Ran {
  GpuCode code;
  gpu::GpuResult result;
};

// Plan to result; on failure prints why and sets `status`.
std::optional<Ran> generate_and_run(const Loaded& in, const std::vector<Choice>& choices,
                                    const OpenProgram* open, const sched::Machine& machine,
                                    const RunFlags& flags, PassPrinter& printer, bool json_out,
                                    int& status) {
  auto code = generate(choices, machine, {flags.target, true, &in, !flags.no_check, open}, printer);
  if (!code) {
    status = fail(json_out, code.error(), cuda::find_compiler() ? kNo : kEnvironment);
    return std::nullopt;
  }
  const poly::Verification v = poly::verify(code->schedule);
  if (!v.ok) {
    status = fail(json_out,
                  {"verify the schedule", in.program.name, v.verdict.why, v.verdict.suggest}, kNo);
    return std::nullopt;
  }
  runtime::RunOptions options = flags.run;
  options.numerics = *tile::numerics_from_name(code->choice.plan.numerics);
  auto result = gpu::run_gpu(in.program, in.sizes, code->source, *code->code, options, flags.gpu);
  if (!result) {
    status = fail(json_out, result.error(), kNo);
    return std::nullopt;
  }
  result->run.compile_seconds = code->compile_seconds;
  return Ran{*std::move(code), *std::move(result)};
}

json device_json(const gpu::Outcome& o) {
  json kernels = json::array();
  for (const gpu::KernelFacts& k : o.kernels)
    kernels.push_back({{"kernel", k.kernel},
                       {"registers", k.registers},
                       {"local_bytes", k.local_bytes},
                       {"blocks_per_unit", k.blocks_per_unit}});
  return {{"name", o.device},
          {"samples", o.samples},
          {"repeatable", o.repeatable},
          {"kernels", kernels}};
}

json result_json(const Ran& r) {
  json out = runtime::to_json(r.result.run);
  out.update(resources_json(r.code));
  out["device"] = device_json(r.result.outcome);
  out["target"] = r.code.source.target;
  if (!r.code.source.sizes.empty()) out["symbolic"] = r.code.source.sizes;
  out["rewrites"] = r.code.report.applied;
  out["rewriting"] = {{"stop_reason", r.code.report.stop_reason},
                      {"cost_before", r.code.report.cost_before},
                      {"cost_after", r.code.report.cost_after}};
  out["notes"] = r.code.notes;
  out["warnings"] = r.code.code->warnings;
  out["useful_flops"] = r.code.useful_flops;
  if (r.result.run.seconds > 0)
    out["flops_per_second"] = r.code.useful_flops / r.result.run.seconds;
  if (r.code.cost) {
    out["predicted_with_resources"] = r.code.cost->seconds;
    out["limiter_with_resources"] = r.code.cost->limiter;
  }
  return out;
}

void print_run(const char* what, const Ran& r) {
  print_result(what, r.result.run);
  for (const cuda::Resources& k : r.code.code->kernels)
    std::cout << "  " << k.kernel << ": " << k.registers << " registers, " << k.spill_bytes
              << " bytes spilled, " << human_bytes(static_cast<double>(k.shared_bytes))
              << " shared, occupancy " << static_cast<int>(100 * k.occupancy + 0.5) << " %\n";
  std::cout << "  " << to_text(r.code.check) << "\n";
  if (r.result.run.seconds > 0 && r.code.useful_flops > 0)
    std::cout << "  " << human_count(r.code.useful_flops / r.result.run.seconds)
              << "FLOP/s of the mathematics\n";
  if (r.code.cost)
    std::cout << "  predicted with these resources " << human_time(r.code.cost->seconds) << ", "
              << r.code.cost->limiter << "\n";
  if (!r.result.outcome.repeatable)
    std::cout << "  note: another run gave other bits (sums by atomics do)\n";
}

}  // namespace

int run_on_gpu(const Input& in, SearchFlags f, RunFlags flags) {
  // Before anything takes time: is there a device?
  int status = kGood;
  const auto gpu = host_gpu("run --on gpu", flags.target, f.machine, in.json, status);
  if (!gpu) return status;
  flags.target = gpu->target;
  f.machine = gpu->machine;
  if (flags.run.repeats <= 0) flags.run.repeats = 20;
  flags.gpu.memory_bytes = static_cast<uint64_t>(flags.memory_gb * (1ull << 30));
  auto loaded = load(in, true, status);
  if (!loaded) return status;
  const auto opened = open_program(*loaded, flags.symbolic);
  if (!opened) return fail(in.json, opened.error(), kBadInput);
  const OpenProgram* open = *opened ? &**opened : nullptr;
  if (open) f.open_dims = open->dims;
  auto choices = choose(*loaded, f, flags.choice,
                        most_choices(flags.tries, !flags.symbolic.empty()), in.json, status);
  if (!choices) return status;
  PassPrinter printer(flags.print_after, in.json);
  auto ran =
      generate_and_run(*loaded, *choices, open, gpu->description, flags, printer, in.json, status);
  if (!ran) return status;
  if (auto bad = printer.check()) return fail(in.json, *bad, kBadInput);
  const Choice& choice = ran->code.choice;
  if (!flags.print.empty() && !in.json)
    std::cout << (flags.print == "tile"     ? tile::print(ran->code.tile)
                  : flags.print == "memory" ? memory::print(ran->code.memory)
                  : flags.print == "cuda"   ? ran->code.source.text
                                            : poly::to_text(choice.plan.schedule));
  std::optional<Ran> original;
  if (flags.against_original) {
    PassPrinter quiet("", in.json);
    SearchFlags same = f;
    same.numerics = choice.plan.numerics;
    auto first = choose(*loaded, same, {"original", ""}, 1, in.json, status);
    if (!first) return status;
    original =
        generate_and_run(*loaded, *first, open, gpu->description, flags, quiet, in.json, status);
    if (!original) return status;
  }
  const runtime::RunResult& result = ran->result.run;
  const bool passed = result.passed && (!original || original->result.run.passed);
  const int answer = passed ? kGood : !result.passed ? answer_of(result) : kNo;
  if (in.json) {
    json out = result_json(*ran);
    out.update(choice.about);
    out["name"] = loaded->program.name;
    out["sizes"] = loaded->sizes;
    out["machine"] = f.machine;
    out["on"] = "gpu";
    out["numerics"] = choice.plan.numerics;
    out["verified"] = true;
    if (original) {
      out["original"] = result_json(*original);
      if (result.seconds > 0)
        out["speedup_over_original"] = original->result.run.seconds / result.seconds;
    }
    print_json(out);
    return answer;
  }
  std::cout << loaded->program.name << " at";
  for (const auto& [name, value] : loaded->sizes) std::cout << " " << name << "=" << value;
  std::cout << " on " << gpu->name << " (" << choice.about.value("plan", "") << " for " << f.machine
            << ", " << flags.target << ")\n";
  for (const std::string& n : loaded->notes) std::cout << "  (" << n << ")\n";
  for (const std::string& n : ran->code.notes) std::cout << "  note: " << n << "\n";
  if (choice.about.contains("note"))
    std::cout << "  (" << choice.about["note"].get<std::string>() << "; more --seconds)\n";
  print_run("discovered schedule", *ran);
  if (original) {
    print_run("unfused, untiled schedule", *original);
    if (result.seconds > 0)
      std::cout << "speed-up " << original->result.run.seconds / result.seconds << "\n";
  }
  return answer;
}

}  // namespace nautilus::driver
