#include "compiler/spec/model.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "compiler/spec/reader.h"

namespace {

using namespace nautilus;
using nlohmann::json;
using spec::ModelKernel;

const ModelKernel* kernel(const spec::ModelKernels& k, const std::string& phase,
                          const std::string& role) {
  for (const ModelKernel& x : k.kernels)
    if (x.phase == phase && x.role == role) return &x;
  return nullptr;
}
bool mentions(const std::vector<std::string>& notes, const std::string& part) {
  for (const std::string& n : notes)
    if (n.find(part) != std::string::npos) return true;
  return false;
}
json llama() {
  return {{"model_type", "llama"},     {"hidden_size", 4096},      {"num_hidden_layers", 32},
          {"num_attention_heads", 32}, {"num_key_value_heads", 8}, {"intermediate_size", 14336},
          {"vocab_size", 128256},      {"hidden_act", "silu"}};
}

TEST(ModelCorpus, FactsOfTheShippedModels) {
  struct Facts {
    const char* name;
    int64_t layers, hidden, heads, kv, d, ffn;
  };
  for (const Facts& f :
       {Facts{"llama-2-7b", 32, 4096, 32, 32, 128, 11008},
        Facts{"qwen2-7b", 28, 3584, 28, 4, 128, 18944},
        Facts{"qwen3-8b", 36, 4096, 32, 8, 128, 12288},
        Facts{"gemma-2b", 18, 2048, 8, 1, 256, 16384},
        Facts{"glm-4-9b", 40, 4096, 32, 2, 128, 13696},
        Facts{"vit-b-16", 12, 768, 12, 12, 64, 3072}, Facts{"vit-l-16", 24, 1024, 16, 16, 64, 4096},
        Facts{"vit-h-14", 32, 1280, 16, 16, 80, 5120}}) {
    auto m = spec::load_model(f.name);
    ASSERT_TRUE(m) << m.error().text();
    EXPECT_EQ(m->count("layers"), f.layers) << f.name;
    EXPECT_EQ(m->count("hidden"), f.hidden) << f.name;
    EXPECT_EQ(m->count("heads"), f.heads) << f.name;
    EXPECT_EQ(m->count("kv_heads"), f.kv) << f.name;
    EXPECT_EQ(m->count("head_size"), f.d) << f.name;
    EXPECT_EQ(m->count("feed_forward"), f.ffn) << f.name;
    EXPECT_FALSE(mentions(m->notes, "unknown keys")) << f.name << ": " << m->notes.front();
  }
}

// Every size of every kernel that a model expands to binds in the corpus' program of that name.
TEST(ModelCorpus, ExpansionsBindInTheCorpus) {
  const auto ctx = poly::make_context();
  std::map<std::string, poly::Program> programs;
  auto program = [&](const std::string& name) -> const poly::Program& {
    auto it = programs.find(name);
    if (it == programs.end()) {
      const std::string file = name.rfind("matmul_", 0) == 0 ? "matmul_epilogue" : name;
      auto p = spec::load_program(
          ctx, std::string(NAUTILUS_SOURCE_DIR) + "/corpus/kernels/" + file + ".spec.cpp", name);
      EXPECT_TRUE(p) << p.error().text();
      it = programs.emplace(name, *p).first;
    }
    return it->second;
  };
  for (const char* name : {"llama-2-7b", "qwen2-7b", "qwen3-8b", "gemma-2b", "glm-4-9b", "vit-b-16",
                           "vit-l-16", "vit-h-14"})
    for (int64_t tp : {1, 4}) {
      auto k = spec::expand_model(name, {"", 2, 1024, tp});
      ASSERT_TRUE(k) << k.error().text();
      EXPECT_FALSE(k->kernels.empty());
      for (const ModelKernel& x : k->kernels) {
        const poly::Program& p = program(x.kernel);
        EXPECT_EQ(x.sizes.size(), p.params.size()) << name << " " << x.kernel;
        auto bound = poly::bind_sizes(p, x.sizes);
        EXPECT_TRUE(bound) << name << " " << x.role << ": " << bound.error().text();
        EXPECT_GE(x.count, 1);
      }
    }
}

TEST(ModelExpansion, GroupedHeadsPrefillAndDecode) {
  auto m = spec::read_model(llama(), "test");
  ASSERT_TRUE(m) << m.error().text();
  auto k = spec::expand_model(*m, {"", 3, 500, 2});
  ASSERT_TRUE(k) << k.error().text();
  const ModelKernel* a = kernel(*k, "prefill", "attention");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->kernel, "attention_causal_gqa");
  EXPECT_EQ(a->sizes,
            (poly::Sizes{{"B", 3}, {"Hk", 4}, {"G", 4}, {"N", 500}, {"M", 500}, {"D", 128}}));
  EXPECT_EQ(a->count, 32);
  a = kernel(*k, "decode", "attention");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->kernel, "attention_decode");
  EXPECT_EQ(a->sizes, (poly::Sizes{{"B", 3}, {"Hk", 4}, {"G", 4}, {"M", 500}, {"D", 128}}));
  const ModelKernel* q = kernel(*k, "prefill", "q, k, v projection");
  ASSERT_NE(q, nullptr);
  EXPECT_EQ(q->kernel, "matmul");
  EXPECT_EQ(q->sizes, (poly::Sizes{{"N", 1500}, {"M", (16 + 2 * 4) * 128}, {"K", 4096}}));
  const ModelKernel* f = kernel(*k, "decode", "feed-forward");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->sizes, (poly::Sizes{{"N", 3}, {"D", 4096}, {"F", 7168}}));
}

