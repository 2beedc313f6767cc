// Random requests for transforms: parameters drawn from a transform's declaration, of the right
// kinds, with small numbers and names that exist, so that a fair part of them is well-formed.
#pragma once

#include <nlohmann/json.hpp>

#include "polyhedral/transforms/registry.h"
#include "random_program.h"

namespace nautilus::poly::random_requests {

using nlohmann::json;
using random_programs::below;
using random_programs::chance;
using random_programs::pick;
using random_programs::Random;

class Draw {
 public:
  Draw(Random& random, const Schedule& s) : r_(random), s_(s) {
    for (const Node* n : preorder(s))
      if (n->kind != NodeKind::Leaf) nodes_.push_back(n);
    for (const Statement& x : s.program->statements) {
      statements_.push_back(x.name);
      const std::vector<std::string> dims = dim_names(x.domain);
      if (x.reduction) reductions_.push_back(x.name);
      if (x.reduction)
        for (int d : x.reduction->dims) reduced_.push_back(dims[static_cast<size_t>(d)]);
    }
    for (const Tensor& t : s.program->tensors) tensors_.push_back(t.name);
  }

  json params(const TransformInfo& t) {
    json out = json::object();
    for (const ParamInfo& p : t.params)
      if (!p.optional || chance(r_, 40)) out[p.name] = value(p, out);
    return out;
  }

 private:
  Random& r_;
  const Schedule& s_;
  std::vector<const Node*> nodes_;
  std::vector<std::string> statements_, tensors_, reduced_, reductions_;
  const Node* node_ = nullptr;  // the last node drawn

  // Children of a sequence are named by their position.
  int64_t number(const ParamInfo& p, const json& so_far) {
    int64_t v = chance(r_, 80) ? below(r_, 5) : below(r_, 12) - 4;
    const int children =
        node_ && node_->kind == NodeKind::Sequence ? static_cast<int>(node_->children.size()) : 0;
    if (p.name == "first" && children > 1) v = below(r_, children - 1);
    if (p.name == "last" && so_far.contains("first"))
      v = so_far["first"].get<int64_t>() + 1 + (chance(r_, 30) ? 1 : 0);
    if (p.min != 0 || p.max != 0) v = std::clamp(v, p.min, p.max);
    return v;
  }

  // A statement that reads what the drawn producer writes, mostly.
  std::string consumer(const json& so_far) {
    std::vector<std::string> readers;
    if (so_far.contains("stmt"))
      if (const Statement* from = s_.program->statement(so_far["stmt"].get<std::string>()))
        for (const Statement& x : s_.program->statements)
          for (const Access& a : x.reads)
            if (a.tensor == from->write.tensor) readers.push_back(x.name);
    return readers.empty() || chance(r_, 10) ? pick(r_, statements_) : pick(r_, readers);
  }

  std::string name(const ParamInfo& p, const json& so_far) {
    if (p.name == "tensor") return pick(r_, tensors_);
    if (p.name == "into") return consumer(so_far);
    if (p.name == "axis" && !reduced_.empty() && chance(r_, 90)) return pick(r_, reduced_);
    if (p.name == "stmt" && !reductions_.empty() && chance(r_, 50)) return pick(r_, reductions_);
    if (p.name == "stmt" || !node_ || node_->members.empty() || chance(r_, 5))
      return pick(r_, statements_);
    return pick(r_, node_->members).name;
  }

  // Nodes of several statements are more interesting. `at` names a sequence.
  json node(const ParamInfo& p) {
    const NodeKind wanted = p.name == "at" ? NodeKind::Sequence : kind();
    std::vector<const Node*> able;
    for (const Node* n : nodes_)
      if (n->kind == wanted || chance(r_, 5)) able.push_back(n);
    const Node* n = pick(r_, able.empty() ? nodes_ : able);
    if (chance(r_, 40))
      for (const Node* other : able)
        if (other->statements.size() > n->statements.size()) n = other;
    if (p.name != "at") node_ = n;
    return n->id;
  }

  NodeKind kind() {
    return chance(r_, 50) ? NodeKind::Band : chance(r_, 50) ? NodeKind::Sequence : NodeKind::Filter;
  }

  json numbers(const ParamInfo& p, const json& so_far) {
    json list = json::array();
    const int n = node_ && !node_->members.empty() && chance(r_, 80)
                      ? static_cast<int>(node_->members.size())
                      : 1 + below(r_, 3);
    for (int k = 0; k < n; ++k) list.push_back(number(p, so_far));
    return list;
  }

  json names(const ParamInfo& p, const json& so_far) {
    std::vector<std::string> out;
    if (p.name == "statements") {
      out = node_ && chance(r_, 90) ? node_->statements : statements_;
      std::shuffle(out.begin(), out.end(), r_);
      out.resize(std::min<size_t>(out.size(), 1 + static_cast<size_t>(below(r_, 2))));
    } else if (node_ && !node_->members.empty() && chance(r_, 80)) {
      for (const BandMember& m : node_->members) out.push_back(m.name);
      std::shuffle(out.begin(), out.end(), r_);
      if (chance(r_, 30))
        out.resize(1 + static_cast<size_t>(below(r_, static_cast<int>(out.size()))));
    } else {
      out.push_back(name(p, so_far));
    }
    return out;
  }

  json value(const ParamInfo& p, const json& so_far) {
    switch (p.kind) {
      case ParamKind::Node:
        return node(p);
      case ParamKind::Integer:
        return number(p, so_far);
      case ParamKind::IntegerList:
        return numbers(p, so_far);
      case ParamKind::Name:
        return name(p, so_far);
      case ParamKind::NameList:
        return names(p, so_far);
      case ParamKind::Choice:
        return pick(r_, p.choices);
      case ParamKind::Text:
        return chance(r_, 30) ? "full" : condition();
    }
    return nullptr;
  }

  // { S[..] : half of the instances }
  std::string condition() {
    const Statement& x = *s_.program->statement(pick(r_, statements_));
    const std::vector<std::string> dims = dim_names(x.domain);
    std::string tuple;
    for (const std::string& d : dims) tuple += (tuple.empty() ? "" : ", ") + d;
    const std::string at = std::to_string(below(r_, 3));
    const std::string cut =
        dims.empty() ? ""
                     : " : " + (chance(r_, 60) ? pick(r_, dims) + " <= " + at
                                               : pick(r_, dims) + " < " + pick(r_, dims));
    return "{ " + x.name + "[" + tuple + "]" + cut + " }";
  }
};

}  // namespace nautilus::poly::random_requests
