// A stand-in for the CUDA driver that tests load in its place: device memory is host memory, a
// "cubin" is a text with one line a kernel, and a launch does what its line says. Every call is a
// line of the log.
//
//   kernel NAME scale DST SRC COUNT FACTOR [MS]   float dst[i] = factor * src[i] for i < count
//   kernel NAME add DST COUNT VALUE          float dst[i] += value
//   kernel NAME write DST INDEX              float dst[index] = 1
//   kernel NAME map PARAMETER                nothing; logs the tensor map's numbers
//   kernel NAME map+add PARAMETER DST COUNT VALUE    both
//   kernel NAME fault ERROR                  the next synchronization fails with that error
//   kernel NAME crash | hang
//
// MS: milliseconds that it takes beyond a quarter. DST, SRC, PARAMETER are positions of parameters,
// COUNT that of a 64-bit size or "=n". Environment: FAKE_CUDA_LOG (file), FAKE_CUDA_FAIL
// ("cuMemAlloc=2": that call fails; "cuX#3=2": the third one), FAKE_CUDA_DEVICES, FAKE_CUDA_FREE
// (bytes), FAKE_CUDA_CAPABILITY (90).
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

struct Kernel {
  std::string name;
  std::vector<std::string> words;
  long long dynamic_shared = 48 << 10;
};
std::map<std::string, Kernel> kernels;
std::map<std::string, int> calls;
std::map<unsigned long long, size_t> memory;
int pending = 0;     // error of the next synchronization
float clock_ms = 0;  // advances with every launch

// Logs a call; the error that the environment asks of it, else 0.
int called(const std::string& name, const std::string& arguments = "") {
  if (const char* path = std::getenv("FAKE_CUDA_LOG"))
    if (std::FILE* f = std::fopen(path, "a")) {
      std::fprintf(f, "%s%s%s\n", name.c_str(), arguments.empty() ? "" : " ", arguments.c_str());
      std::fclose(f);
    }
  const int nth = ++calls[name];
  const char* wish = std::getenv("FAKE_CUDA_FAIL");
  if (!wish) return 0;
  const std::string w = wish;
  const std::string with_number = name + "#" + std::to_string(nth) + "=", plain = name + "=";
  if (w.rfind(with_number, 0) == 0) return std::atoi(w.c_str() + with_number.size());
  if (w.rfind(plain, 0) == 0) return std::atoi(w.c_str() + plain.size());
  return 0;
}
long long environment(const char* name, long long otherwise) {
  const char* v = std::getenv(name);
  return v ? std::atoll(v) : otherwise;
}
float* floats(void** p, const std::string& position) {
  return *static_cast<float**>(p[std::stoi(position)]);
}
int64_t count(void** p, const std::string& word) {
  return word[0] == '=' ? std::stoll(word.substr(1)) : *static_cast<int64_t*>(p[std::stoi(word)]);
}