TEST(ModelExpansion, OneKeyValueHead) {
  auto k = spec::expand_model("gemma-2b", {"", 1, 1024, 2});
  ASSERT_TRUE(k) << k.error().text();
  const ModelKernel* a = kernel(*k, "prefill", "attention");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->kernel, "attention_causal_mqa");
  EXPECT_EQ(a->sizes, (poly::Sizes{{"B", 1}, {"H", 4}, {"N", 1024}, {"M", 1024}, {"D", 256}}));
  const ModelKernel* r = kernel(*k, "prefill", "residual sum and normalization");
  ASSERT_NE(r, nullptr);
  EXPECT_EQ(r->kernel, "rmsnorm_residual");
  EXPECT_EQ(r->count, 36);
  EXPECT_EQ(kernel(*k, "prefill", "first normalization")->count, 1);
}

TEST(ModelExpansion, PhaseSelects) {
  auto k = spec::expand_model("qwen3-8b", {"decode", 1, 4096, 1});
  ASSERT_TRUE(k);
  for (const ModelKernel& x : k->kernels) EXPECT_EQ(x.phase, "decode");
  EXPECT_NE(kernel(*k, "decode", "q normalization"), nullptr);
  EXPECT_FALSE(spec::expand_model("vit-l-16", {"decode", 1, 1, 1}));
  EXPECT_FALSE(spec::expand_model("qwen3-8b", {"training", 1, 1, 1}));
  EXPECT_FALSE(spec::expand_model("qwen3-8b", {"", 0, 1, 1}));
  EXPECT_FALSE(spec::expand_model("qwen3-8b", {"", 1, -1, 1}));
}

TEST(ModelExpansion, VisionTokensAreNoMultipleOfATile) {
  auto k = spec::expand_model("vit-h-14", {"", 8, 4096, 1});
  ASSERT_TRUE(k);
  const ModelKernel* a = kernel(*k, "prefill", "attention");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->kernel, "attention_global");
  EXPECT_EQ(a->sizes, (poly::Sizes{{"B", 8}, {"H", 16}, {"N", 257}, {"M", 257}, {"D", 80}}));
  EXPECT_TRUE(mentions(k->notes, "257 tokens"));
}

TEST(ModelExpansion, TensorParallelDegrees) {
  auto k =
      spec::expand_model("glm-4-9b", {"prefill", 1, 128, 4});  // 2 key/value heads on 4 devices
  ASSERT_TRUE(k) << k.error().text();
  const ModelKernel* a = kernel(*k, "prefill", "attention");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->sizes.at("Hk"), 1);
  EXPECT_EQ(a->sizes.at("G"), 8);
  EXPECT_TRUE(mentions(k->notes, "kept on 2 devices"));
  auto bad = spec::expand_model("qwen2-7b", {"prefill", 1, 128, 3});
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().text().find("28 heads"), std::string::npos);
}

