// Reading config.json: aliases of the families, what is ignored, what is unknown, what is refused.
#include "compiler/spec/model.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "autosched/machine.h"

namespace nautilus::spec {

using nlohmann::json;

namespace {

constexpr int64_t kMaxFact = int64_t{1} << 32;
constexpr uintmax_t kMaxBytes = 16u << 20;

// Keys that say nothing about the kernels.
const std::set<std::string>& ignored() {
  static const std::set<std::string> keys = {"architectures",
                                             "attention_dropout",
                                             "attention_probs_dropout_prob",
                                             "auto_map",
                                             "bos_token_id",
                                             "classifier_dropout",
                                             "dropout",
                                             "dtype",
                                             "embd_pdrop",
                                             "attn_pdrop",
                                             "resid_pdrop",
                                             "encoder_stride",
                                             "eos_token_id",
                                             "hidden_dropout",
                                             "hidden_dropout_prob",
                                             "id2label",
                                             "initializer_range",
                                             "label2id",
                                             "layer_norm_eps",
                                             "layer_norm_epsilon",
                                             "layernorm_epsilon",
                                             "max_position_embeddings",
                                             "max_sequence_length",
                                             "n_ctx",
                                             "n_positions",
                                             "model_max_length",
                                             "original_rope",
                                             "pad_token_id",
                                             "pretraining_tp",
                                             "rms_norm_eps",
                                             "rope_theta",
                                             "rope_ratio",
                                             "seq_length",
                                             "summary_activation",
                                             "summary_first_dropout",
                                             "summary_proj_to_labels",
                                             "summary_type",
                                             "summary_use_proj",
                                             "task_specific_params",
                                             "tie_word_embeddings",
                                             "torch_dtype",
                                             "transformers_version",
                                             "unk_token_id",
                                             "use_cache",
                                             "max_window_layers",
                                             "_attn_implementation",
                                             "_name_or_path",
                                             "apply_query_key_layer_scaling",
                                             "apply_residual_connection_post_layernorm",
                                             "attention_softmax_in_fp32",
                                             "bias_dropout_fusion",
                                             "fp32_residual_connection",
                                             "post_layer_norm",
                                             "pooler_act",
                                             "pooler_output_size",
                                             "problem_type",
                                             "chunk_size_feed_forward",
                                             "output_attentions",
                                             "output_hidden_states",
                                             "return_dict",
                                             "torchscript",
                                             "query_pre_attn_scalar",
                                             "cache_implementation",
                                             "hidden_act_fn"};
  return keys;
}

// Features whose kernels the corpus does not have: present and not null, false, 0 or 1.
const std::vector<std::pair<std::string, std::string>>& unsupported() {
  static const std::vector<std::pair<std::string, std::string>> keys = {
      {"num_local_experts", "mixture of experts"},
      {"num_experts", "mixture of experts"},
      {"n_routed_experts", "mixture of experts"},
      {"moe_intermediate_size", "mixture of experts"},
      {"kv_lora_rank", "latent attention (MLA)"},
      {"q_lora_rank", "latent attention (MLA)"},
      {"is_encoder_decoder", "encoder and decoder"},
      {"ssm_cfg", "state-space layers"},
      {"state_size", "state-space layers"},
      {"relative_attention_num_buckets", "relative position bias"},
      {"vision_config", "a vision part"},
      {"text_config", "a model inside a model"},
      {"attention_chunk_size", "chunked attention"}};
  return keys;
}

bool is_set(const json& v) {
  if (v.is_null()) return false;
  if (v.is_boolean()) return v.get<bool>();
  if (v.is_number()) return v.get<double>() > 1;
  return !v.empty();
}

// Takes facts out of a configuration, remembering which keys were understood.
class Reader {
 public:
  Reader(const json& j, std::string name) : j_(j), name_(std::move(name)) {}
  std::optional<Refusal> refusal;
  std::set<std::string> known;

