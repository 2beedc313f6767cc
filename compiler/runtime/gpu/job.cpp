#include "compiler/runtime/gpu/job.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "compiler/runtime/extents.h"

namespace nautilus::gpu {
namespace {

using nlohmann::json;

constexpr int64_t kMostBlocks = (int64_t{1} << 31) - 1;  // of one grid dimension

Role role_of(poly::TensorKind k) {
  return k == poly::TensorKind::Input    ? Role::Input
         : k == poly::TensorKind::Output ? Role::Output
                                         : Role::Scratch;
}

// Blocks of one launch: the product of its grid's extents.
Expected<int64_t> blocks_of(const cuda::Launch& l, const poly::Sizes& sizes) {
  std::vector<int64_t> extents;
  for (const IndexExpr& e : l.grid) extents.push_back(std::max<int64_t>(0, e.evaluate(sizes)));
  const int64_t n = runtime::element_count(extents);
  if (n > kMostBlocks)
    return Refusal{"launch " + l.kernel, "",
                   "its grid has more blocks than one dimension of a grid takes (2^31 - 1)",
                   "larger tiles or smaller sizes"};
  return n;
}

std::vector<int64_t> values(const std::vector<IndexExpr>& e, const poly::Sizes& sizes) {
  std::vector<int64_t> out;
  for (const IndexExpr& x : e) out.push_back(x.evaluate(sizes));
  return out;
}

// Of a row-major tensor with these extents, innermost first; see cuda::TensorMap.
Expected<std::vector<int64_t>> map_strides(const cuda::TensorMap& m,
                                           const std::vector<int64_t>& extents) {
  constexpr int64_t kLargest = int64_t{1} << 40;
  std::vector<int64_t> strides;
  if (std::any_of(extents.begin(), extents.end(), [](int64_t e) { return e <= 0; })) return strides;
  int64_t stride = type_bytes(m.elem);
  for (size_t d = 1; d < extents.size(); ++d) {
    if (__builtin_mul_overflow(stride, extents[d - 1], &stride)) stride = kLargest;
    if (stride % 16 || stride >= kLargest)
      return Refusal{"make the tensor map of " + m.tensor, "",
                     "a stride of " + std::to_string(stride) +
                         " bytes is no multiple of 16 below 2^40",
                     "other sizes"};
    strides.push_back(stride);
  }
  return strides;
}

int position(const cuda::Source& s, const std::string& tensor) {
  for (size_t k = 0; k < s.tensors.size(); ++k)
    if (s.tensors[k].name == tensor) return static_cast<int>(k);
  throw std::logic_error("the source names a tensor that it does not have: " + tensor);
}

}  // namespace

Expected<Job> make_job(const cuda::Source& s, const poly::Sizes& sizes) {
  Job job;
  job.name = s.name;
  job.target = s.target;
  for (const std::string& name : s.sizes) {
    const auto at = sizes.find(name);
    if (at == sizes.end())
      return Refusal{"run " + s.name, "", "size " + name + " has no value",
                     "give --size " + name + "=..."};
    job.sizes.push_back(at->second);
  }
  if (!s.sizes.empty() && !s.facts.evaluate(sizes))
    return Refusal{"run " + s.name + poly::with_sizes(sizes), "",
                   "the kernels take for granted that " + nautilus::to_string(s.facts),
                   "other sizes"};
  for (const tile::TensorDecl& t : s.tensors) {
    JobTensor j{t.name, t.type, 1, role_of(t.kind), job.bytes, false};
    j.zeroed = std::find(s.zeroed.begin(), s.zeroed.end(), t.name) != s.zeroed.end();
    std::vector<int64_t> extents;
    for (const IndexExpr& e : t.extents) extents.push_back(std::max<int64_t>(0, e.evaluate(sizes)));
    j.elements = runtime::element_count(extents);
    const auto bytes = static_cast<double>(j.elements) * type_bytes(t.type);
    if (bytes > 0x1p46)
      return Refusal{"run " + s.name, t.name, "the tensor is too large", "smaller sizes"};
    if (j.role != Role::Scratch) job.bytes += (static_cast<uint64_t>(bytes) + 4095) / 4096 * 4096;
    job.tensors.push_back(j);
  }
  for (const cuda::Launch& l : s.launches) {
    auto blocks = blocks_of(l, sizes);
    if (!blocks) return blocks.error();
    job.launches.push_back({l.kernel, *blocks, l.threads, l.shared_bytes, {}});
    for (const cuda::TensorMap& m : l.maps) {
      const std::vector<int64_t> extents = values(m.extents, sizes);
      auto strides = map_strides(m, extents);
      if (!strides) return strides.error();
      job.launches.back().maps.push_back(
          {position(s, m.tensor), m.elem, extents, *std::move(strides), m.box, m.swizzle});
    }
  }
  return job;
}

uint64_t device_bytes(const Job& j) {
  uint64_t n = 0;
  for (const JobTensor& t : j.tensors)
    n += static_cast<uint64_t>(t.elements) * static_cast<uint64_t>(type_bytes(t.type));
  return n;
}

json to_json(const Job& j) {
  json tensors = json::array(), launches = json::array();
  for (const JobTensor& t : j.tensors)
    tensors.push_back({{"name", t.name},
                       {"type", type_name(t.type)},
                       {"elements", t.elements},
                       {"role", static_cast<int>(t.role)},
                       {"offset", t.offset},
                       {"zeroed", t.zeroed}});
  for (const JobLaunch& l : j.launches) {
    json maps = json::array();
    for (const JobMap& m : l.maps)
      maps.push_back({{"tensor", m.tensor},
                      {"type", type_name(m.elem)},
                      {"extents", m.extents},
                      {"strides", m.strides},
                      {"box", m.box},
                      {"swizzle", m.swizzle}});
    launches.push_back({{"kernel", l.kernel},
                        {"grid", l.grid},
                        {"threads", l.threads},
                        {"shared_bytes", l.shared_bytes},
                        {"maps", maps}});
  }
  return {{"name", j.name},   {"target", j.target},   {"tensors", tensors},   {"sizes", j.sizes},
          {"bytes", j.bytes}, {"launches", launches}, {"repeats", j.repeats}, {"flush", j.flush},
          {"guard", j.guard}, {"seconds", j.seconds}};
}

Job job_from_json(const json& j) {
  Job job;
  job.name = j.at("name");
  job.target = j.at("target");
  job.sizes = j.at("sizes").get<std::vector<int64_t>>();
  job.bytes = j.at("bytes");
  job.repeats = j.at("repeats");
  job.flush = j.at("flush");
  job.guard = j.at("guard");
  job.seconds = j.at("seconds");
  const auto type_of = [](const json& t) {
    const auto type = type_from_name(t.at("type").get<std::string>());
    if (!type) throw std::runtime_error("a tensor of the job has no known type");
    return *type;
  };
  for (const json& t : j.at("tensors"))
    job.tensors.push_back({t.at("name"), type_of(t), t.at("elements"),
                           static_cast<Role>(t.at("role").get<int>()), t.at("offset"),
                           t.at("zeroed")});
  for (const json& l : j.at("launches")) {
    job.launches.push_back(
        {l.at("kernel"), l.at("grid"), l.at("threads").get<int>(), l.at("shared_bytes"), {}});
    for (const json& m : l.at("maps"))
      job.launches.back().maps.push_back({m.at("tensor"), type_of(m),
                                          m.at("extents").get<std::vector<int64_t>>(),
                                          m.at("strides").get<std::vector<int64_t>>(),
                                          m.at("box").get<std::vector<int>>(), m.at("swizzle")});
  }
  return job;
}

json to_json(const Outcome& o) {
  json kernels = json::array();
  for (const KernelFacts& k : o.kernels)
    kernels.push_back({{"kernel", k.kernel},
                       {"registers", k.registers},
                       {"blocks_per_unit", k.blocks_per_unit},
                       {"local_bytes", k.local_bytes},
                       {"static_shared_bytes", k.static_shared_bytes}});
  return {{"device", o.device},         {"kernels", kernels},   {"seconds", o.seconds},
          {"repeatable", o.repeatable}, {"failure", o.failure}, {"samples", o.samples}};
}

Outcome outcome_from_json(const json& j) {
  Outcome o;
  o.device = j.at("device");
  o.seconds = j.at("seconds");
  o.samples = j.at("samples");
  o.repeatable = j.at("repeatable");
  o.failure = j.at("failure");
  for (const json& k : j.at("kernels"))
    o.kernels.push_back({k.at("kernel"), k.at("registers"), k.at("blocks_per_unit"),
                         k.at("local_bytes"), k.at("static_shared_bytes")});
  return o;
}

}  // namespace nautilus::gpu
