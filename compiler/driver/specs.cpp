#include "compiler/driver/specs.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "autosched/file.h"
#include "autosched/machine.h"

namespace nautilus::driver {

namespace fs = std::filesystem;

std::vector<CorpusKernel> corpus_kernels() {
  static const std::regex head(R"(^NAUTILUS_KERNEL\((\w+)\))");
  std::vector<fs::path> paths;
  std::error_code ec;
  for (const auto& e : fs::directory_iterator(fs::path(sched::corpus_dir()) / "kernels", ec))
    if (e.path().filename().string().ends_with(".spec.cpp")) paths.push_back(e.path());
  std::sort(paths.begin(), paths.end());
  std::vector<CorpusKernel> out;
  for (const fs::path& p : paths) {
    std::ifstream in(p);
    std::string about;
    std::smatch m;
    for (std::string line; std::getline(in, line);) {
      if (about.empty() && line.starts_with("// ")) about = line.substr(3);
      if (std::regex_search(line, m, head)) out.push_back({m[1], p.string(), about});
    }
  }
  return out;
}

std::optional<SpecSource> corpus_source(const std::string& name, const std::string& kernel) {
  if (name.find('/') != std::string::npos) return std::nullopt;
  if (kernel.empty() || kernel == name)
    for (const CorpusKernel& k : corpus_kernels())
      if (k.name == name) return SpecSource{k.path, name};
  const fs::path file = fs::path(sched::corpus_dir()) / "kernels" / (name + ".spec.cpp");
  std::error_code ec;
  if (fs::is_regular_file(file, ec)) return SpecSource{file.string(), kernel};
  return std::nullopt;
}

Expected<SpecSource> resolve_spec(const std::string& name, const std::string& kernel) {
  std::error_code ec;
  if (fs::is_regular_file(name, ec)) return SpecSource{name, kernel};
  if (const auto source = corpus_source(name, kernel)) return *source;
  if (fs::exists(name, ec))
    return Refusal{"read " + name, "", sched::why_no_file(name),
                   fs::is_directory(name, ec) ? "name a file in it" : "save the program as a file"};
  return Refusal{"read " + name, "", "no such file, and no corpus kernel of that name",
                 "nautilusc corpus list shows the names"};
}

}  // namespace nautilus::driver