  // The first of these keys that is there and not null.
  const json* any(const std::vector<std::string>& keys) {
    const json* found = nullptr;
    for (const std::string& k : keys) {
      known.insert(k);
      auto it = j_.find(k);
      if (!found && it != j_.end() && !it->is_null()) {
        found = &*it;
        key_ = k;
      }
    }
    return found;
  }
  // A positive whole number; `fallback` < 0: must be there.
  int64_t count(const std::string& what, const std::vector<std::string>& keys,
                int64_t fallback = -1) {
    const json* v = any(keys);
    if (!v) {
      if (fallback < 0) refuse(keys.front(), what + " is missing", "add \"" + keys.front() + "\"");
      return std::max<int64_t>(fallback, 1);
    }
    const double d = v->is_number() ? v->get<double>() : -1;
    if (!v->is_number() || d < 1 || d > static_cast<double>(kMaxFact) || d != std::floor(d)) {
      refuse(key_, what + " must be a whole number of at least 1, not " + v->dump().substr(0, 60),
             "");
      return 1;
    }
    return static_cast<int64_t>(d);
  }
  bool flag(const std::vector<std::string>& keys, bool fallback) {
    const json* v = any(keys);
    if (!v) return fallback;
    if (v->is_boolean()) return v->get<bool>();
    if (v->is_number()) return v->get<double>() != 0;
    refuse(key_, "must be true or false, not " + v->dump().substr(0, 60), "");
    return fallback;
  }
  std::string text(const std::vector<std::string>& keys, const std::string& fallback) {
    const json* v = any(keys);
    if (!v) return fallback;
    if (v->is_string()) return v->get<std::string>();
    refuse(key_, "must be a string, not " + v->dump().substr(0, 60), "");
    return fallback;
  }
  void refuse(const std::string& key, const std::string& why, const std::string& suggest) {
    if (!refusal) refusal = Refusal{"read model " + name_, key, why, suggest};
  }

