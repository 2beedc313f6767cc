#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "compiler/driver/common.h"
#include "compiler/driver/specs.h"

#ifdef NAUTILUS_HAVE_CLANG
#include "compiler/spec/model.h"
#endif

namespace nautilus::driver {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::vector<fs::path> files(const char* folder, const std::string& suffix) {
  std::vector<fs::path> out;
  std::error_code ec;
  for (const auto& e : fs::directory_iterator(fs::path(sched::corpus_dir()) / folder, ec))
    if (e.path().filename().string().ends_with(suffix)) out.push_back(e.path());
  std::sort(out.begin(), out.end());
  return out;
}

std::string stem(const fs::path& p, const std::string& suffix) {
  const std::string name = p.filename().string();
  return name.substr(0, name.size() - suffix.size());
}

std::string text_of(const fs::path& p) {
  std::ifstream in(p);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

int list(bool as_json) {
  json out = {{"kernels", json::array()}, {"models", json::array()}, {"machines", json::array()}};
  for (const CorpusKernel& k : corpus_kernels())
    out["kernels"].push_back({{"name", k.name}, {"path", k.path}, {"about", k.about}});
  for (const fs::path& p : files("models", ".json"))
    out["models"].push_back({{"name", stem(p, ".json")}, {"path", p.string()}});
  for (const std::string& id : sched::list_machines())
    if (auto m = sched::find_machine(id))
      out["machines"].push_back({{"name", id}, {"about", m->name}});
  if (as_json) return print_json(out), kGood;
  for (const char* kind : {"kernels", "models", "machines"}) {
    std::cout << kind << "\n";
    for (const json& e : out[kind]) {
      std::string name = e["name"];
      name.resize(std::max<size_t>(name.size() + 2, 26), ' ');
      std::cout << "  " << name << e.value("about", "") << "\n";
    }
  }
  return kGood;
}

// A kernel's whole file is shown, also where it holds others.
int show(const std::string& name, bool as_json) {
  std::string kind = "kernels", path;
  if (const auto source = corpus_source(name, "")) path = source->path;
  for (const char* folder : {"models", "machines"}) {
    const fs::path p = fs::path(sched::corpus_dir()) / folder / (name + ".json");
    std::error_code ec;
    if (!path.empty() || !fs::is_regular_file(p, ec)) continue;
    kind = folder;
    path = p.string();
  }
  if (path.empty() && name == "cpu") {  // probed, and listed with the machines; it has no file
    const json cpu = sched::machine_to_json(sched::probe_cpu());
    print_json(as_json
                   ? json{{"name", name}, {"kind", "machines"}, {"path", ""}, {"text", cpu.dump(2)}}
                   : cpu);
    return kGood;
  }
  if (path.empty())
    return fail(
        as_json,
        {"show " + name, "", "nothing in the corpus has that name", "nautilusc corpus list"},
        kBadInput);
  if (as_json)
    print_json({{"name", name}, {"kind", kind}, {"path", path}, {"text", text_of(path)}});
  else
    std::cout << text_of(path);
  return kGood;
}

#ifdef NAUTILUS_HAVE_CLANG
int expand(const std::string& model, int64_t batch, int64_t seq, int64_t tp, bool as_json) {
  auto kernels = spec::expand_model(model, {"", batch, seq, tp});
  if (!kernels) return fail(as_json, kernels.error(), kBadInput);
  if (as_json) {
    json out = {{"model", kernels->name}, {"kernels", json::array()}, {"notes", kernels->notes}};
    for (const auto& k : kernels->kernels)
      out["kernels"].push_back(
          {{"kernel", k.kernel}, {"phase", k.phase}, {"sizes", k.sizes}, {"count", k.count}});
    print_json(out);
    return kGood;
  }
  std::cout << kernels->name << "\n";
  for (const auto& k : kernels->kernels) {
    std::cout << "  " << k.phase << "  " << k.count << " x " << k.kernel;
    for (const auto& [n, v] : k.sizes) std::cout << " " << n << "=" << v;
    std::cout << "\n";
  }
  for (const std::string& n : kernels->notes) std::cout << "  note: " << n << "\n";
  return kGood;
}
#endif

}  // namespace

void add_corpus(CLI::App& app, int& status) {
  struct Args {
    std::string name;
    bool json = false;
    int64_t batch = 1, seq = 4096, tp = 1;
  };
  auto a = std::make_shared<Args>();
  CLI::App* verb = app.add_subcommand("corpus", "kernels, models and machines that ship");
  verb->footer(
      "examples: nautilusc corpus list; nautilusc corpus show softmax; nautilusc corpus model "
      "qwen3-8b --seq 4096");
  verb->require_subcommand(0, 1);
  verb->add_flag("--json", a->json, "machine-readable output on stdout");
  auto add_json = [a](CLI::App* v) {
    v->add_flag("--json", a->json, "machine-readable output on stdout");
  };
  CLI::App* list_verb = verb->add_subcommand("list", "names of everything");
  add_json(list_verb);
  CLI::App* show_verb = verb->add_subcommand("show", "print one");
  show_verb->add_option("name", a->name)->required();
  add_json(show_verb);
#ifdef NAUTILUS_HAVE_CLANG
  CLI::App* model_verb = verb->add_subcommand(
      "model", "expand a model (a corpus name or a config.json) to kernels with sizes");
  model_verb->add_option("name", a->name)->required();
  model_verb->add_option("--batch", a->batch)->check(CLI::PositiveNumber);
  model_verb->add_option("--seq", a->seq)->check(CLI::NonNegativeNumber);
  model_verb->add_option("--tp", a->tp, "tensor-parallel degree")->check(CLI::PositiveNumber);
  add_json(model_verb);
  model_verb->callback(
      [=, &status] { status = expand(a->name, a->batch, a->seq, a->tp, a->json); });
#endif
  show_verb->callback([=, &status] { status = show(a->name, a->json); });
  list_verb->callback([=, &status] { status = list(a->json); });
  verb->callback([=, &status] {
    if (verb->get_subcommands().empty()) status = list(a->json);
  });
}

}  // namespace nautilus::driver