int run(const Kernel& k, void** p) {
  const auto& w = k.words;
  if (w[0] == "scale") {
    if (w.size() > 5) clock_ms += std::stof(w[5]);  // beyond what every launch takes
    const int64_t n = count(p, w[3]);
    for (int64_t i = 0; i < n; ++i) floats(p, w[1])[i] = std::stof(w[4]) * floats(p, w[2])[i];
  } else if (w[0] == "add") {
    const int64_t n = count(p, w[2]);
    for (int64_t i = 0; i < n; ++i) floats(p, w[1])[i] += std::stof(w[3]);
  } else if (w[0] == "write") {
    floats(p, w[1])[std::stoll(w[2])] = 1;
  } else if (w[0] == "map" || w[0] == "map+add") {
    const auto* bits = static_cast<const int64_t*>(p[std::stoi(w[1])]);
    called("map-of-kernel", std::to_string(bits[0]) + " " + std::to_string(bits[1]));
    if (w[0] == "map+add")
      for (int64_t i = 0; i < count(p, w[3]); ++i) floats(p, w[2])[i] += std::stof(w[4]);
  } else if (w[0] == "fault") {
    pending = std::stoi(w[1]);
  } else if (w[0] == "crash") {
    raise(SIGSEGV);
  } else if (w[0] == "hang") {
    for (;;) pause();
  }
  return 0;
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return called("cuInit"); }
int cuDriverGetVersion(int* v) {
  *v = 13000;
  return called("cuDriverGetVersion");
}
int cuDeviceGetCount(int* n) {
  *n = static_cast<int>(environment("FAKE_CUDA_DEVICES", 1));
  return called("cuDeviceGetCount");
}
int cuDeviceGet(int* d, int ordinal) {
  *d = ordinal;
  return called("cuDeviceGet");
}
int cuDeviceGetName(char* name, int length, int) {
  std::snprintf(name, static_cast<size_t>(length), "Fake H200");
  return called("cuDeviceGetName");
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  const int capability = static_cast<int>(environment("FAKE_CUDA_CAPABILITY", 90));
  const std::map<int, int> known{
      {16, 132},      {38, 1 << 20}, {39, 2048}, {75, capability / 10}, {76, capability % 10},
      {97, 227 << 10}};
  const auto at = known.find(attribute);
  *value = at == known.end() ? 0 : at->second;
  return at == known.end() ? 1 : called("cuDeviceGetAttribute", std::to_string(attribute));
}
int cuDevicePrimaryCtxRetain(void** c, int) {
  *c = &kernels;
  return called("cuDevicePrimaryCtxRetain");
}
int cuDevicePrimaryCtxRelease_v2(int) {
  return called("cuDevicePrimaryCtxRelease", std::to_string(memory.size()) + " allocations left");
}
int cuCtxSetCurrent(void*) { return called("cuCtxSetCurrent"); }
int cuCtxSynchronize() {
  const int e = called("cuCtxSynchronize");
  return e ? e : std::exchange(pending, 0);
}
int cuModuleLoadData(void** m, const void* image) {
  std::istringstream lines(static_cast<const char*>(image));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string head;
    Kernel k;
    words >> head >> k.name;
    for (std::string w; words >> w;) k.words.push_back(w);
    if (head == "kernel") kernels[k.name] = k;
  }
  *m = &kernels;
  const int e = called("cuModuleLoadData");
  return e ? e : kernels.empty() ? 200 : 0;
}
int cuModuleUnload(void*) { return called("cuModuleUnload"); }
int cuModuleGetFunction(void** f, void*, const char* name) {
  const auto at = kernels.find(name);
  if (at == kernels.end()) return 500;
  *f = &at->second;
  return called("cuModuleGetFunction", name);
}
int cuFuncSetAttribute(void* f, int attribute, int value) {
  auto* k = static_cast<Kernel*>(f);
  if (attribute == 8) k->dynamic_shared = value;
  if (value > 227 << 10) return 1;
  return called("cuFuncSetAttribute",
                k->name + " " + std::to_string(attribute) + " " + std::to_string(value));
}
int cuFuncGetAttribute(int* value, int attribute, void*) {
  *value = attribute == 4 ? 64 : 0;
  return called("cuFuncGetAttribute");
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int threads, size_t) {
  *blocks = 65536 / (64 * threads);
  return called("cuOccupancyMaxActiveBlocksPerMultiprocessor");
}
int cuCtxGetCurrent(void** context) {
  static int current;
  *context = &current;
  return called("cuCtxGetCurrent");
}
int cuMemGetInfo_v2(size_t* free, size_t* total) {
  *free = static_cast<size_t>(environment("FAKE_CUDA_FREE", 1ll << 30));
  *total = 1ull << 30;
  return called("cuMemGetInfo");
}
int cuMemAlloc_v2(unsigned long long* p, size_t bytes) {
  const int e = called("cuMemAlloc", std::to_string(bytes));
  if (e) return e;
  // As the driver: addresses are multiples of 256.
  *p = reinterpret_cast<unsigned long long>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  memory[*p] = bytes;
  return 0;
}
int cuMemFree_v2(unsigned long long p) {
  if (memory.erase(p) == 0) return 1;
  std::free(reinterpret_cast<void*>(p));
  return called("cuMemFree");
}
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return called("cuMemcpyHtoD", std::to_string(bytes));
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return called("cuMemcpyDtoH", std::to_string(bytes));
}
int cuMemsetD8Async(unsigned long long p, unsigned char value, size_t bytes, void*) {
  std::memset(reinterpret_cast<void*>(p), value, bytes);
  return called("cuMemsetD8Async", std::to_string(value) + " " + std::to_string(bytes));
}
int cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void* stream, void** parameters, void**) {
  auto* k = static_cast<Kernel*>(f);
  std::ostringstream a;
  a << k->name << " grid " << gx << "x" << gy << "x" << gz << " block " << bx << "x" << by << "x"
    << bz << " shared " << shared << " stream " << (stream ? "other" : "default");
  const int e = called("cuLaunchKernel", a.str());
  if (e) return e;
  if (shared > k->dynamic_shared) return 1;
  clock_ms += 0.25f;
  return run(*k, parameters);
}
int cuEventCreate(void** e, unsigned) {
  *e = new float(0);
  return called("cuEventCreate");
}
int cuEventDestroy_v2(void* e) {
  delete static_cast<float*>(e);
  return called("cuEventDestroy");
}
int cuEventRecord(void* e, void*) {
  *static_cast<float*>(e) = clock_ms;
  return called("cuEventRecord");
}
int cuEventSynchronize(void*) {
  const int e = called("cuEventSynchronize");
  return e ? e : std::exchange(pending, 0);
}
int cuEventElapsedTime(float* ms, void* a, void* b) {
  *ms = *static_cast<float*>(b) - *static_cast<float*>(a);
  return called("cuEventElapsedTime");
}
int cuTensorMapEncodeTiled(void* map, int type, unsigned rank, void*, const uint64_t* extents,
                           const uint64_t* strides, const uint32_t* box, const uint32_t* steps,
                           int interleave, int swizzle, int promotion, int fill) {
  auto* bits = static_cast<int64_t*>(map);
  bits[0] = static_cast<int64_t>(extents[0]);
  bits[1] = box[0];
  std::ostringstream a;
  a << "type " << type << " rank " << rank;
  for (unsigned k = 0; k < rank; ++k)
    a << " " << extents[k] << "/" << box[k] << "/" << steps[k] << (k ? "/" : "")
      << (k ? std::to_string(strides[k - 1]) : "");
  a << " modes " << interleave << swizzle << promotion << fill;
  const bool aligned = reinterpret_cast<uintptr_t>(map) % 64 == 0;
  return called("cuTensorMapEncodeTiled", a.str() + (aligned ? "" : " misaligned"));
}
int cuGetErrorName(int e, const char** name) {
  *name = e == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : e == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : nullptr;
  return *name ? 0 : 1;
}
int cuGetErrorString(int e, const char** text) {
  *text = e == 700 ? "an illegal memory access was encountered" : nullptr;
  return *text ? 0 : 1;
}

}  // extern "C"
