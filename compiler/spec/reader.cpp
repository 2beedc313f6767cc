#include "compiler/spec/reader.h"

#include <cctype>
#include <cstring>
#include <filesystem>

#include "autosched/file.h"
#include "compiler/spec/clang_front.h"
#include "compiler/spec/lower_kernel.h"

namespace nautilus::spec {

namespace {

constexpr size_t kMaxFileBytes = 4u << 20;

// Where nautilus/spec.h lies: as asked, in the environment, in the source tree.
std::string header_dir(const std::string& asked) {
  if (!asked.empty()) return asked;
  if (const char* env = std::getenv("NAUTILUS_INCLUDE_DIR"); env && *env) return env;
  return std::string(NAUTILUS_SOURCE_DIR) + "/compiler/spec/include";
}

// Clang's parser recurses on prefix operators without a limit of its own: the line of a run that
// its stack would not hold, or 0.
int line_of_prefix_run(const std::string& text) {
  constexpr int kMost = 1000;
  int line = 1, run = 0;
  for (const char c : text) {
    line += c == '\n';
    if (std::strchr("+-!~*&", c) && c)
      ++run;
    else if (!std::isspace(static_cast<unsigned char>(c)))
      run = 0;
    if (run > kMost) return line;
  }
  return 0;
}

SpecResult read(poly::ContextPtr ctx, const std::string& path, const std::string* text,
                const std::string& include_dir) {
  SpecResult out;
  if (const int line = text ? line_of_prefix_run(*text) : 0) {
    out.diagnostics = path + ":" + std::to_string(line) +
                      ": error: too many operators in a row; assign a part of the expression to a "
                      "Tensor\n";
    return out;
  }
  const FrontResult front =
      run_clang(path, text, header_dir(include_dir), [&](const SpecFile& file) {
        std::vector<Diag> diags;
        for (const KernelDecl& k : file.kernels)
          if (auto p = lower_kernel(ctx, k, file.file, diags)) out.kernels.push_back(std::move(*p));
        if (file.kernels.empty()) {
          Diag d;
          d.message =
              "'" + file.file + "' has no kernel; one is written NAUTILUS_KERNEL(name) { ... }";
          diags.push_back(std::move(d));
        }
        return diags;
      });
  out.diagnostics = front.diagnostics;
  out.ok = front.ok;
  return out;
}

bool ends_with(const std::string& s, const std::string& suffix) {
  return s.size() >= suffix.size() &&
         s.compare(s.size() - suffix.size(), suffix.size(), suffix) == 0;
}

// A pipe is not waited for: the text is read again for what shows it.
Expected<std::string> slurp(const std::string& path) {
  if (std::string why = sched::why_no_file(path); !why.empty())
    return Refusal{"read " + path, path, std::move(why), "name a file"};
  auto text = sched::read_file(path, kMaxFileBytes);
  if (!text) return Refusal{"read " + path, path, text.error().why, text.error().suggest};
  return text;
}

}  // namespace

SpecResult read_spec_text(poly::ContextPtr ctx, const std::string& text, const std::string& name,
                          const std::string& include_dir) {
  return read(std::move(ctx), name.empty() ? "spec.cpp" : name, &text, include_dir);
}

SpecResult read_spec(poly::ContextPtr ctx, const std::string& path,
                     const std::string& include_dir) {
  auto text = slurp(path);
  if (!text) {
    SpecResult out;
    out.diagnostics = "error: " + text.error().text() + "\n";
    return out;
  }
  return read(std::move(ctx), path, &*text, include_dir);
}

namespace {

Refusal cannot_load(const std::string& path, const std::string& why, const std::string& suggest) {
  return {"load " + path, path, why, suggest};
}

// The programs without error of a file, by its extension, and what is wrong with the rest of it.
struct Loading {
  std::vector<poly::Program> programs;
  std::optional<Refusal> wrong;
};
Loading load(poly::ContextPtr ctx, const std::string& path) {
  if (ends_with(path, ".naut")) {
    auto text = slurp(path);
    if (!text) return {{}, text.error()};
    auto p = poly::parse_naut(ctx, *text, path);
    if (!p) return {{}, p.error()};
    return {{*std::move(p)}, std::nullopt};
  }
  if (!ends_with(path, ".cpp") && !ends_with(path, ".cc") && !ends_with(path, ".h"))
    return {{},
            cannot_load(path, "its name ends neither in .naut nor in .spec.cpp",
                        "rename it, so that its language is known")};
  SpecResult s = read_spec(ctx, path);
  Loading out{std::move(s.kernels), std::nullopt};
  if (!s.ok)
    out.wrong = cannot_load(path, "it has errors\n" + s.diagnostics,
                            "mend what is marked; nautilusc corpus show softmax shows a spec");
  return out;
}

std::string names_of(const std::vector<poly::Program>& programs) {
  std::string names;
  for (const poly::Program& p : programs) names += (names.empty() ? "" : ", ") + p.name;
  return names;
}

}  // namespace

Expected<std::vector<poly::Program>> load_programs(poly::ContextPtr ctx, const std::string& path) {
  Loading l = load(std::move(ctx), path);
  if (l.wrong) return *l.wrong;
  return std::move(l.programs);
}

Expected<poly::Program> load_program(poly::ContextPtr ctx, const std::string& path,
                                     const std::string& kernel) {
  Loading l = load(std::move(ctx), path);
  if (!kernel.empty())
    for (poly::Program& p : l.programs)
      if (p.name == kernel) return std::move(p);
  if (l.wrong) return *l.wrong;
  if (!kernel.empty())
    return cannot_load(path, "it has no kernel '" + kernel + "'", names_of(l.programs));
  if (l.programs.size() > 1)
    return cannot_load(
        path, "it holds " + std::to_string(l.programs.size()) + " kernels: " + names_of(l.programs),
        "name one of them");
  return std::move(l.programs.front());
}

}  // namespace nautilus::spec
