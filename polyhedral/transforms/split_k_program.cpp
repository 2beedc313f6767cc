#include "polyhedral/transforms/split_k_program.h"

#include <algorithm>

#include "polyhedral/names.h"
#include "polyhedral/repair_internal.h"

namespace nautilus::poly {

namespace {

std::optional<unsigned> dim_named(const Statement& s, const std::string& name) {
  const Names names = dim_names(s.domain);
  const auto at = std::find(names.begin(), names.end(), name);
  return at == names.end() ? std::nullopt
                           : std::optional<unsigned>(static_cast<unsigned>(at - names.begin()));
}

// "x0, x1, ..": names for isl text.
std::string list(const char* stem, unsigned n) {
  std::string out;
  for (unsigned k = 0; k < n; ++k) out += (k ? ", " : "") + std::string(stem) + std::to_string(k);
  return out;
}

constexpr int64_t kLongest = int64_t{1} << 48;  // of an axis: parts and extents fit 64 bits

class Splitter {
 public:
  explicit Splitter(const SplitRequest& r) : r_(r), p_(*r.program) {}

  Expected<SplitResult> run() {
    if (auto no = find_reductions()) return *no;
    if (auto no = choose_chunk()) return *no;
    trace_chains();
    if (auto no = derive()) return *no;
    if (auto no = build()) return *no;
    return std::move(out_);
  }

 private:
  const SplitRequest& r_;
  Program p_;  // grows auxiliary accumulators, then is rewritten
  SplitResult out_;
  Names split_;      // reductions, program order (with auxiliaries)
  Names auxiliary_;  // of these: no combination is needed
  Names via_;        // pointwise statements on the way between them
  std::map<std::string, Names> sources_of_, via_of_;
  std::map<std::string, const Repair*> repair_of_;
  std::map<std::string, std::string> part_of_;  // tensor -> its partial version
  Program new_;

  Refusal refuse(std::string why, std::string suggest = "") const {
    return {"split reductions over " + r_.axis + " into " + std::to_string(r_.parts) + " parts", "",
            std::move(why), std::move(suggest)};
  }

  bool over_axis(const Statement& s) const {
    const auto d = dim_named(s, r_.axis);
    return s.reduction && d &&
           std::find(s.reduction->dims.begin(), s.reduction->dims.end(), static_cast<int>(*d)) !=
               s.reduction->dims.end();
  }

  std::optional<Refusal> find_reductions() {
    for (const Statement& s : p_.statements) {
      if (!in(r_.statements, s.name) || !over_axis(s)) continue;
      if (s.reduction->op == ReduceOp::User)
        return refuse(s.name + " is a user-defined reduction", "split another axis");
      int writers = 0;
      for (const Statement& w : p_.statements) writers += w.write.tensor == s.write.tensor;
      if (writers > 1) return refuse(s.write.tensor + " is written by more than one statement");
      split_.push_back(s.name);
    }
    if (split_.empty())
      return refuse("no reduction here runs over a dimension named " + r_.axis,
                    "name a reduced dimension");
    return std::nullopt;
  }

  // The axis must have a known range: a part's extent is a constant.
  std::optional<Refusal> choose_chunk() {
    int64_t last = -1;
    for (const std::string& n : split_) {
      const Statement& s = *p_.statement(n);
      const isl::set d = s.domain.intersect_params(p_.param_context).project_out_all_params();
      if (d.is_empty()) continue;
      const unsigned k = *dim_named(s, r_.axis);
      const auto lo = dim_min(d, k), hi = dim_max(d, k);
      if (!lo || !hi)
        return refuse("the extent of " + r_.axis + " is not bound", "bind the sizes first");
      if (*lo < 0) return refuse(r_.axis + " starts below zero");
      if (*hi >= kLongest)
        return refuse(r_.axis + " reaches " + std::to_string(*hi) + ": too long to be cut",
                      "bind smaller sizes");
      last = std::max(last, *hi);
    }
    const int64_t size = last + 1;
    out_.chunk = std::max<int64_t>(1, (size + r_.parts - 1) / r_.parts);
    out_.chunk = (out_.chunk + r_.multiple - 1) / r_.multiple * r_.multiple;
    out_.parts = (size + out_.chunk - 1) / out_.chunk;
    if (out_.parts < 2)
      return refuse("all " + std::to_string(size) + " values of " + r_.axis + " fit one part of " +
                        std::to_string(out_.chunk),
                    "more parts, or a smaller multiple");
    return std::nullopt;
  }

