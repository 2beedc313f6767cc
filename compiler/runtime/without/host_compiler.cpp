// The reference in a build without Clang: its C++ compiled by this host's compiler (nvcc needs one
// too) into a shared object.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compiler/backend/cpu/jit.h"
#include "compiler/runtime/process.h"

namespace nautilus::cpu {
namespace {

namespace fs = std::filesystem;

// A directory that goes with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::error_code none;
    std::string name = (fs::temp_directory_path(none) / "nautilus-XXXXXX").string();
    if (mkdtemp(name.data())) path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code none;
    if (!path_.empty()) fs::remove_all(path_, none);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// $CXX, else the first of the usual names on the PATH.
std::string find_compiler() {
  std::vector<std::string> names{"c++", "g++", "clang++"};
  if (const char* cxx = std::getenv("CXX"); cxx && *cxx) names.insert(names.begin(), cxx);
  const char* path = std::getenv("PATH");
  for (const std::string& name : names) {
    if (name.find('/') != std::string::npos && access(name.c_str(), X_OK) == 0) return name;
    const std::string all = path ? path : "/usr/bin:/bin";
    for (size_t at = 0; at <= all.size();) {
      const size_t stop = std::min(all.find(':', at), all.size());
      const std::string full = all.substr(at, stop - at) + "/" + name;
      if (access(full.c_str(), X_OK) == 0 && fs::is_regular_file(full)) return full;
      at = stop + 1;
    }
  }
  return "";
}

class SharedObject final : public Library {
 public:
  explicit SharedObject(void* handle) : handle_(handle) {}
  ~SharedObject() override { dlclose(handle_); }
  void* symbol(const std::string& name) const override { return dlsym(handle_, name.c_str()); }

 private:
  void* handle_;
};

}  // namespace

Expected<std::shared_ptr<Library>> load(const std::string& source, const JitOptions& options) {
  const std::string compiler = find_compiler();
  Refusal refused{"compile the reference", "", "", ""};
  if (compiler.empty()) {
    refused.why = "this build has no Clang, and no C++ compiler (c++, g++, clang++) is on the PATH";
    refused.suggest = "install one, or set CXX";
    return refused;
  }
  const TemporaryDirectory place;
  const std::string text = place.path() + "/reference.cpp", object = place.path() + "/reference.so";
  std::ofstream(text, std::ios::binary) << source;
  auto end = runtime::run_child(
      compiler,
      {"-x", "c++", "-std=c++20", "-O" + std::to_string(options.level), "-march=native", "-w",
       "-fPIC", "-shared", "-fno-strict-aliasing", "-fno-rtti",
       options.contract ? "-ffp-contract=fast" : "-ffp-contract=off", text, "-o", object},
      {}, {300, 0});
  if (!end) return end.error();
  if (end->timed_out || end->signal != 0 || end->status != 0) {
    refused.why = compiler + " reports: " + end->log;
    return refused;
  }
  void* handle = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    refused.why = dlerror();
    return refused;
  }
  return std::shared_ptr<Library>(std::make_shared<SharedObject>(handle));
}

}  // namespace nautilus::cpu
