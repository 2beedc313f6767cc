#include "compiler/driver/common.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "autosched/file.h"
#include "compiler/driver/specs.h"
#include "compiler/runtime/process.h"

#ifdef NAUTILUS_HAVE_CLANG
#include "compiler/spec/model.h"
#include "compiler/spec/reader.h"
#endif

namespace nautilus::driver {

using nlohmann::json;

void add_input(CLI::App& app, Input& in) {
  app.add_option("spec", in.spec,
                 "spec file (*.spec.cpp), program (*.naut), or name of a corpus kernel")
      ->required();
  app.add_option("--kernel", in.kernel, "which kernel, when the file has several");
  app.add_option("--size", in.sizes, "sizes, e.g. --size N=4096 D=128")->expected(-1);
  app.add_option("--model", in.model,
                 "take sizes from a model: a corpus name (qwen3-8b) or a config.json");
  app.add_option("--batch", in.batch, "with --model: sequences in a batch")
      ->check(CLI::PositiveNumber)
      ->needs("--model");
  app.add_option("--seq", in.seq, "with --model: sequence length")
      ->check(CLI::NonNegativeNumber)
      ->needs("--model")
      ->capture_default_str();
  app.add_option("--phase", in.phase, "with --model: prefill or decode")
      ->check(CLI::IsMember({"prefill", "decode"}))
      ->needs("--model");
  app.add_option("--tp", in.tensor_parallel, "with --model: tensor-parallel degree")
      ->check(CLI::PositiveNumber)
      ->needs("--model");
  app.add_flag("--json", in.json, "machine-readable output on stdout");
}

void print_json(const json& j) {
  std::cout << j.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
}

int fail(bool as_json, const Refusal& r, int status) {
  if (as_json) {
    print_json(
        {{"error",
          {{"asked", r.asked}, {"where", r.where}, {"why", r.why}, {"suggest", r.suggest}}}});
  } else {
    std::cerr << "nautilusc: " << r.text() << "\n";
  }
  return status;
}

int fail(bool as_json, const std::string& message, int status) {
  if (as_json) return fail(true, Refusal{"", "", message, ""}, status);
  std::cerr << message << (message.ends_with('\n') ? "" : "\n");
  return status;
}

Expected<poly::Sizes> parse_sizes(const std::vector<std::string>& items) {
  poly::Sizes out;
  for (const std::string& item : items) {
    const size_t eq = item.find('=');
    Refusal r{"size " + item, "", "", "write NAME=VALUE, e.g. --size N=4096"};
    if (eq == std::string::npos || eq == 0) {
      r.why = "not of the form NAME=VALUE";
      return r;
    }
    const std::string name = item.substr(0, eq), value = item.substr(eq + 1);
    int64_t v = 0;
    const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), v);
    if (error != std::errc() || stop != value.data() + value.size()) {
      r.why = "'" + value + "' is not a whole number";
      return r;
    }
    if (v < 0 || v > (int64_t{1} << 40)) {
      r.why = "a size lies between 0 and 2^40";
      return r;
    }
    if (out.count(name)) {
      r.why = "given twice";
      return r;
    }
    out[name] = v;
  }
  return out;
}

