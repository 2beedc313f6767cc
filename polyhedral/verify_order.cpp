#include "polyhedral/verify_order.h"

#include <algorithm>

namespace nautilus::poly::verifying {

namespace {

std::string tuple(const std::string& stem, unsigned n) {
  std::string out = "[";
  for (unsigned k = 0; k < n; ++k) out += (k ? ", " : "") + stem + std::to_string(k);
  return out + "]";
}

// { S[..] -> [t..] } followed by zeros up to `length`.
isl::map padded(const isl::map& time, unsigned length) {
  const unsigned n = n_out(time);
  if (n == length) return time;
  std::string to = tuple("t", n);
  to.pop_back();
  for (unsigned k = n; k < length; ++k) to += std::string(k ? ", " : "") + "0";
  return time.apply_range(isl::map(time.ctx(), "{ " + tuple("t", n) + " -> " + to + "] }"));
}

struct Walker {
  std::vector<Timed> out;

  // Each statement's time grows by one function for each member and each sequence.
  void walk(const Node& n, std::vector<Timed> reach) {
    if (n.kind == NodeKind::Filter) {
      for (Timed& r : reach)
        r.instances = r.instances.intersect(n.filter.extract_set(r.instances.space()));
      std::erase_if(reach, [](const Timed& r) { return r.instances.is_empty(); });
    }
    for (const BandMember& m : n.members)
      for (Timed& r : reach) r.dims.push_back({n.id, m.mapping, -1, m.schedule.at(r.stmt)});
    if (n.children.empty()) out.insert(out.end(), reach.begin(), reach.end());
    for (size_t k = 0; k < n.children.size() && !reach.empty(); ++k) {
      std::vector<Timed> next = reach;
      if (n.kind == NodeKind::Sequence)
        for (Timed& r : next)
          r.dims.push_back(
              {n.id, Mapping::Serial, static_cast<int>(k),
               r.instances.space().zero_aff_on_domain().add_constant(static_cast<long>(k))});
      walk(*n.children[k], std::move(next));
    }
  }
};

// Times of the original program, all of one length.
std::map<std::string, isl::map> original_times(const Program& p, unsigned& length) {
  std::map<std::string, isl::map> out;
  length = 0;
  if (p.original.is_null()) {
    for (size_t k = 0; k < p.statements.size(); ++k) {
      const isl::set& d = p.statements[k].domain;
      const isl::aff at = d.space().zero_aff_on_domain().add_constant(static_cast<long>(k));
      const isl::map dims = d.space()
                                .identity_multi_aff_on_domain()
                                .reset_range_tuple_id()
                                .as_pw_multi_aff()
                                .as_map();
      out.emplace(p.statements[k].name,
                  at.as_map().range_product(dims).flatten_range().intersect_domain(d));
    }
  } else {
    p.original.map().foreach_map([&](isl::map m) { out.emplace(tuple_name_in(m), m); });
  }
  for (const auto& [stmt, time] : out) length = std::max(length, n_out(time));
  for (auto& [stmt, time] : out) time = padded(time, length);
  return out;
}

// { S[..] -> T[..] } restricted to what can happen.
isl::map touches(const Program& p, const Statement& s, const Access& a) {
  return a.map.intersect_domain(s.domain).intersect_params(p.param_context);
}

}  // namespace

std::vector<Timed> flatten(const Schedule& s) {
  Walker w;
  std::vector<Timed> all;
  for (const Statement& st : s.program->statements)
    if (!st.domain.is_empty()) all.push_back({st.name, st.domain, {}});
  w.walk(*s.root, std::move(all));
  return std::move(w.out);
}

isl::map Timed::time(const std::vector<unsigned>& positions) const {
  const isl::space space =
      instances.space().add_unnamed_tuple(static_cast<unsigned>(positions.size()));
  if (positions.empty()) return space.zero_multi_aff().as_map().intersect_domain(instances);
  isl::aff_list list = dims[positions[0]].value.to_list();
  for (size_t k = 1; k < positions.size(); ++k) list = list.add(dims[positions[k]].value);
  return isl::multi_aff(space, list).as_map().intersect_domain(instances);
}

Common common(const Timed& a, const Timed& b) {
  Common out;
  for (unsigned k = 0; k < a.dims.size() && k < b.dims.size(); ++k) {
    const TimeDim &x = a.dims[k], &y = b.dims[k];
    if (x.node != y.node) break;  // cannot be: the way down parts only at sequences
    if (x.child < 0) {
      out.loops.push_back(k);
    } else if (x.child != y.child) {
      out.parted = x.child < y.child ? -1 : 1;
      break;
    }
  }
  return out;
}

std::string Lex::equal_before(unsigned k) const {
  std::string out;
  for (unsigned i = 0; i < k; ++i)
    out += "a" + std::to_string(i) + " = b" + std::to_string(i) + " and ";
  return out;
}

const isl::map& Lex::relation(const std::string& key, const std::vector<std::string>& disjuncts) {
  std::shared_ptr<const isl::map>& made = made_[key];
  if (made) return *made;
  const std::string name = "lex " + std::to_string(length_) + " " + key;
  made = context_.known<isl::map>(name);
  if (made) return *made;
  std::string text = "{ " + tuple("a", length_) + " -> " + tuple("b", length_) + " : ";
  if (disjuncts.empty()) text += "false";
  for (size_t k = 0; k < disjuncts.size(); ++k) text += (k ? " or (" : "(") + disjuncts[k] + ")";
  context_.keep(name, isl::map(context_.get(), text + " }"));
  return *(made = context_.known<isl::map>(name));
}

const isl::map& Lex::before() {
  std::vector<std::string> parts;
  for (unsigned k = 0; k < length_; ++k)
    parts.push_back(equal_before(k) + "a" + std::to_string(k) + " < b" + std::to_string(k));
  return relation("before", parts);
}

const isl::map& Lex::not_before() {
  std::vector<std::string> parts;
  for (unsigned k = 0; k < length_; ++k)
    parts.push_back(equal_before(k) + "a" + std::to_string(k) + " > b" + std::to_string(k));
  std::string same = equal_before(length_);
  parts.push_back(same.empty() ? "true" : same.substr(0, same.size() - 5));
  return relation("not before", parts);
}

const isl::map& Lex::after() {
  std::vector<std::string> parts;
  for (unsigned k = 0; k < length_; ++k)
    parts.push_back(equal_before(k) + "a" + std::to_string(k) + " > b" + std::to_string(k));
  return relation("after", parts);
}

const isl::map& Lex::not_after() {
  std::shared_ptr<const isl::map>& made = made_["not after"];
  if (!made) made = std::make_shared<const isl::map>(not_before().reverse());
  return *made;
}

const isl::map& Lex::later_at(unsigned k) {
  const std::string n = std::to_string(k);
  return relation("later " + n, {equal_before(k) + "a" + n + " > b" + n});
}

const isl::map& Lex::apart_at(unsigned k) {
  const std::string n = std::to_string(k);
  return relation("apart " + n,
                  {equal_before(k) + "a" + n + " > b" + n, equal_before(k) + "a" + n + " < b" + n});
}

namespace {

std::vector<Pair> find_pairs(const Program& p) {
  unsigned length = 0;
  const std::map<std::string, isl::map> times = original_times(p, length);
  Lex lex(*p.context, length);
  std::vector<Pair> out;
  auto add = [&](DepKind kind, const Statement& a, const Access& x, const Statement& b,
                 const Access& y) {
    auto ta = times.find(a.name), tb = times.find(b.name);
    if (x.tensor != y.tensor || ta == times.end() || tb == times.end()) return;
    const Doing doing(
        [&] { return "accesses of " + a.name + " and " + b.name + " to " + x.tensor; });
    isl::map pairs = touches(p, a, x).apply_range(touches(p, b, y).reverse());
    pairs = pairs.intersect(ta->second.apply_range(lex.before()).apply_range(tb->second.reverse()))
                .coalesce();
    if (!pairs.is_empty()) out.push_back({kind, a.name, b.name, x.tensor, pairs});
  };
  for (const Statement& a : p.statements)
    for (const Statement& b : p.statements) {
      add(&a == &b && a.reduction ? DepKind::Reduction : DepKind::Output, a, a.write, b, b.write);
      for (const Access& y : b.reads) add(DepKind::Flow, a, a.write, b, y);
      for (const Access& x : a.reads) add(DepKind::Anti, a, x, b, b.write);
    }
  return out;
}

}  // namespace

std::shared_ptr<const std::vector<Pair>> all_pairs(const Program& p) {
  const std::string key = "all_pairs " + std::to_string(content_hash(p));
  if (auto known = p.context->known<std::vector<Pair>>(key)) return known;
  p.context->keep(key, find_pairs(p));
  return p.context->known<std::vector<Pair>>(key);
}

isl::map related(const isl::map& pairs, const Timed& source, const isl::map& relation,
                 const Timed& sink, const std::vector<unsigned>& dims) {
  return source.time(dims)
      .apply_range(relation)
      .apply_range(sink.time(dims).reverse())
      .intersect(pairs);
}

std::optional<Witness> sample_witness(const Program& p, const Pair& pair, const isl::map& broken) {
  const std::optional<Point> point =
      lexmin_point(broken.intersect_params(p.param_context).wrap().flatten());
  if (!point) return std::nullopt;
  Witness w;
  w.kind = pair.kind;
  w.source = pair.source;
  w.sink = pair.sink;
  w.tensor = pair.tensor;
  w.sizes = point->params;
  const unsigned cut = n_in(broken);
  auto text = [&](const std::string& stmt, const std::vector<int64_t>& at) {
    const std::vector<std::string> names = dim_names(p.statement(stmt)->domain);
    std::string out = stmt + "[";
    for (size_t k = 0; k < at.size(); ++k)
      out += (k ? ", " : "") + names[k] + "=" + std::to_string(at[k]);
    return out + "]";
  };
  w.source_iter.assign(point->dims.begin(), point->dims.begin() + cut);
  w.sink_iter.assign(point->dims.begin() + cut, point->dims.end());
  w.text = text(w.source, w.source_iter) + " and " + text(w.sink, w.sink_iter) +
           " touch the same element of " + w.tensor + ", and the first must come first";
  return w;
}

}  // namespace nautilus::poly::verifying