  // Which split reductions' values reach which others, and through which pointwise statements.
  void trace_chains() {
    std::map<std::string, Names> reach, path;  // of every pointwise statement
    for (const Statement& s : p_.statements) {
      Names from, via;
      for (const Access& a : s.reads)
        for (const Statement& w : p_.statements) {
          if (w.write.tensor != a.tensor) continue;
          if (in(split_, w.name)) add(from, w.name);
          if (!w.reduction && reach.contains(w.name)) {
            for (const std::string& x : reach.at(w.name)) add(from, x);
            for (const std::string& x : path.at(w.name)) add(via, x);
            add(via, w.name);
          }
        }
      if (from.empty()) continue;
      if (!s.reduction) {
        reach[s.name] = from;
        path[s.name] = via;
      } else if (in(split_, s.name)) {
        sources_of_[s.name] = from;
        via_of_[s.name] = via;
        for (const std::string& v : via) add(via_, v);
      }
    }
  }

  std::optional<Refusal> derive() {
    Names everyone;
    for (const Statement& s : p_.statements) everyone.push_back(s.name);
    const Names targets = split_;
    std::vector<Repair> found;
    for (const std::string& t : targets) {
      if (!sources_of_.contains(t)) continue;
      const Doing doing([&] { return "repair of " + t; });
      if (auto no = terms_have_sources(t)) return no;
      RepairRequest q;
      q.program = std::make_shared<const Program>(in_param_order(p_));
      q.target = t;
      q.sources = sources_of_.at(t);
      q.via = in_program_order(via_of_.at(t));
      q.others = everyone;  // the via statements are copied: their other readers keep the original
      q.policy = r_.policy;
      const Expected<RepairResult> made = derive_repair(q);
      if (!made) return refuse(made.error().asked + ": " + made.error().why, made.error().suggest);
      p_ = *with_auxiliaries(p_, *made);
      for (const Statement& a : made->auxiliary)
        add(split_, a.name), add(auxiliary_, a.name), everyone.push_back(a.name);
      for (const std::string& s : made->repair.sources)
        auxiliary_.erase(std::remove(auxiliary_.begin(), auxiliary_.end(), s), auxiliary_.end());
      found.push_back(made->repair);
    }
    out_.repairs = std::move(found);
    for (const Repair& r : out_.repairs) repair_of_[r.targets[0]] = &r;
    split_ = in_program_order(split_);
    // Inlined via statements are no longer on a way.
    Names used;
    for (const Repair& r : out_.repairs)
      for (const std::string& v : r.via) add(used, v);
    via_ = used;
    return std::nullopt;
  }

  Names in_program_order(const Names& v) const {
    Names out;
    for (const Statement& s : p_.statements)
      if (in(v, s.name)) out.push_back(s.name);
    return out;
  }

  isl::map part_map(const Statement& s) const {  // { S[x..] -> [p] : the part of x's axis value }
    const unsigned n = n_dim(s.domain), k = *dim_named(s, r_.axis);
    const std::string c = std::to_string(out_.chunk), a = "x" + std::to_string(k);
    return isl::map(p_.context->get(), "{ " + s.name + "[" + list("x", n) + "] -> [p] : " + c +
                                           "p <= " + a + " < " + c + "p + " + c + " }")
        .intersect_domain(s.domain);
  }

  // In every part in which an element of the target has a term, each source that it reads has one.
  std::optional<Refusal> terms_have_sources(const std::string& name) const {
    const Statement& t = *p_.statement(name);
    const auto term = algebra::inline_term(p_, t, sources_of_.at(name), via_of_.at(name));
    if (!term) return refuse(term.error().why, term.error().suggest);
    const isl::map terms =
        t.write.map.intersect_domain(t.domain).reverse().apply_range(part_map(t));
    for (const std::string& source : sources_of_.at(name)) {
      const Statement& s = *p_.statement(source);
      for (const algebra::Leaf& l : term->leaves) {
        if (l.name != s.write.tensor) continue;
        const isl::map element = t.write.map.reverse().apply_range(l.map);
        const isl::map sourced =
            element.apply_range(s.write.map.intersect_domain(s.domain).reverse())
                .apply_range(part_map(s));
        if (!terms.subtract(sourced).intersect_params(p_.param_context).is_empty())
          return refuse("in some part " + t.name + " has terms where " + s.name + " has none",
                        "give both the same condition");
      }
    }
    return std::nullopt;
  }

