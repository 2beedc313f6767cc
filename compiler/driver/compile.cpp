// The verb `compile`: the best plan (or a given one) to files that a program can use.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "autosched/file.h"
#include "compiler/backend/torch/wrapper.h"
#include "compiler/driver/gpu_code.h"

namespace nautilus::driver {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct CompileFlags {
  std::string target, output, print_after;
  ChoiceFlags choice;
  std::vector<std::string> symbolic;
  size_t tries = 0;  // 0: see most_choices
  bool no_check = false;
};

// Files of one directory, written one after the other; the first that fails is said.
class Files {
 public:
  explicit Files(std::string directory) : directory_(std::move(directory)) {}
  void write(const std::string& name, const std::string& text) {
    if (failed_) return;
    const fs::path path = fs::path(directory_) / name;
    std::ofstream out(path, std::ios::binary);
    out << text;
    out.close();
    if (!out)
      failed_ = Refusal{"write " + path.string(), "", "the file cannot be written",
                        "another directory with -o"};
    names_.push_back(name);
  }
  const std::vector<std::string>& names() const { return names_; }
  const std::optional<Refusal>& failed() const { return failed_; }

 private:
  std::string directory_;
  std::vector<std::string> names_;
  std::optional<Refusal> failed_;
};

// Line of kernel.cu -> schedule tree node.
json map_json(const cuda::Source& s) {
  json lines = json::array();
  for (const auto& [line, node] : s.map) lines.push_back({{"line", line}, {"node", node}});
  return {{"source", "kernel.cu"}, {"lines", lines}};
}

json cost_json(const sched::Cost& c) {
  json points = json::array();
  for (const sched::RooflinePoint& p : c.points) points.push_back(to_json(p));
  return {{"seconds", c.seconds}, {"limiter", c.limiter}, {"roofline", points}};
}

// A plan as explore --plan writes it, with sizes, machine and what the kernels take.
json plan_json(const GpuCode& c, const poly::Sizes& sizes, const std::string& machine) {
  json j = sched::plan_to_json(c.choice.plan);
  j["sizes"] = sizes;
  if (!c.source.sizes.empty()) j["symbolic"] = c.source.sizes;
  j["machine"] = machine;
  j["target"] = c.source.target;
  j["resources"] = resources_json(c);
  if (c.choice.about.contains("predicted_seconds"))
    j["predicted_seconds"] = c.choice.about["predicted_seconds"];
  if (c.cost) j["with_resources"] = cost_json(*c.cost);
  return j;
}

// Everything that comes of the code. `program`: null for a memory program as it stands.
std::optional<Refusal> write_files(Files& files, const GpuCode& c, const Loaded* in,
                                   const std::string& machine) {
  std::vector<torch::Fact> facts = torch::facts_of(c.source.facts);
  if (in) {
    auto f = torch::facts_of(*c.schedule.program, c.source.sizes);
    if (!f) return f.error();
    facts = *f;
    files.write("kernel.tile", tile::print(c.tile));
    files.write("plan.json", plan_json(c, in->sizes, machine).dump(2) + "\n");
  }
  files.write("kernel.mtile", memory::print(c.memory));
  files.write("kernel.cu", c.source.text);
  files.write("kernel.map.json", map_json(c.source).dump(2) + "\n");
  const std::string& name = c.source.name;
  if (c.code) files.write(name + ".cubin", c.code->cubin);
  files.write(name + ".h", cuda::emit_header(c.source));
  files.write(name + "_launch.cpp", cuda::emit_launcher(c.source));
  files.write(name + ".py", torch::wrapper(c.source, facts, name + ".cubin"));
  return files.failed();
}

json report_json(const GpuCode& c, const std::string& output, const Files& files) {
  json out = resources_json(c);
  out["name"] = c.source.name;
  out["target"] = c.source.target;
  out["output"] = output;
  out["files"] = files.names();
  out["notes"] = c.notes;
  out["rewrites"] = c.report.applied;
  if (c.code) {
    out["warnings"] = c.code->warnings;
    out["compile_seconds"] = c.compile_seconds;
  }
  if (c.no_compiler)
    out["no_cubin"] = {{"why", c.no_compiler->why}, {"suggest", c.no_compiler->suggest}};
  if (c.useful_flops > 0) out["useful_flops"] = c.useful_flops;
  if (c.cost) out["with_resources"] = cost_json(*c.cost);
  return out;
}

void print_report(const GpuCode& c, const std::string& output, const Files& files) {
  std::cout << c.source.name << " for " << c.source.target << "\n";
  std::string open;
  for (const std::string& n : c.source.sizes) open += (open.empty() ? "" : ", ") + n;
  if (!open.empty())
    std::cout << "  for every value of " << open
              << (c.source.facts.is_always() ? "" : " with " + to_string(c.source.facts)) << "\n";
  for (const std::string& n : c.notes) std::cout << "  note: " << n << "\n";
  for (size_t k = 0; k < c.source.launches.size(); ++k) {
    const cuda::Launch& l = c.source.launches[k];
    std::cout << "  kernel " << l.kernel << ": " << l.threads << " threads";
    if (c.code && k < c.code->kernels.size()) {
      const cuda::Resources& r = c.code->kernels[k];
      std::cout << ", " << r.registers << " registers, " << r.spill_bytes << " bytes spilled, "
                << human_bytes(static_cast<double>(r.shared_bytes)) << " shared, occupancy "
                << static_cast<int>(100 * r.occupancy + 0.5) << " %";
    }
    std::cout << "\n";
  }
  if (c.code)
    for (const std::string& w : c.code->warnings) std::cout << "  warning: " << w << "\n";
  std::cout << "  " << to_text(c.check) << "\n";
  if (c.choice.about.contains("predicted_seconds"))
    std::cout << "  predicted " << human_time(c.choice.about["predicted_seconds"].get<double>())
              << (c.cost ? ", with these resources " + human_time(c.cost->seconds) + " (" +
                               c.cost->limiter + ")"
                         : "")
              << "\n";
  std::cout << "written to " << output << ":";
  for (const std::string& n : files.names()) std::cout << " " << n;
  std::cout << "\n";
  if (c.no_compiler) std::cout << "no cubin: " << c.no_compiler->text() << "\n";
}

int finish(const Expected<GpuCode>& code, const PassPrinter& printer, const Loaded* in,
           const std::string& machine, const CompileFlags& f, bool as_json) {
  if (!code) return fail(as_json, code.error(), kNo);
  if (auto bad = printer.check()) return fail(as_json, *bad, kBadInput);
  std::error_code ec;
  fs::create_directories(f.output, ec);
  Files files(f.output);
  if (auto bad = write_files(files, *code, in, machine)) return fail(as_json, *bad, kEnvironment);
  if (!as_json) {
    print_report(*code, f.output, files);
    return kGood;
  }
  json out = report_json(*code, f.output, files);
  out.update(code->choice.about);
  if (in) out["sizes"] = in->sizes;
  if (!code->source.sizes.empty()) out["symbolic"] = code->source.sizes;
  if (in) out["machine"] = machine;
  if (in) out["numerics"] = code->choice.plan.numerics;
  print_json(out);
  return kGood;
}

// A memory program written by hand, or edited.
int compile_memory(const Input& in, const CompileFlags& f) {
  const auto text = sched::read_file(in.spec);
  if (!text) return fail(in.json, text.error(), kBadInput);
  auto m = memory::parse(*text, in.spec);
  if (!m) return fail(in.json, m.error(), kBadInput);
  if (!f.target.empty())
    if (auto t = memory::parse_target(f.target); !t) return fail(in.json, t.error(), kBadInput);
  auto sizes = parse_sizes(in.sizes);
  if (!sizes) return fail(in.json, sizes.error(), kBadInput);
  PassPrinter printer(f.print_after, in.json);
  const auto code =
      generate(*m, f.no_check ? std::nullopt : std::optional(*sizes), {f.target, false}, printer);
  return finish(code, printer, nullptr, "", f, in.json);
}

int compile(const Input& in, SearchFlags search, const CompileFlags& f) {
  if (auto bad = sched::check_directory(f.output)) return fail(in.json, *bad, kBadInput);
  if (in.spec.ends_with(".mtile")) {
    if (f.symbolic.empty()) return compile_memory(in, f);
    return fail(in.json,
                {"compile " + in.spec, "--symbolic",
                 "a memory program says itself which sizes are open", "leave --symbolic out"},
                kBadInput);
  }
  if (search.machine.empty())
    search.machine = f.target.empty() ? "h200" : machine_of_target(f.target);
  const auto machine = find_gpu(search.machine);
  if (!machine) return fail(in.json, machine.error(), kBadInput);
  const std::string target =
      f.target.empty() ? target_of_machine(search.machine).value_or("") : f.target;
  if (auto t = memory::parse_target(target); !t)
    return fail(in.json,
                target.empty() ? Refusal{"compile for " + search.machine, "",
                                         "the machine's description has no target",
                                         "--target sm_90a, or \"target\" in the description"}
                               : t.error(),
                kBadInput);
  int status = kGood;
  auto loaded = load(in, true, status);
  if (!loaded) return status;
  const auto open = open_program(*loaded, f.symbolic);
  if (!open) return fail(in.json, open.error(), kBadInput);
  if (*open) search.open_dims = (*open)->dims;
  auto choices = choose(*loaded, search, f.choice, most_choices(f.tries, !f.symbolic.empty()),
                        in.json, status);
  if (!choices) return status;
  PassPrinter printer(f.print_after, in.json);
  const auto code =
      generate(*choices, *machine,
               {target, false, &*loaded, !f.no_check, *open ? &**open : nullptr}, printer);
  if (code) {
    const poly::Verification v = poly::verify(code->schedule);
    if (!v.ok)
      return fail(in.json,
                  {"verify the schedule", loaded->program.name, v.verdict.why, v.verdict.suggest},
                  kNo);
  }
  return finish(code, printer, &*loaded, search.machine, f, in.json);
}

}  // namespace