namespace {

// The programs of a spec: the one chosen, else all. At least one.
Expected<std::vector<poly::Program>> read_programs(const poly::ContextPtr& ctx,
                                                   const SpecSource& source) {
#ifdef NAUTILUS_HAVE_CLANG
  if (source.kernel.empty()) return spec::load_programs(ctx, source.path);
  auto one = spec::load_program(ctx, source.path, source.kernel);
#else
  if (!source.path.ends_with(".naut"))
    return Refusal{"read " + source.path, "",
                   "this build has no Clang and reads programs in their text form only",
                   "print the .naut form on another machine: nautilusc check SPEC --naut"};
  const auto text = sched::read_file(source.path);
  if (!text) return text.error();
  auto one = poly::parse_naut(ctx, *text, source.path);
#endif
  if (!one) return one.error();
  return std::vector<poly::Program>{*std::move(one)};
}

Expected<poly::Sizes> model_sizes(const Input& in, const poly::Program& p,
                                  std::vector<std::string>& notes) {
#ifdef NAUTILUS_HAVE_CLANG
  return spec::sizes_for(in.model, p, {in.phase, in.batch, in.seq, in.tensor_parallel}, notes);
#else
  (void)p, (void)notes;
  return Refusal{"--model " + in.model, "", "this build has no Clang, so no model reader",
                 "give sizes with --size"};
#endif
}

// A program with its sizes: those given, then the model's, then (with `bind`) the typical ones.
// Status of a refusal in `code`.
Expected<Loaded> with_sizes(const Input& in, poly::Program program, const poly::Sizes& given,
                            const SpecSource& source, bool bind, int& code) {
  auto valid = poly::with_quota(program.context->get(), poly::kDefaultQuota,
                                [&] { return poly::validate(program); });
  code = kBudget;
  if (!valid) return valid.error();
  code = kBadInput;
  if (*valid) return **valid;
  auto text = sched::read_file(source.path);
  if (!text) return text.error();
  Loaded out{program, std::move(program), given, source.path, *std::move(text), {}};
  if (!in.model.empty()) {
    auto from_model = model_sizes(in, out.program, out.notes);
    if (!from_model) return from_model.error();
    for (const auto& [name, value] : *from_model) out.sizes.emplace(name, value);
  }
  if (bind) {
    std::string taken, absent;
    for (const std::string& name : out.program.params) {
      if (out.sizes.count(name)) continue;
      const auto typical = out.program.typical.find(name);
      if (typical == out.program.typical.end()) {
        absent += " " + name;
        continue;
      }
      out.sizes[name] = typical->second;
      taken += " " + name + "=" + std::to_string(typical->second);
    }
    if (!absent.empty())
      return Refusal{"bind sizes of " + out.program.name, "", "no value for" + absent,
                     "give --size NAME=VALUE"};
    if (!taken.empty()) out.notes.push_back("typical sizes taken from the spec:" + taken);
  }
  auto bound = poly::bind_sizes(out.program, out.sizes);
  if (!bound) return bound.error();
  try {
    poly::QuotaGuard guard(bound->context->get(), poly::kDefaultQuota);
    out.program = poly::restrict_to_demanded(*bound);
  } catch (const isl::exception& e) {
    code = kBudget;
    return Refusal{"find the instances that the outputs need", out.program.name, e.what(),
                   "simplify the domains"};
  }
  return out;
}

Refusal several_kernels(const SpecSource& source, const std::vector<poly::Program>& all) {
  std::string names;
  for (const poly::Program& p : all) names += (names.empty() ? "" : ", ") + p.name;
  return {"read " + source.path, "",
          "it holds " + std::to_string(all.size()) + " kernels: " + names,
          "choose one: --kernel " + all.front().name};
}

// The sizes given that a program takes: all but those that only other programs of the file have.
poly::Sizes sizes_of(const poly::Program& p, const std::vector<poly::Program>& all,
                     const poly::Sizes& given) {
  const auto has = [](const poly::Program& q, const std::string& name) {
    return std::find(q.params.begin(), q.params.end(), name) != q.params.end();
  };
  poly::Sizes out;
  for (const auto& [name, value] : given)
    if (has(p, name) ||
        std::none_of(all.begin(), all.end(), [&](const poly::Program& q) { return has(q, name); }))
      out[name] = value;
  return out;
}

std::optional<std::vector<Loaded>> load_some(const Input& in, bool bind, bool single, int& status) {
  int code = kBadInput;
  auto loaded = read_input(in, bind, single, code);
  if (loaded) return *std::move(loaded);
  // Clang's diagnostics are complete in themselves: printed as they are.
  const Refusal& r = loaded.error();
  status = r.asked.empty() ? fail(in.json, r.why, code) : fail(in.json, r, code);
  return std::nullopt;
}

}  // namespace

Expected<std::vector<Loaded>> read_input(const Input& in, bool bind, bool single, int& code) {
  code = kBadInput;
  auto source = resolve_spec(in.spec, in.kernel);
  if (!source) return source.error();
  auto programs = read_programs(poly::make_context(), *source);
  if (!programs) return programs.error();
  if (single && programs->size() > 1) return several_kernels(*source, *programs);
  auto given = parse_sizes(in.sizes);
  if (!given) return given.error();
  std::vector<Loaded> out;
  for (const poly::Program& p : *programs) {
    auto loaded = with_sizes(in, p, sizes_of(p, *programs, *given), *source, bind, code);
    if (!loaded) return loaded.error();
    out.push_back(*std::move(loaded));
  }
  code = kGood;
  return out;
}

std::optional<std::vector<Loaded>> load_all(const Input& in, bool bind, int& status) {
  return load_some(in, bind, false, status);
}

std::optional<Loaded> load(const Input& in, bool bind, int& status) {
  auto loaded = load_some(in, bind, true, status);
  if (!loaded) return std::nullopt;
  return std::move(loaded->front());
}

Progress::Progress(bool enabled)
    : enabled_(enabled), tty_(isatty(2)), start_(std::chrono::steady_clock::now()), last_(start_) {}

Progress::~Progress() { clear(); }