  std::string fresh(std::string name) const {
    while (p_.tensor(name) || p_.statement("S_" + name)) name += "_";
    return name;
  }

  // { S_part[p, x..] -> S[x..] } over a domain with the part in front; statements without the axis
  // run in every part.
  Statement with_part(const Statement& s, const std::string& tensor, bool part_in_tensor) {
    const Doing doing([&] { return "parts of " + s.name; });
    Statement n = s;
    n.name = "S_" + tensor;
    Names names = dim_names(s.domain);
    std::string p = "p";
    while (in(names, p)) p += "_";
    names.insert(names.begin(), p);
    isl::set d = insert_dims(s.domain, 0, 1);
    const std::string xs = list("x", static_cast<unsigned>(names.size()));
    const auto axis = dim_named(s, r_.axis);
    const std::string c = std::to_string(out_.chunk), tuple = tuple_name(d);
    std::string where = "0 <= x0 < " + std::to_string(out_.parts);
    if (axis)
      where += " and " + c + "x0 <= x" + std::to_string(*axis + 1) + " < " + c + "x0 + " + c;
    d = d.intersect(isl::set(p_.context->get(), "{ " + tuple + "[" + xs + "] : " + where + " }"));
    n.domain = set_dim_names(set_tuple_name(d, n.name), names);
    const isl::multi_aff all = n.domain.space().identity_multi_aff_on_domain();
    isl::multi_aff drop =
        isl::multi_aff(p_.context->get(), "{ " + n.name + "[" + xs + "] -> " + s.name + "[" +
                                              xs.substr(std::min(xs.size(), size_t{4})) + "] }");
    const isl::map to_old = drop.as_map(),
                   to_part = isl::map(p_.context->get(), "{ " + n.name + "[" + xs + "] -> [x0] }");
    const auto lead = [&](const isl::map& m, const std::string& name) {
      return to_part.range_product(m).flatten_range().set_range_tuple(name);
    };
    const isl::map w = to_old.apply_range(s.write.map);
    n.write = {tensor, part_in_tensor ? lead(w, tensor) : w.set_range_tuple(tensor), {}};
    for (Access& a : n.reads) {
      a.map = to_old.apply_range(a.map);
      const auto part = part_of_.find(a.tensor);
      if (part == part_of_.end()) continue;
      const bool with_p = has_part_dim(a.tensor);
      a.map = with_p ? lead(a.map, part->second) : a.map.set_range_tuple(part->second);
      a.tensor = part->second;
    }
    for (isl::aff& a : n.indices) a = a.pullback(drop);
    if (n.reduction)
      for (int& k : n.reduction->dims) ++k;
    return n;
  }

  // Partial tensors have the part in front, except pointwise ones over the axis, which it follows
  // from.
  bool has_part_dim(const std::string& tensor) const {
    for (const std::string& v : via_) {
      const Statement& s = *p_.statement(v);
      if (s.write.tensor == tensor) return !dim_named(s, r_.axis);
    }
    return true;
  }

  void add_tensor(const std::string& like, const std::string& name, bool with_part) {
    Tensor t = *p_.tensor(like);
    t.name = name;
    t.kind = TensorKind::Temp;
    if (with_part)
      t.extents.insert(
          t.extents.begin(),
          isl::pw_aff(p_.context->get(), "{ [(" + std::to_string(out_.parts) + ")] }"));
    new_.tensors.push_back(std::move(t));
  }

  // T_part_out[p, w..] = T_part[p, w..]
  Statement copy_out(const Statement& s) {
    const std::string from = part_of_.at(s.write.tensor), to = from + "_out";
    Statement n;
    n.name = "S_" + to;
    const isl::set e = insert_dims(p_.elements(*p_.tensor(s.write.tensor)), 0, 1);
    const std::string xs = list("x", n_dim(e));
    n.domain =
        e.intersect(isl::set(p_.context->get(), "{ " + tuple_name(e) + "[" + xs + "] : 0 <= x0 < " +
                                                    std::to_string(out_.parts) + " }"));
    n.domain = set_dim_names(set_tuple_name(n.domain, n.name), element_names(s, true));
    const isl::map id = n.domain.identity();
    n.write = {to, id.set_range_tuple(to), {}};
    n.reads = {{from, id.set_range_tuple(from), {}}};
    n.expr = Expr::read(0, p_.tensor(s.write.tensor)->type);
    n.loc = s.loc;
    return n;
  }