void add_compile(CLI::App& app, int& status) {
  auto in = std::make_shared<Input>();
  auto search = std::make_shared<SearchFlags>();
  auto f = std::make_shared<CompileFlags>();
  search->machine = "";
  search->seconds = 30;  // a slow host finds the same as a fast one
  search->max_plans = 1000;
  CLI::App* verb = app.add_subcommand(
      "compile", "best plan to CUDA source, cubin, C header and launcher, PyTorch wrapper");
  verb->footer(
      "example: nautilusc compile attention_causal --size N=4096 --target sm_90a -o out --json\n"
      "SPEC may also be a memory program (*.mtile), which is compiled as it stands (and checked at "
      "the sizes of --size)");
  add_input(*verb, *in);
  add_search_flags(*verb, *search);
  add_choice_flags(*verb, f->choice);
  add_open_flag(*verb, f->symbolic);
  verb->add_option(
      "--target", f->target,
      "sm_80, sm_86, sm_87, sm_89, sm_90, sm_90a, sm_100, sm_103, sm_120 (default: the "
      "machine's)");
  verb->add_option("-o,--output", f->output, "directory to write to")->required();
  verb->add_option("--tries", f->tries,
                   "plans that are tried until one can be lowered (default 5, with --symbolic 40)")
      ->check(CLI::PositiveNumber);
  verb->add_flag("--no-check", f->no_check,
                 "hand kernels out without running them in the memory interpreter first");
  verb->add_option("--print-after", f->print_after,
                   "print the program after this pass, or after all");
  verb->callback([=, &status] { status = compile(*in, *search, *f); });
}

}  // namespace nautilus::driver