TEST(ModelExpansion, SlidingWindow) {
  json j = llama();
  j["sliding_window"] = 4096;
  auto m = spec::read_model(j, "w");
  ASSERT_TRUE(m);
  auto k = spec::expand_model(*m, {"", 1, 8192, 1});
  ASSERT_TRUE(k);
  EXPECT_EQ(kernel(*k, "prefill", "attention")->kernel, "attention_window");
  EXPECT_EQ(kernel(*k, "prefill", "attention")->sizes.at("W"), 4096);
  EXPECT_EQ(kernel(*k, "decode", "attention")->sizes.at("M"), 4096);
  j["use_sliding_window"] = false;
  m = spec::read_model(j, "w");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->count("window"), 0);
}

// Every expression, text and kernel of the map is sound: an entry that names a fact or a kernel
// that there is not is found here, not when a model first needs it.
TEST(ModelCorpus, TheMapIsSound) {
  const auto map = spec::load_layers();
  ASSERT_TRUE(map) << map.error().text();
  const auto ctx = poly::make_context();
  std::function<void(const json&, const spec::Facts&)> check = [&](const json& layer,
                                                                   const spec::Facts& f) {
    if (layer.contains("first_of")) {
      for (const json& form : layer["first_of"]) check(form, f);
      return;
    }
    const std::string kernel = layer.at("kernel");
    const std::string file = kernel.starts_with("matmul_") ? "matmul_epilogue" : kernel;
    auto p = spec::load_program(
        ctx, std::string(NAUTILUS_SOURCE_DIR) + "/corpus/kernels/" + file + ".spec.cpp", kernel);
    ASSERT_TRUE(p) << kernel << ": " << p.error().text();
    std::set<std::string> given;
    for (const auto& [size, expression] : layer.at("sizes").items()) {
      given.insert(size);
      EXPECT_TRUE(spec::fact_value(expression, f)) << kernel << " " << size;
    }
    EXPECT_EQ(given, std::set<std::string>(p->params.begin(), p->params.end())) << kernel;
    for (const char* key : {"when", "count"})
      if (layer.contains(key)) {
        EXPECT_TRUE(spec::fact_value(layer[key], f)) << kernel << " " << key;
      }
  };
  for (const char* name : {"qwen3-8b", "vit-b-16"}) {
    auto m = spec::load_model(name);
    ASSERT_TRUE(m) << m.error().text();
    spec::Facts f = m->facts;
    f.numbers["batch"] = f.numbers["tensor_parallel"] = 1;
    f.numbers["sequence"] = 512;
    EXPECT_FALSE(spec::add_values((*map)["expansion"]["values"], f));
    EXPECT_TRUE(spec::notes_of((*map)["expansion"]["notes"], f));
    for (const json& phase : (*map)["expansion"]["phases"]) {
      spec::Facts at = f;
      EXPECT_FALSE(spec::add_values(phase["values"], at));
      for (const json& layer : (*map)["layers"]) check(layer, at);
    }
  }
}

// A new family, a new key and a new operator are lines of the map.
TEST(ModelCorpus, ADamagedMapIsRefusedNotObeyed) {
  spec::Facts f;
  f.numbers["heads"] = 32;
  EXPECT_FALSE(spec::fact_value("heads / ", f));
  EXPECT_FALSE(spec::fact_value("head", f));
  EXPECT_EQ(*spec::fact_value("select(heads > 16 && heads != 31, floor(heads / 5), 0)", f), 6);
  EXPECT_EQ(spec::filled("{heads} heads, {other}", f), "32 heads, {other}");
}

TEST(ModelReading, UnknownKeysAreListedUnsupportedFeaturesNamed) {
  json j = llama();
  j["flux_capacitance"] = 1.21;
  j["rope_scaling"] = {{"type", "yarn"}};
  auto m = spec::read_model(j, "m");
  ASSERT_TRUE(m);
  EXPECT_TRUE(mentions(m->notes, "flux_capacitance"));
  EXPECT_TRUE(mentions(m->notes, "rope_scaling"));
  j["num_local_experts"] = 8;
  m = spec::read_model(j, "m");
  ASSERT_FALSE(m);
  EXPECT_NE(m.error().text().find("mixture of experts"), std::string::npos);
  EXPECT_EQ(m.error().where, "num_local_experts");
}