  // Dim names of the written tensor: those of the statement's loops where they index it directly.
  Names element_names(const Statement& s, bool with_part) const {
    const unsigned rank = n_out(s.write.map);
    const Names loops = dim_names(s.domain);
    Names names;
    for (unsigned k = 0; k < rank; ++k) {
      names.push_back("e" + std::to_string(k));
      const isl::map at = project_out_out(project_out_out(s.write.map, k + 1, rank - k - 1), 0, k)
                              .set_range_tuple("x")
                              .intersect_domain(s.domain);
      for (unsigned d = 0; d < loops.size(); ++d) {
        const isl::map dim = s.domain.space()
                                 .identity_multi_aff_on_domain()
                                 .at(static_cast<int>(d))
                                 .as_map()
                                 .set_range_tuple("x");
        if (at.is_equal(dim.intersect_domain(s.domain)) && !in(names, loops[d]))
          names[k] = loops[d];
      }
    }
    std::string p = "p";
    while (in(names, p)) p += "_";
    if (with_part) names.insert(names.begin(), p);
    return names;
  }

  // S_T[w.., p]: T[w..] (op)= h(T_part_out[p, w..], ...).
  Expected<Statement> combine(const Statement& s) {
    const Doing doing([&] { return "combination of parts of " + s.name; });
    Statement n = s;
    const isl::set e = p_.elements(*p_.tensor(s.write.tensor));
    const unsigned rank = n_dim(e);
    const isl::set d = insert_dims(e, rank, 1);
    const std::string xs = list("x", rank + 1), last = "x" + std::to_string(rank),
                      ws = list("x", rank);
    Names names = element_names(s, true);
    std::rotate(names.begin(), names.begin() + 1, names.end());
    n.domain = d.intersect(isl::set(p_.context->get(), "{ " + tuple_name(d) + "[" + xs +
                                                           "] : 0 <= " + last + " < " +
                                                           std::to_string(out_.parts) + " }"));
    n.domain = set_dim_names(set_tuple_name(n.domain, s.name), names);
    const auto map = [&](const std::string& range) {
      return isl::map(p_.context->get(), "{ " + s.name + "[" + xs + "] -> " + range + " }")
          .intersect_domain(n.domain);
    };
    n.write = {s.write.tensor, map(s.write.tensor + "[" + ws + "]"), {}};
    n.reads.clear();
    n.indices.clear();
    n.guard = Expr();
    n.reduction->dims = {static_cast<int>(rank)};
    const Type type = p_.tensor(s.write.tensor)->type;
    const auto read = [&](const std::string& tensor, const isl::map& m) {
      n.reads.push_back({tensor, m.set_range_tuple(tensor), {}});
      return Expr::read(static_cast<int>(n.reads.size()) - 1,
                        p_.tensor(tensor) ? p_.tensor(tensor)->type : type);
    };
    const std::string lead = ws.empty() ? last : last + ", " + ws;
    const auto read_out = [&](const std::string& tensor, const isl::map& m) {
      n.reads.push_back(
          {part_of_.at(tensor) + "_out", m.set_range_tuple(part_of_.at(tensor) + "_out"), {}});
      return Expr::read(static_cast<int>(n.reads.size()) - 1, p_.tensor(tensor)->type);
    };
    const auto repaired = repair_of_.find(s.name);
    if (repaired == repair_of_.end()) {
      n.expr = read_out(s.write.tensor, map("[" + lead + "]"));
      return n;
    }
    const Repair& r = *repaired->second;
    std::map<std::string, Expr> by;
    const auto term = algebra::inline_term(p_, s, r.sources, r.via);
    if (!term) return refuse(term.error().why);
    const Expr& h = r.corrections[0];
    for (size_t k = 0; k < r.targets.size(); ++k)
      if (contains_var(h, "t" + std::to_string(k)))
        by.emplace("t" + std::to_string(k), read_out(r.target_tensors[k], map("[" + lead + "]")));
    for (const algebra::Leaf& l : term->leaves) {
      if (!in(r.source_tensors, l.name)) continue;
      // { element -> source's element }, extended affinely to elements without terms.
      const isl::map follow = s.write.map.intersect_domain(s.domain).reverse().apply_range(l.map);
      const isl::pw_multi_aff f =
          follow.gist_domain(e.intersect_params(p_.param_context)).as_pw_multi_aff().coalesce();
      if (f.n_piece() != 1)
        return refuse("the element of " + l.tensor + " that " + s.name +
                      " reads is not one affine function");
      std::optional<isl::map> element;
      f.foreach_piece([&](isl::set, isl::multi_aff ma) { element = ma.as_map(); });
      const isl::map at =
          map(s.write.tensor + "[" + ws + "]").apply_range(*element).intersect_domain(n.domain);
      if (contains_var(h, l.name)) {
        const isl::map part = map("[" + last + "]");
        by.emplace(l.name, read_out(l.tensor, part.range_product(at).flatten_range()));
      }
      if (contains_var(h, l.name + "'")) by.emplace(l.name + "'", read(l.tensor, at));
    }
    n.expr = substitute(h, by);
    return n;
  }