 private:
  const json& j_;
  std::string name_, key_;
};

}  // namespace

Expected<ModelConfig> read_model(const json& config, const std::string& name) {
  if (!config.is_object())
    return Refusal{"read model " + name, "", "a model's configuration is a JSON object",
                   "give its config.json"};
  Reader r(config, name);
  ModelConfig m;
  m.name = r.text({"_name"}, name);
  m.family = r.text({"model_type"}, "");
  for (const auto& [key, what] : unsupported()) {
    r.known.insert(key);
    auto it = config.find(key);
    if (it != config.end() && is_set(*it))
      return Refusal{"read model " + name, key,
                     "it has " + what + ", for which the corpus has no kernels",
                     "expand a model without it"};
  }
  m.hidden = r.count("the hidden size", {"hidden_size", "n_embd", "d_model", "dim"});
  m.layers =
      r.count("the number of layers", {"num_hidden_layers", "num_layers", "n_layer", "n_layers"});
  m.heads =
      r.count("the number of heads", {"num_attention_heads", "n_head", "num_heads", "n_heads"});
  const bool groups =
      r.flag({"multi_query_attention"}, true);  // GLM states its groups, and whether they count
  const int64_t kv = r.count(
      "the number of key/value heads",
      {"num_key_value_heads", "multi_query_group_num", "n_kv_heads", "num_kv_heads"}, m.heads);
  m.kv_heads = groups ? kv : m.heads;
  const bool divides = m.hidden % m.heads == 0;
  m.head_size = r.count("the head size", {"head_dim", "kv_channels", "d_kv"},
                        divides ? m.hidden / m.heads : -1);
  m.feed_forward =
      r.count("the feed-forward size",
              {"intermediate_size", "ffn_hidden_size", "n_inner", "d_ff", "ffn_dim"}, 4 * m.hidden);
  m.vocabulary = r.any({"vocab_size", "padded_vocab_size"})
                     ? r.count("the vocabulary", {"vocab_size", "padded_vocab_size"})
                     : 0;
  const bool vision = m.family == "vit" || m.family == "deit" || r.any({"patch_size"}) != nullptr;
  if (vision) {
    m.image = r.count("the image size", {"image_size"});
    m.patch = r.count("the patch size", {"patch_size"});
    m.channels = r.count("the number of channels", {"num_channels"}, 3);
    if (!r.refusal && m.image < m.patch)
      r.refuse("patch_size", "a patch is larger than the image", "");
  }
  const bool encoder = vision || m.family == "bert" || m.family == "roberta";
  m.causal = !encoder;
  const bool classic = encoder || m.family == "gpt2" || m.family == "opt" ||
                       m.family == "gpt_neox" || m.family == "bloom";
  m.rms_norm = r.flag({"rmsnorm"}, !classic);
  m.gated = !classic;
  const std::string act =
      r.text({"hidden_act", "activation_function", "hidden_activation"}, classic ? "gelu" : "silu");
  if (act.find("gelu") == std::string::npos && act != "silu" && act != "swish" && act != "relu")
    m.notes.push_back("activation \"" + act + "\" is counted as " + (m.gated ? "SwiGLU" : "GELU"));
  else if (m.gated && act != "silu" && act != "swish")
    m.notes.push_back("the gate's activation \"" + act + "\" is counted as SiLU");
  m.qkv_bias = r.flag({"attention_bias", "qkv_bias", "add_qkv_bias", "use_qkv_bias"},
                      m.family == "qwen2" || m.family == "gpt2" || encoder);
  r.flag({"mlp_bias", "add_bias_linear", "bias"}, false);
  m.norm_qk = r.flag({"qk_layernorm", "use_qk_norm"}, m.family == "qwen3");
  m.rotary = encoder || m.family == "gpt2" || m.family == "opt" || m.family == "bloom" ? 0
             : m.family == "chatglm" || m.family == "glm"                              ? 0.5
                                                                                       : 1;
  if (const json* v = r.any({"partial_rotary_factor", "rotary_pct"})) {
    if (v->is_number() && v->get<double>() >= 0 && v->get<double>() <= 1)
      m.rotary = v->get<double>();
    else
      r.refuse("partial_rotary_factor", "must be a number between 0 and 1", "");
  }
  const bool window_used = r.flag({"use_sliding_window"}, true);
  if (r.any({"sliding_window"}) && window_used)
    m.window = r.count("the sliding window", {"sliding_window"});
  m.softcap = r.any({"attn_logit_softcapping"}) != nullptr;
  if (r.any({"final_logit_softcapping"}))
    m.notes.push_back("the soft cap of the final logits is left out");
  if (r.any({"rope_scaling"}))
    m.notes.push_back("rope_scaling changes the angles only, not the kernels");
  if (r.any({"quantization_config"}))
    m.notes.push_back("quantization_config is left out: weights are counted as f16");
  if (r.any({"layer_types"}))
    m.notes.push_back("layer_types is left out: all layers are counted alike");
  if (r.refusal) return *r.refusal;
  if (m.heads % m.kv_heads != 0)
    return Refusal{"read model " + name, "num_key_value_heads",
                   std::to_string(m.heads) + " heads cannot share " + std::to_string(m.kv_heads) +
                       " key/value heads evenly",
                   ""};
  std::string unknown;
  for (const auto& [key, value] : config.items())
    if (!key.starts_with("_") && !r.known.count(key) && !ignored().count(key))
      unknown += (unknown.empty() ? "" : ", ") + key;
  if (!unknown.empty()) m.notes.push_back("unknown keys, without effect here: " + unknown);
  return m;
}

Expected<ModelConfig> load_model(const std::string& name_or_path) {
  namespace fs = std::filesystem;
  std::error_code ec;
  Refusal r{"read model " + name_or_path, name_or_path, "", ""};
  fs::path path = name_or_path;
  if (!fs::is_regular_file(path, ec)) {
    const fs::path dir = fs::path(sched::corpus_dir()) / "models";
    if (fs::is_directory(path, ec) && fs::is_regular_file(path / "config.json", ec))
      path /= "config.json";
    else if (path.filename() == path && fs::is_regular_file(dir / (name_or_path + ".json"), ec))
      path = dir / (name_or_path + ".json");
    else {
      r.why = "there is neither a model of that name in the corpus nor such a file";
      std::set<std::string> names;
      for (const auto& e : fs::directory_iterator(dir, ec))
        if (e.path().extension() == ".json") names.insert(e.path().stem().string());
      for (const std::string& n : names) r.suggest += (r.suggest.empty() ? "" : ", ") + n;
      return r;
    }
  }
  if (fs::file_size(path, ec) > kMaxBytes) {
    r.why = "it is larger than " + std::to_string(kMaxBytes >> 20) + " MiB";
    return r;
  }
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  const json config = json::parse(text.str(), nullptr, /*allow_exceptions=*/false);
  if (config.is_discarded()) {
    r.why = "it is not JSON";
    return r;
  }
  return read_model(config, path.stem() == "config" ? path.parent_path().filename().string()
                                                    : path.stem().string());
}

}  // namespace nautilus::spec