TEST(ModelReading, SenselessFactsAreRefusedByKey) {
  struct Bad {
    const char* key;
    json value;
  };
  for (const Bad& b : {Bad{"hidden_size", -1}, Bad{"hidden_size", "large"}, Bad{"hidden_size", 1.5},
                       Bad{"hidden_size", 1e300}, Bad{"num_hidden_layers", 0},
                       Bad{"num_attention_heads", json::array()}, Bad{"num_key_value_heads", 5},
                       Bad{"intermediate_size", json::object()}, Bad{"vocab_size", "many"},
                       Bad{"attention_bias", "perhaps"}, Bad{"model_type", 7}, Bad{"hidden_act", 7},
                       Bad{"partial_rotary_factor", 2}, Bad{"sliding_window", -4}}) {
    json j = llama();
    j[b.key] = b.value;
    auto m = spec::read_model(j, "m");
    ASSERT_FALSE(m) << b.key << " = " << b.value;
    EXPECT_EQ(m.error().where, b.key) << m.error().text();
  }
  json j = llama();
  j.erase("hidden_size");
  auto m = spec::read_model(j, "m");
  ASSERT_FALSE(m);
  EXPECT_NE(m.error().text().find("missing"), std::string::npos);
  EXPECT_FALSE(spec::read_model(json::array(), "m"));
  EXPECT_FALSE(spec::read_model(json(), "m"));
}

TEST(ModelReading, Files) {
  auto m = spec::load_model("no-such-model");
  ASSERT_FALSE(m);
  EXPECT_NE(m.error().suggest.find("qwen3-8b"), std::string::npos) << m.error().text();
  EXPECT_FALSE(spec::load_model("../models/qwen3-8b"));
  const std::string path = testing::TempDir() + "/dropped_config.json";
  std::ofstream(path) << "{ not json";
  EXPECT_FALSE(spec::load_model(path));
  std::ofstream(path) << llama().dump();
  m = spec::load_model(path);
  ASSERT_TRUE(m) << m.error().text();
  EXPECT_EQ(m->count("kv_heads"), 8);
  std::remove(path.c_str());
}

TEST(ModelSizes, ForAProgram) {
  const auto ctx = poly::make_context();
  const std::string dir = std::string(NAUTILUS_SOURCE_DIR) + "/corpus/kernels/";
  std::vector<std::string> notes;
  auto p = spec::load_program(ctx, dir + "attention_causal_gqa.spec.cpp");
  ASSERT_TRUE(p);
  auto s = spec::sizes_for("qwen3-8b", *p, {"prefill", 1, 1024, 1}, notes);
  ASSERT_TRUE(s) << s.error().text();
  EXPECT_EQ(*s, (poly::Sizes{{"B", 1}, {"Hk", 8}, {"G", 4}, {"N", 1024}, {"M", 1024}, {"D", 128}}));
  p = spec::load_program(
      ctx, dir + "attention_alibi.spec.cpp");  // no kernel of this model: by size names
  ASSERT_TRUE(p);
  notes.clear();
  s = spec::sizes_for("qwen3-8b", *p, {"decode", 2, 1024, 1}, notes);
  ASSERT_TRUE(s) << s.error().text();
  EXPECT_EQ(*s, (poly::Sizes{{"B", 2}, {"H", 32}, {"N", 1}, {"M", 1024}, {"D", 128}}));
  EXPECT_TRUE(mentions(notes, "sizes by name"));
  p = spec::load_program(ctx, dir + "conv2d.spec.cpp");
  ASSERT_TRUE(p);
  s = spec::sizes_for("qwen3-8b", *p, {"", 1, 16, 1}, notes);
  ASSERT_FALSE(s);
  EXPECT_NE(s.error().suggest.find("attention_causal_gqa"), std::string::npos);
}

}  // namespace