  // Partial statements in place, then the copies and combinations, then what reads combined values
  // (earlier where a partial statement needs it).
  std::optional<Refusal> build() {
    new_ = p_;
    new_.statements.clear();
    for (const Names* names : {&split_, &via_})
      for (const std::string& n : *names)
        part_of_[p_.statement(n)->write.tensor] = fresh(p_.statement(n)->write.tensor + "_part");
    for (const Statement& s : p_.statements) {
      const bool partial = in(split_, s.name) || in(via_, s.name);
      if (!partial) {
        (waits(s) ? late_ : new_.statements).push_back(s);
        continue;
      }
      if (std::any_of(late_.begin(), late_.end(), [&](const Statement& w) {
            return !part_of_.contains(w.write.tensor) && reads(s, w.write.tensor);
          }))
        flush();
      const std::string part = part_of_.at(s.write.tensor);
      const bool with_p = has_part_dim(s.write.tensor);
      add_tensor(s.write.tensor, part, with_p);
      new_.statements.push_back(with_part(s, part, with_p));
      if (in(via_, s.name)) {
        if (kept(s)) late_.push_back(s);
        continue;
      }
      add_tensor(s.write.tensor, part + "_out", true);
      copies_.push_back(copy_out(s));
      if (in(auxiliary_, s.name)) continue;
      Expected<Statement> c = combine(s);
      if (!c) return c.error();
      combines_.push_back(std::move(*c));
    }
    flush();
    drop_unread();
    new_.original = textual_order(new_);
    out_.program = std::move(new_);
    return std::nullopt;
  }

  std::vector<Statement> copies_, combines_, late_;
  void flush() {
    for (auto* v : {&copies_, &combines_, &late_}) {
      for (Statement& s : *v) new_.statements.push_back(std::move(s));
      v->clear();
    }
  }

  // Whether a statement reads a combined value or what waits for one.
  bool waits(const Statement& s) const {
    const auto pending = [&](const std::vector<Statement>& v) {
      return std::any_of(v.begin(), v.end(),
                         [&](const Statement& w) { return reads(s, w.write.tensor); });
    };
    return pending(combines_) || pending(late_);
  }

  // A via statement stays for readers that are not split, and if it is stored.
  bool kept(const Statement& s) const {
    const Tensor* t = p_.tensor(s.write.tensor);
    if (!t || t->kind == TensorKind::Output) return true;
    return std::any_of(p_.statements.begin(), p_.statements.end(), [&](const Statement& q) {
      return reads(q, s.write.tensor) && !in(split_, q.name) && !(in(via_, q.name) && !kept(q));
    });
  }

  // Temporaries that nobody reads, with the statements that write them.
  void drop_unread() {
    for (bool again = true; again;) {
      again = false;
      for (const Tensor& t : new_.tensors) {
        if (t.kind != TensorKind::Temp) continue;
        const auto reads_it = [&](const Statement& s) { return reads(s, t.name); };
        if (std::any_of(new_.statements.begin(), new_.statements.end(), reads_it)) continue;
        const std::string name = t.name;
        std::erase_if(new_.statements, [&](const Statement& s) { return s.write.tensor == name; });
        std::erase_if(new_.tensors, [&](const Tensor& x) { return x.name == name; });
        again = true;
        break;
      }
    }
  }
};

}  // namespace

Expected<SplitResult> split_reductions(const SplitRequest& r) {
  try {
    return Splitter(r).run();
  } catch (const isl::exception& e) {
    return Refusal{"split reductions over " + r.axis, "", e.what(), ""};
  }
}

}  // namespace nautilus::poly
