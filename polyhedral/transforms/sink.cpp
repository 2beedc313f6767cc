#include "polyhedral/transforms/sink.h"

#include <algorithm>
#include <set>

#include "polyhedral/context_hash.h"
#include "polyhedral/transforms/edit.h"

namespace nautilus::poly {

namespace {

struct SinkRefused {
  Refusal refusal;
};

// The functions of the loops on the way down to the point of sinking, by statement.
using Prefix = std::map<std::string, std::vector<isl::aff>>;

// { producer[..] -> consumer[..] }: who reads what the producer writes; nothing if no access does.
std::optional<isl::map> flow(const Program& p, const Statement& producer,
                             const Statement& consumer) {
  const isl::map write = producer.write.map.intersect_domain(producer.domain);
  std::optional<isl::map> out;
  for (const Access& a : consumer.reads) {
    if (a.tensor != producer.write.tensor) continue;
    isl::map one = write.apply_range(a.map.intersect_domain(consumer.domain).reverse())
                       .intersect_params(p.param_context);
    out = out ? out->unite(one) : one;
  }
  if (out && out->is_empty()) out.reset();
  return out;
}

std::set<unsigned> dims_used(const isl::aff& a) {
  const LinearAff f = linear_form(a);
  std::set<unsigned> out;
  auto add = [&](const std::vector<int64_t>& v) {
    for (unsigned k = 0; k < v.size(); ++k)
      if (v[k] != 0) out.insert(k);
  };
  add(f.dims);
  for (const LinearDiv& d : f.div_defs) add(d.dims);
  return out;
}

// The one affine function that a partial function is on `where`, if it is one.
std::optional<isl::aff> one_piece(const isl::map& function, const isl::set& where) {
  std::vector<isl::aff> pieces;
  function.lexmin_pw_multi_aff().gist(where).coalesce().foreach_piece(
      [&](isl::set, isl::multi_aff ma) { pieces.push_back(ma.at(0)); });
  for (const isl::aff& a : pieces)
    if (!plain_equal(a, pieces[0])) return std::nullopt;
  return pieces.empty() ? std::nullopt : std::optional(pieces[0]);
}

// `loop` on the consumer as a function of the producer's dims, when the relation fixes every dim
// that it uses.
std::optional<isl::aff> transported(const isl::map& relation, const Statement& producer,
                                    const Statement& consumer, const isl::aff& loop,
                                    const isl::set& where) {
  const isl::multi_aff id = consumer.domain.space().identity_multi_aff_on_domain();
  std::vector<isl::aff> dims(consumer.n_dims(), constant_aff(producer.domain, 0));
  for (unsigned d : dims_used(loop)) {
    const isl::map value = relation.apply_range(id.at(static_cast<int>(d)).as_map());
    if (!value.is_single_valued()) return std::nullopt;
    std::optional<isl::aff> one = one_piece(value, where);
    if (!one) return std::nullopt;
    dims[d] = *one;
  }
  if (dims.empty()) return std::nullopt;
  const isl::space space =
      producer.domain.space().add_named_tuple(consumer.name, static_cast<unsigned>(dims.size()));
  isl::aff_list list = dims[0].to_list();
  for (size_t k = 1; k < dims.size(); ++k) list = list.add(dims[k]);
  return loop.pullback(isl::multi_aff(space, list));
}

// Functions of one producer statement for all the loops: the first iteration that uses its value.
std::vector<isl::aff> first_use(const Program& p, const Statement& producer, const Prefix& readers,
                                const std::string& what,
                                const std::vector<std::string>& loop_names) {
  struct Reader {
    const Statement* statement;
    isl::map relation;
    const std::vector<isl::aff>* loops;
  };
  std::vector<Reader> found;
  for (const auto& [name, loops] : readers)
    if (std::optional<isl::map> relation = flow(p, producer, *p.statement(name)))
      found.push_back({p.statement(name), *relation, &loops});
  if (found.empty())
    throw SinkRefused{edit::refused(what, producer.name,
                                    "nothing in those loops reads " + producer.write.tensor,
                                    "sink a producer into a loop of its consumer")};
  const isl::set where = producer.domain.intersect_params(p.param_context);
  std::vector<isl::aff> out;
  std::optional<isl::map> first;  // { producer[..] -> [loops] }: all uses, then the first one
  for (size_t k = 0; k < loop_names.size(); ++k) {
    std::vector<std::optional<isl::aff>> direct;
    for (const Reader& r : found)
      direct.push_back(transported(r.relation, producer, *r.statement, (*r.loops)[k], where));
    const bool agree = std::all_of(direct.begin(), direct.end(),
                                   [&](const auto& f) { return f && plain_equal(*f, *direct[0]); });
    if (agree) {
      out.push_back(*direct[0]);
      continue;
    }
    if (!first) {
      for (const Reader& r : found) {
        isl::map one = r.relation.apply_range(tuple_of(r.statement->domain, *r.loops).as_map());
        first = first ? first->unite(one) : one;
      }
      first = first->lexmin();
    }
    const isl::map value =
        project_out_out(project_out_out(*first, static_cast<unsigned>(k) + 1,
                                        static_cast<unsigned>(loop_names.size() - k - 1)),
                        0, static_cast<unsigned>(k));
    std::optional<isl::aff> one = one_piece(value, where);
    if (!one)
      throw SinkRefused{edit::refused(what, producer.name,
                                      "the iteration of loop " + loop_names[k] +
                                          " that first uses its value is not one affine function",
                                      "sink less deep, or fuse instead")};
    out.push_back(*one);
  }
  return out;
}

struct Place {
  const Node* sequence;            // the common sequence
  size_t from, to;                 // positions of the producer and of the consumer's filter
  std::vector<const Node*> loops;  // bands from the consumer's filter down to and including `into`
};

Place find_place(const Schedule& s, NodeId node, NodeId into, size_t depth,
                 const std::string& what) {
  const std::vector<const Node*> down = path_to(s, into);
  const Node* seq = parent_of(s, node);
  const Node* producer = find(s, node);
  if (!seq || seq->kind != NodeKind::Sequence)
    throw SinkRefused{edit::refused(what, edit::describe(s, *producer), "it is not in a sequence")};
  auto at = std::find(down.begin(), down.end(), seq);
  if (at == down.end() || at + 1 == down.end())
    throw SinkRefused{
        edit::refused(what, edit::describe(s, *producer),
                      "band " + std::to_string(into) + " is not below a sibling of it",
                      "sink into a band below a later child of the same sequence")};
  Place out{seq, 0, 0, {}};
  for (size_t k = 0; k < seq->children.size(); ++k) {
    if (seq->children[k].get() == producer) out.from = k;
    if (seq->children[k].get() == *(at + 1)) out.to = k;
  }
  if (out.to <= out.from)
    throw SinkRefused{edit::refused(what, edit::describe(s, *producer),
                                    "the band is not in a later sibling",
                                    "a producer sinks into a consumer that comes after it")};
  for (auto it = at + 2; it != down.end(); ++it) {
    if ((*it)->kind != NodeKind::Band)
      throw SinkRefused{edit::refused(what, edit::describe(s, **it),
                                      "there is more than loops between the sequence and the band",
                                      "sink step by step, one sequence at a time")};
    out.loops.push_back(*it);
  }
  const Node* last = out.loops.back();
  if (depth == 0 || depth > last->members.size())
    throw SinkRefused{edit::refused(what, edit::describe(s, *last),
                                    "it has " + std::to_string(last->members.size()) + " members",
                                    "depth 1 to " + std::to_string(last->members.size()))};
  for (const Node* b : out.loops)
    for (size_t k = 0; k < (b == last ? depth : b->members.size()); ++k)
      if (b->members[k].mapping == Mapping::Tile)
        throw SinkRefused{edit::refused(
            what, edit::describe(s, *b),
            "member " + b->members[k].name + " is mapped to tile, which is not a loop")};
  return out;
}

// Loops that repeat what the loops around already fix are dropped from the producer's own bands.
NodePtr without_fixed(const NodePtr& n, const Prefix& fixed) {
  if (n->kind != NodeKind::Band) return n;
  std::vector<BandMember> left;
  for (const BandMember& m : n->members) {
    const bool known = std::all_of(m.schedule.begin(), m.schedule.end(), [&](const auto& e) {
      const std::vector<isl::aff>& loops = fixed.at(e.first);
      return std::any_of(loops.begin(), loops.end(),
                         [&](const isl::aff& f) { return plain_equal(f, e.second); });
    });
    if (!known) left.push_back(m);
  }
  NodePtr child = without_fixed(n->children[0], fixed);
  return left.empty() ? child : with_children(*with_members(*n, std::move(left)), {child});
}

// Extends the loops of one band by the producer's functions, starting at position `at` of them.
std::vector<BandMember> extended(const std::vector<BandMember>& members, const Prefix& functions,
                                 size_t at) {
  std::vector<BandMember> out = members;
  for (size_t k = 0; k < out.size(); ++k)
    for (const auto& [stmt, loops] : functions) out[k].schedule.emplace(stmt, loops[at + k]);
  return out;
}

Schedule sunk(const Schedule& s, NodeId node, NodeId into, size_t depth) {
  const std::string what = "sink filter " + std::to_string(node) + " into band " +
                           std::to_string(into) + " at depth " + std::to_string(depth);
  const Place place = find_place(s, node, into, depth, what);
  const Node& producer = *place.sequence->children[place.from];
  const Node& consumer = *place.sequence->children[place.to];
  // Functions of the consumers, then of the producer's statements from last to first (they may feed
  // each other).
  Prefix readers, placed;
  std::vector<std::string> names;
  for (const Node* b : place.loops)
    for (size_t k = 0; k < (b->id == into ? depth : b->members.size()); ++k) {
      for (const auto& [stmt, aff] : b->members[k].schedule) readers[stmt].push_back(aff);
      names.push_back(b->members[k].name);
    }
  for (auto it = producer.statements.rbegin(); it != producer.statements.rend(); ++it) {
    if (readers.count(*it))
      throw SinkRefused{
          edit::refused(what, *it, "it is partitioned, and a part of it is already there")};
    placed[*it] = first_use(*s.program, *s.program->statement(*it), readers, what, names);
    readers[*it] = placed[*it];
  }
  Schedule out = s;
  // What is below the point of sinking: the producer first, then what was there.
  const Node& last = *place.loops.back();
  const auto cut = last.members.begin() + static_cast<std::ptrdiff_t>(depth);
  NodePtr rest = last.children[0];
  if (cut != last.members.end()) rest = make_band({cut, last.members.end()}, rest, out.next_id++);
  NodePtr first = with_children(producer, {without_fixed(producer.children[0], placed)});
  NodePtr body;
  if (rest->kind == NodeKind::Sequence) {
    std::vector<NodePtr> filters = {first};
    filters.insert(filters.end(), rest->children.begin(), rest->children.end());
    body = with_children(*rest, std::move(filters));
  } else {
    const NodeId inner = out.next_id++;
    NodePtr old = make_filter(consumer.filter, rest, inner);
    body = make_sequence({first, old}, out.next_id++);
  }
  size_t at = names.size();
  for (auto it = place.loops.rbegin(); it != place.loops.rend(); ++it) {
    const Node& b = **it;
    std::vector<BandMember> members(
        b.members.begin(),
        b.id == into ? b.members.begin() + static_cast<std::ptrdiff_t>(depth) : b.members.end());
    at -= members.size();
    body = with_children(*with_members(b, extended(members, placed, at)), {body});
  }
  NodePtr merged = make_filter(producer.filter.unite(consumer.filter), body, consumer.id);
  std::vector<NodePtr> siblings;
  for (size_t k = 0; k < place.sequence->children.size(); ++k)
    if (k != place.from) siblings.push_back(k == place.to ? merged : place.sequence->children[k]);
  if (siblings.size() == 1 && place.sequence != s.root.get())
    return replace(out, place.sequence->id, body);
  return replace(out, place.sequence->id, with_children(*place.sequence, std::move(siblings)));
}

}  // namespace

Expected<Schedule> sink(const Schedule& s, NodeId node, NodeId into, size_t depth) {
  try {
    return sunk(s, node, into, depth);
  } catch (const SinkRefused& r) {
    return r.refusal;
  }
}

TransformInfo info_sink() {
  TransformInfo t;
  t.name = "sink";
  t.summary = "compute a producer inside its consumer's loops (compute-at)";
  t.doc =
      "Moves a filter into band `into` of a later sibling, below its first `depth` members. Each "
      "producer instance goes to the first "
      "iteration of those loops that uses its value (the lexicographic minimum over the flow "
      "dependence); loops of the producer that "
      "these fix disappear. Refused when that iteration is not an affine function. Legal when "
      "all "
      "dependences, also with what lies "
      "between, still run forwards.";
  t.before =
      "2: filter S_a\n  3: band [i = i]\n4: filter S_b\n  5: band [i0:64 = floor(i/64)]\n    6: "
      "band [i1 = i]";
  t.after =
      "4: filter S_a, S_b\n  5: band [i0:64 = floor(i/64)]\n    8: sequence\n      2: filter S_a\n "
      "       3: band [i = i]\n      7: filter S_b\n        6: band [i1 = i]";
  t.params = {
      edit::node_info("the producer's filter", ParamRole::Filter),
      edit::node_info("a band of its consumer", ParamRole::ReaderBand, "into"),
      {"depth", ParamKind::Integer, "below how many members of that band", 1, 1000, {}, false}};
  return edit::with_edit(
      std::move(t), [](const Schedule& s, const nlohmann::json& p) -> Expected<Schedule> {
        Expected<const Node*> n = edit::node_param(s, p, "node", NodeKind::Filter, "sink");
        if (!n) return n.error();
        Expected<const Node*> into = edit::node_param(s, p, "into", NodeKind::Band, "sink");
        return into ? sink(s, (*n)->id, (*into)->id, p.at("depth").get<size_t>())
                    : Expected<Schedule>(into.error());
      });
}

}  // namespace nautilus::poly
