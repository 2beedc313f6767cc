// A model's forward pass as corpus kernels with sizes. One device of `tensor_parallel`: heads and
// feed-forward columns are divided, activations are whole (Shoeybi et al., Megatron-LM, 2019,
// section 3).
#include <algorithm>

#include "compiler/spec/model.h"

namespace nautilus::spec {

namespace {

struct PerDevice {
  int64_t heads, kv_heads, group, feed_forward, vocabulary;
};

int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Heads of one device; fewer key/value heads than devices are repeated.
Expected<PerDevice> divide(const ModelConfig& m, int64_t tp, std::vector<std::string>& notes) {
  Refusal r{"expand " + m.name, "tensor-parallel degree " + std::to_string(tp), "", ""};
  if (m.heads % tp != 0) {
    r.why = std::to_string(m.heads) + " heads cannot be divided evenly";
    r.suggest = "a divisor of " + std::to_string(m.heads);
    return r;
  }
  PerDevice d{m.heads / tp, m.kv_heads / tp, 0, up(m.feed_forward, tp),
              m.vocabulary ? up(m.vocabulary, tp) : 0};
  if (m.kv_heads % tp != 0) {
    if (tp % m.kv_heads != 0) {
      r.why = std::to_string(m.kv_heads) +
              " key/value heads can neither be divided evenly nor repeated";
      r.suggest = "a divisor or multiple of " + std::to_string(m.kv_heads);
      return r;
    }
    d.kv_heads = 1;
    notes.push_back("each key/value head is kept on " + std::to_string(tp / m.kv_heads) +
                    " devices");
  }
  d.group = d.heads / d.kv_heads;
  if (m.feed_forward % tp != 0) notes.push_back("the feed-forward size is rounded up to divide");
  return d;
}

}  // namespace

Expected<ModelKernels> expand_model(const ModelConfig& m, const ModelOptions& o) {
  Refusal bad{"expand " + m.name, "", "", ""};
  for (const auto& [what, v] : {std::pair<const char*, int64_t>{"batch", o.batch},
                                {"sequence length", o.sequence},
                                {"tensor-parallel degree", o.tensor_parallel}})
    if (v < (std::string(what) == "sequence length" ? 0 : 1) || v > (int64_t{1} << 31)) {
      bad.where = what;
      bad.why = std::to_string(v) + " is not possible";
      return bad;
    }
  if (!o.phase.empty() && o.phase != "prefill" && o.phase != "decode") {
    bad.where = "phase " + o.phase;
    bad.why = "there is no such phase";
    bad.suggest = "prefill or decode";
    return bad;
  }
  ModelKernels out;
  out.name = m.name;
  out.notes = m.notes;
  auto d = divide(m, o.tensor_parallel, out.notes);
  if (!d) return d.error();
  const bool vision = m.image > 0;
  const int64_t patches = vision ? (m.image / m.patch) * (m.image / m.patch) : 0;
  const int64_t tokens = vision ? patches + 1 : o.sequence;
  if (vision)
    out.notes.push_back("the sequence length follows from the image: " + std::to_string(tokens) +
                        " tokens");
  if (!m.causal && o.phase == "decode") {
    bad.where = "phase decode";
    bad.why = "this model does not decode";
    bad.suggest = "prefill";
    return bad;
  }
  if (m.window && m.kv_heads != m.heads)
    out.notes.push_back(
        "the window's kernel has no grouped heads: keys are counted once a query head");
  if (m.softcap)
    out.notes.push_back(m.window ? "the soft cap of the scores is left out"
                                 : "scores are capped at 50, without grouped heads");
  if (m.qkv_bias && !m.causal && m.family != "vit")
    out.notes.push_back("segment and position embeddings are left out");

  std::vector<std::string> phases;
  if (o.phase != "decode") phases.push_back("prefill");
  if (m.causal && o.phase != "prefill") phases.push_back("decode");
  for (const std::string& phase : phases) {
    const bool decode = phase == "decode";
    const int64_t B = o.batch, N = decode ? 1 : tokens, rows = B * N, L = m.layers, D = m.head_size;
    auto add = [&](const std::string& role, const std::string& kernel, poly::Sizes sizes,
                   int64_t count) {
      out.kernels.push_back(ModelKernel{kernel, phase, role, std::move(sizes), count});
    };
    auto product = [&](const std::string& role, int64_t n, int64_t m_, int64_t k, bool bias,
                       int64_t count) {
      add(role, bias ? "matmul_bias" : "matmul", {{"N", n}, {"M", m_}, {"K", k}}, count);
    };
    if (vision)
      product("patch embedding", B * patches, m.hidden, m.channels * m.patch * m.patch, true, 1);
    add("normalization", m.rms_norm ? "rmsnorm" : "layernorm", {{"N", rows}, {"D", m.hidden}},
        2 * L + 1);
    product("q, k, v projection", rows, (d->heads + 2 * d->kv_heads) * D, m.hidden, m.qkv_bias, L);
    if (m.norm_qk) {
      add("q normalization", "rmsnorm", {{"N", rows * d->heads}, {"D", D}}, L);
      add("k normalization", "rmsnorm", {{"N", rows * d->kv_heads}, {"D", D}}, L);
    }
    if (const auto half = static_cast<int64_t>(static_cast<double>(D) * m.rotary) / 2; half > 0)
      add("rotary embedding", "rope",
          {{"B", B}, {"H", d->heads + d->kv_heads}, {"N", N}, {"D2", half}}, L);
    if (decode)
      add("attention", "attention_decode",
          {{"B", B},
           {"Hk", d->kv_heads},
           {"G", d->group},
           {"M", m.window ? std::min(m.window, tokens) : tokens},
           {"D", D}},
          L);
    else if (!m.causal)
      add("attention", "attention_global",
          {{"B", B}, {"H", d->heads}, {"N", N}, {"M", N}, {"D", D}}, L);
    else if (m.window && m.window < tokens)
      add("attention", "attention_window",
          {{"B", B}, {"H", d->heads}, {"N", N}, {"M", N}, {"D", D}, {"W", m.window}}, L);
    else if (m.softcap)
      add("attention", "attention_softcap",
          {{"B", B}, {"H", d->heads}, {"N", N}, {"M", N}, {"D", D}}, L);
    else if (m.kv_heads == m.heads)
      add("attention", "attention_causal",
          {{"B", B}, {"H", d->heads}, {"N", N}, {"M", N}, {"D", D}}, L);
    else
      add("attention", "attention_causal_gqa",
          {{"B", B}, {"Hk", d->kv_heads}, {"G", d->group}, {"N", N}, {"M", N}, {"D", D}}, L);
    product("output projection", rows, m.hidden, d->heads * D, !m.causal, L);
    if (m.gated) {
      add("feed-forward", "gated_mlp", {{"N", rows}, {"D", m.hidden}, {"F", d->feed_forward}}, L);
    } else {
      add("feed-forward, first product", "matmul_bias_gelu",
          {{"N", rows}, {"M", d->feed_forward}, {"K", m.hidden}}, L);
      product("feed-forward, second product", rows, m.hidden, d->feed_forward, true, L);
    }
    if (m.causal && d->vocabulary)
      product("logits of the last position", B, d->vocabulary, m.hidden, false, 1);
  }
  return out;
}

Expected<ModelKernels> expand_model(const std::string& name_or_path, const ModelOptions& o) {
  auto m = load_model(name_or_path);
  if (!m) return m.error();
  return expand_model(*m, o);
}

Expected<poly::Sizes> sizes_for(const std::string& name_or_path, const poly::Program& p,
                                const ModelOptions& o, std::vector<std::string>& notes) {
  auto m = load_model(name_or_path);
  if (!m) return m.error();
  auto all = expand_model(*m, o);
  if (!all) return all.error();
  notes.insert(notes.end(), all->notes.begin(), all->notes.end());
  auto declared = [&](const std::string& n) {
    return std::find(p.params.begin(), p.params.end(), n) != p.params.end();
  };
  for (const ModelKernel& k : all->kernels) {
    if (k.kernel != p.name || !std::all_of(k.sizes.begin(), k.sizes.end(),
                                           [&](const auto& s) { return declared(s.first); }))
      continue;
    notes.push_back("sizes of " + k.role + " in " + k.phase + " of " + m->name);
    return k.sizes;
  }
  // Not a kernel of the expansion: by the names that the attention kernels of the corpus use.
  std::vector<std::string> scratch;
  auto d = divide(*m, o.tensor_parallel, scratch);
  if (!d) return d.error();
  const int64_t tokens = m->image ? (m->image / m->patch) * (m->image / m->patch) + 1 : o.sequence;
  const poly::Sizes by_name = {{"B", o.batch},
                               {"H", d->heads},
                               {"Hk", d->kv_heads},
                               {"G", d->group},
                               {"N", o.phase == "decode" ? 1 : tokens},
                               {"M", tokens},
                               {"D", m->head_size}};
  poly::Sizes sizes;
  if (declared("H") || declared("Hk"))
    for (const auto& [n, v] : by_name)
      if (declared(n)) sizes[n] = v;
  if (sizes.empty()) {
    Refusal r{"take sizes of " + p.name + " from " + m->name, "",
              "the model has no kernel of that name", ""};
    std::vector<std::string> names;
    for (const ModelKernel& k : all->kernels)
      if (std::find(names.begin(), names.end(), k.kernel) == names.end()) names.push_back(k.kernel);
    for (const std::string& n : names) r.suggest += (r.suggest.empty() ? "" : ", ") + n;
    return r;
  }
  std::string list;
  for (const auto& [n, v] : sizes) list += (list.empty() ? "" : " ") + n + "=" + std::to_string(v);
  notes.push_back(m->name + " has no kernel " + p.name + "; sizes by name: " + list);
  return sizes;
}

}  // namespace nautilus::spec
