#include "compiler/backend/cuda/preamble.h"

#include <stdexcept>
#include <vector>

#include "compiler/backend/cuda/preamble_texts.h"

namespace nautilus::cuda {

namespace {

const Helper* find(const std::string& name) {
  for (const auto* list : {&ordinary_helpers(), &hopper_helpers()})
    for (const Helper& h : *list)
      if (h.name == name) return &h;
  return nullptr;
}

}  // namespace

std::string Helpers::use(const std::string& name) {
  if (!used_.insert(name).second) return name;
  const Helper* h = find(name);
  if (!h) throw std::invalid_argument("no helper " + name);
  for (const std::string& n : h->needs) use(n);
  return name;
}

std::string Helpers::use_wgmma(const WgmmaKind& w) {
  std::string name = "wgmma_m64n" + std::to_string(w.columns) + "_" + w.type;
  if (w.c.distance != w.c.together)
    name += "_" + std::to_string(w.c.together) + "_every_" + std::to_string(w.c.distance);
  name += std::string(w.registers ? "_registers" : "") + (w.transposed_a ? "_a_transposed" : "") +
          (w.transposed_b ? "_b_transposed" : "") + (w.first ? "_first" : "");
  made_.emplace(name, wgmma_helper(name, w).text);
  return name;
}

std::string Helpers::text() const {
  std::set<std::string> headers{"stdint.h"};
  std::string s;
  for (const auto* list : {&ordinary_helpers(), &hopper_helpers()})
    for (const Helper& h : *list) {
      if (!used_.count(h.name)) continue;
      if (!h.header.empty()) headers.insert(h.header);
      s += h.text;
    }
  for (const auto& [name, text] : made_) s += text;
  std::string includes;
  for (const std::string& h : headers) includes += "#include <" + h + ">\n";
  return includes +
         "\n#pragma nv_diag_suppress 177  // helpers that a kernel does not need\n#define DEVICE "
         "static __device__ __forceinline__\n\n" +
         s;
}

}  // namespace nautilus::cuda