void Progress::update(const std::string& line) {
  const auto now = std::chrono::steady_clock::now();
  const double since = std::chrono::duration<double>(now - last_).count();
  if (!enabled_ || now - start_ < std::chrono::seconds(1) || since < (tty_ ? 0.1 : 2.0)) return;
  last_ = now;
  shown_ = true;
  if (tty_)
    std::fprintf(stderr, "\r\033[K%s", line.c_str());
  else
    std::fprintf(stderr, "%s\n", line.c_str());
  std::fflush(stderr);
}

void Progress::clear() {
  if (shown_ && tty_) std::fprintf(stderr, "\r\033[K");
  shown_ = false;
}

CLI::Validator natural() {
  return CLI::Validator(
      [](std::string& given) {
        uint64_t v = 0;
        const char* end = given.data() + given.size();
        const auto [stop, error] = std::from_chars(given.data(), end, v);
        return error == std::errc() && stop == end
                   ? std::string()
                   : given + " is not a whole number from 0 to 2^64 - 1";
      },
      "");
}

CLI::Validator amount(double least, double most) {
  char range[64];
  std::snprintf(range, sizeof range, "%g to %g", least, most);
  return CLI::Validator(
      [least, most, text = std::string(range)](std::string& given) {
        double v = 0;
        const bool number = CLI::detail::lexical_cast(given, v);
        return number && v >= least && v <= most ? std::string()
                                                 : given + " is not a number from " + text;
      },
      std::string("NUMBER ") + range);
}

std::atomic<bool>& interrupted() {
  static std::atomic<bool> flag{false};
  return flag;
}

std::atomic<bool>& interruptible() {
  static std::atomic<bool> flag{false};
  return flag;
}

void install_interrupt_handler() {
  struct sigaction action = {};
  action.sa_handler = [](int) {
    if (!interrupted().exchange(true) && interruptible()) return;
    runtime::kill_children();
    _exit(130);
  };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

namespace {
std::string scaled(double v, const char* const* units, double base) {
  int k = 0;
  while (std::fabs(v) >= base && units[k + 1]) v /= base, ++k;
  char buf[48];
  std::snprintf(buf, sizeof buf, std::fabs(v) >= 100 ? "%.0f %s" : "%.3g %s", v, units[k]);
  return buf;
}
}  // namespace

std::string human_time(double s) {
  static const char* const units[] = {"ns", "us", "ms", "s", nullptr};
  return scaled(s * 1e9, units, 1000);
}
std::string human_bytes(double b) {
  static const char* const units[] = {"B", "KB", "MB", "GB", "TB", "PB", nullptr};
  return scaled(b, units, 1000);
}
std::string human_count(double n) {
  static const char* const units[] = {"", "K", "M", "G", "T", "P", nullptr};
  return scaled(n, units, 1000);
}

json to_json(const poly::Repair& r) {
  json out = {{"band", r.band},
              {"targets", r.targets},
              {"sources", r.sources},
              {"via", r.via},
              {"term", r.term ? to_string(r.term) : ""},
              {"note", r.note},
              {"numeric", poly::numeric_tag_name(r.numeric)},
              {"lazy_bound", r.lazy_bound},
              {"lazy", r.lazy}};
  if (r.may_stay) out["may_stay"] = to_string(r.may_stay);
  for (const Expr& c : r.corrections) out["corrections"].push_back(to_string(c));
  for (const poly::Derivation& d : r.derivations)
    out["derivations"].push_back({{"method", d.method},
                                  {"steps", d.steps},
                                  {"correction", d.correction ? to_string(d.correction) : ""}});
  for (const poly::Obligation& o : r.obligations)
    out["obligations"].push_back(
        {{"claim", o.claim}, {"method", o.method}, {"discharged", o.discharged}});
  return out;
}

json to_json(const poly::Verdict& v) {
  json out = {
      {"verdict", poly::verdict_name(v.kind)}, {"why", v.why}, {"relaxations", v.relaxations}};
  if (!v.suggest.empty()) out["suggest"] = v.suggest;
  if (v.witness) {
    const poly::Witness& w = *v.witness;
    out["witness"] = {{"text", w.text},           {"source", w.source},
                      {"sink", w.sink},           {"source_iter", w.source_iter},
                      {"sink_iter", w.sink_iter}, {"sizes", w.sizes},
                      {"tensor", w.tensor},       {"element", w.element}};
  }
  out["repairs"] = json::array();
  for (const poly::Repair& r : v.repairs) out["repairs"].push_back(to_json(r));
  return out;
}

json to_json(const sched::RooflinePoint& p) {
  return {
      {"level", p.level}, {"intensity", p.intensity}, {"achieved", p.achieved}, {"roof", p.roof}};
}

}  // namespace nautilus::driver
