// Models in the shape of the ecosystem's config.json: read, and expanded to the corpus kernels they
// run with sizes. Which key means what and which layer is which kernel is data: corpus/layers.json.
// (corpus-and-batch.md)
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compiler/spec/layers.h"
#include "polyhedral/program.h"

namespace nautilus::spec {

// What a configuration says, under one name a fact whatever the family calls it. Sizes in elements.
struct ModelConfig {
  std::string name, family;  // family: "llama", "vit", ...
  Facts facts;
  std::vector<std::string> notes;  // unknown keys, features that the expansion leaves out
  int64_t count(const std::string& fact) const;  // 0 if there is none of that name
};
// Refuses what is not an object, a missing or senseless fact (with the key), and features that
// change the kernels beyond what the corpus has (named). Keys that begin with _ are comments.
Expected<ModelConfig> read_model(const nlohmann::json& config, const std::string& name);
// A corpus name ("qwen3-8b") or a path to a config.json.
Expected<ModelConfig> load_model(const std::string& name_or_path);

struct ModelOptions {
  std::string phase;  // one of the map's ("prefill", "decode"), or "" for all
  int64_t batch = 1, sequence = 4096, tensor_parallel = 1;
};
struct ModelKernel {
  std::string kernel, phase;  // kernel: a name in corpus/kernels
  std::string role;           // "attention", "q, k, v projection", ...
  poly::Sizes sizes;          // of one device
  int64_t count = 1;          // launches a forward pass
};
struct ModelKernels {
  std::string name;
  std::vector<ModelKernel> kernels;
  std::vector<std::string> notes;
};
Expected<ModelKernels> expand_model(const ModelConfig& m, const ModelOptions& o);
Expected<ModelKernels> expand_model(const std::string& name_or_path, const ModelOptions& o);

// Sizes for one program: those of the kernel of that name in the expansion, else by the corpus'
// size names (the map's sizes_by_name), which is noted.
Expected<poly::Sizes> sizes_for(const std::string& name_or_path, const poly::Program& p,
                                const ModelOptions& o, std::vector<std::string>& notes);

}  // namespace nautilus::spec
