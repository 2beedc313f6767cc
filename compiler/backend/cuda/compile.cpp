// Source to cubin by nvcc in a folder of its own, and what ptxas says of each kernel.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <regex>
#include <sstream>

#include "compiler/backend/cuda/assembly.h"
#include "compiler/runtime/process.h"

namespace nautilus::cuda {
namespace fs = std::filesystem;
namespace {

// A folder that goes away with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "nautilus-cuda-XXXXXX").string();
    if (char* made = ::mkdtemp(name.data())) path_ = made;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

using StopFlag = const std::atomic<bool>*;
using Words = std::vector<std::string>;

// Runs a tool of the toolkit to its end, however long it takes; what it prints, standard error
// included, is `log`. Refused where it cannot be started, fails or is given up.
Expected<runtime::ChildEnd> run(const std::string& asked, const std::string& tool,
                                const Words& arguments, StopFlag stop) {
  auto end = runtime::run_child(
      tool, arguments, {}, {std::numeric_limits<double>::infinity(), 0, stop, runtime::kWholeLog});
  if (!end) return Refusal{asked, tool, end.error().why, end.error().suggest};
  if (end->stopped) return Refusal{asked, "", "it was given up", ""};
  return end;
}

std::string failure(const runtime::ChildEnd& end) {
  constexpr size_t kShown = 2000;
  return (end.signal ? "killed by " + runtime::signal_text(end.signal) + ": " : "") +
         end.log.substr(0, kShown);
}

std::string read_file(const fs::path& p) {
  std::ifstream in(p, std::ios::binary);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

// "ptxas info    : Compiling entry function 'name' for 'sm_80'" and the lines about it.
void read_resources(const std::string& log, std::vector<Resources>& kernels) {
  static const std::regex entry("entry function '([^']+)'"),
      properties("Function properties for (\\S+)"),
      frame("(\\d+) bytes stack frame, (\\d+) bytes spill stores, (\\d+) bytes spill loads"),
      used("Used (\\d+) registers"), shared("(\\d+) bytes smem");
  Resources* at = nullptr;
  std::istringstream in(log);
  std::smatch m;
  for (std::string line; std::getline(in, line);) {
    if (std::regex_search(line, m, entry) || std::regex_search(line, m, properties)) {
      for (Resources& r : kernels)
        if (r.kernel == m[1].str()) at = &r;
    } else if (at && std::regex_search(line, m, frame)) {
      at->local_bytes = std::stoll(m[1]);
      at->spill_bytes = std::stoll(m[2]) + std::stoll(m[3]);
    } else if (at && std::regex_search(line, m, used)) {
      at->registers = std::stoi(m[1]);
      if (std::regex_search(line, m, shared)) at->shared_bytes += std::stoll(m[1]);
    }
  }
}

struct Limits {
  int capability, warps, blocks;
  int64_t shared_kilobytes;  // of a multiprocessor, 1 KB a block reserved
};
// CUDA programming guide, "Technical specifications per compute capability".
constexpr Limits kLimits[] = {{80, 64, 32, 164},  {86, 48, 16, 100}, {87, 48, 16, 164},
                              {89, 48, 24, 100},  {90, 64, 32, 228}, {100, 64, 32, 228},
                              {103, 64, 32, 228}, {120, 48, 24, 100}};

}  // namespace

// Warps take registers in units of 256; shared memory comes in units of 128 bytes, and a block
// takes 1 KB beyond its own.
double occupancy(const memory::Target& t, int threads, int registers, int64_t shared_bytes) {
  const Limits* l = nullptr;
  for (const Limits& x : kLimits)
    if (x.capability == t.capability) l = &x;
  if (!l || threads < 1) return 0;
  const int warps = (threads + 31) / 32;
  const int per_warp = std::max(1, (registers * 32 + 255) / 256 * 256);
  const int64_t shared = (shared_bytes + 127) / 128 * 128 + 1024;
  const int by_registers = 65536 / per_warp / 4 * 4 / warps;
  const int by_shared = int(l->shared_kilobytes * 1024 / shared);
  const int blocks = std::min({l->blocks, l->warps / warps, by_registers, by_shared});
  return double(blocks * warps) / l->warps;
}

std::optional<std::string> find_compiler() {
  std::vector<fs::path> places;
  if (const char* p = std::getenv("NAUTILUS_NVCC")) places.emplace_back(p);
  if (const char* p = std::getenv("PATH")) {
    std::istringstream in(p);
    for (std::string dir; std::getline(in, dir, ':');)
      if (!dir.empty()) places.push_back(fs::path(dir) / "nvcc");
  }
  if (const char* p = std::getenv("CUDA_HOME")) places.push_back(fs::path(p) / "bin" / "nvcc");
  places.emplace_back("/usr/local/cuda/bin/nvcc");
  places.emplace_back("build/cuda/bin/nvcc");
  for (const fs::path& p : places)
    if (::access(p.c_str(), X_OK) == 0 && fs::is_regular_file(p)) return p.string();
  return std::nullopt;
}

namespace {

// What nvcc made of a source, and its words.
struct Made {
  std::string file, log;
};
// `tool`: a program and its flags that print the file for people, else the file itself is the
// answer.
Expected<Made> make(const Source& s, const Words& flags, const std::string& extension,
                    const Words& tool = {}, StopFlag stop = nullptr) {
  const std::string asked = "compile " + s.name + " for " + s.target;
  const auto nvcc = find_compiler();
  if (!nvcc)
    return Refusal{asked, "",
                   "no nvcc on PATH, in $CUDA_HOME/bin, /usr/local/cuda/bin or build/cuda/bin",
                   "install the CUDA toolkit, or set CUDA_HOME or NAUTILUS_NVCC"};
  if (const auto target = memory::parse_target(s.target); !target) return target.error();
  const TemporaryFolder folder;
  if (folder.path().empty())
    return Refusal{asked, "", "no temporary folder can be made", "set TMPDIR"};
  const fs::path source = folder.path() / "kernel.cu",
                 made = folder.path() / ("kernel" + extension);
  std::ofstream(source) << s.text;
  // A comparison that its types decide (186) would be a condition lost.
  Words words = {"-std=c++17", "-O3", "-diag-error", "186"};
  words.insert(words.end(), flags.begin(), flags.end());
  words.insert(words.end(), {"-arch=" + s.target, "--keep-dir", folder.path().string(), "-o",
                             made.string(), source.string()});
  auto compiled = run(asked, *nvcc, words, stop);
  if (!compiled) return compiled.error();
  if (compiled->signal != 0 || compiled->status != 0) {
    std::string told = failure(*compiled);
    for (size_t at; (at = told.find(folder.path().string() + "/")) != std::string::npos;)
      told.erase(at, folder.path().string().size() + 1);
    return Refusal{asked, "", *nvcc + " refuses the source: " + told, ""};
  }
  if (tool.empty()) return Made{read_file(made), compiled->log};
  words.assign(tool.begin() + 1, tool.end());
  words.push_back(made.string());
  auto printed = run(asked, tool.front(), words, stop);
  if (!printed) return printed.error();
  if (printed->signal != 0 || printed->status != 0)
    return Refusal{asked, "", tool.front() + ": " + failure(*printed), ""};
  return Made{printed->log, compiled->log};
}

}  // namespace

std::optional<std::string> find_disassembler() {
  std::vector<fs::path> folders;
  if (const auto nvcc = find_compiler()) folders.push_back(fs::path(*nvcc).parent_path());
  if (const char* p = std::getenv("PATH")) {
    std::istringstream in(p);
    for (std::string dir; std::getline(in, dir, ':');)
      if (!dir.empty()) folders.emplace_back(dir);
  }
  for (const char* name : {"nvdisasm", "cuobjdump"})
    for (const fs::path& dir : folders)
      if (::access((dir / name).c_str(), X_OK) == 0) return (dir / name).string();
  return std::nullopt;
}

Expected<std::string> ptx_text(const Source& s, StopFlag stop) {
  auto made = make(s, {"-ptx", "-lineinfo"}, ".ptx", {}, stop);
  if (!made) return made.error();
  return std::move(made->file);
}

Expected<std::string> sass_text(const Source& s, StopFlag stop) {
  const auto tool = find_disassembler();
  if (!tool)
    return Refusal{"disassemble " + s.name, "",
                   "neither nvdisasm nor cuobjdump is beside nvcc or "
                   "on PATH",
                   "install the CUDA toolkit's binary utilities"};
  const bool lines = tool->ends_with("nvdisasm");
  auto made = make(s, {"-cubin", "-lineinfo"}, ".cubin", {*tool, lines ? "-g" : "-sass"}, stop);
  if (!made) return made.error();
  return std::move(made->file);
}

Expected<Compiled> compile(const Source& s) {
  const auto target = memory::parse_target(s.target);
  if (!target) return target.error();
  auto made = make(s, {"-cubin", "-Xptxas", "-v"}, ".cubin");
  if (!made) return made.error();
  const std::string& log = made->log;
  Compiled c;
  c.cubin = std::move(made->file);
  for (const Launch& l : s.launches) {
    Resources r;
    r.kernel = l.kernel;
    r.shared_bytes = l.shared_bytes;
    c.kernels.push_back(r);
  }
  read_resources(log, c.kernels);
  for (size_t n = 0; n < c.kernels.size(); ++n)
    c.kernels[n].occupancy = occupancy(*target, s.launches[n].threads, c.kernels[n].registers,
                                       c.kernels[n].shared_bytes);
  std::istringstream in(log);
  static const std::regex remark(
      "C75\\d\\d|ptxas (warning|Warning)|: warning #|Potential Performance Loss");
  for (std::string line; std::getline(in, line);)
    if (std::regex_search(line, remark)) c.warnings.push_back(line);
  return c;
}

}  // namespace nautilus::cuda
