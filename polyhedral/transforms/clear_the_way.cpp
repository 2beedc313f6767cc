#include "polyhedral/transforms/clear_the_way.h"

#include <algorithm>

#include "polyhedral/names.h"
#include "polyhedral/transforms/recompute_program.h"

namespace nautilus::poly {

namespace {

class WayClearer {
 public:
  WayClearer(const Schedule& s, NodeId sequence, size_t first, size_t last, size_t depth)
      : before_(s), w_(s), sequence_(sequence), first_(first), last_(last), depth_(depth) {}

  Expected<Cleared> run() {
    Names moved;
    std::vector<NodeId> out_of_the_way;
    const Node* seq = find(w_, sequence_);
    const Node* reducing = nullptr;
    for (size_t k = first_; k <= last_ && !reducing; ++k)
      if (!all_pointwise(*seq->children[k])) reducing = seq->children[k].get();
    for (size_t k = first_; k <= last_; ++k) {
      const Node& c = *seq->children[k];
      if (!all_pointwise(c) || !reducing || has_the_loop(c, *reducing)) continue;
      out_of_the_way.push_back(c.id);
      for (const std::string& s : c.statements) moved.push_back(s);
    }
    if (moved.empty()) return Cleared{w_, last_};
    for (auto name = moved.rbegin(); name != moved.rend(); ++name)
      if (auto no = inline_into_range(*name, moved)) return *no;
    reorder(out_of_the_way);
    return Cleared{w_, last_};
  }

 private:
  const Schedule& before_;
  Schedule w_;
  NodeId sequence_;
  size_t first_, last_, depth_;

  const Program& program() const { return *w_.program; }

  bool fits(const Node& child) const {
    const Node& body = *child.children[0];
    if (body.kind != NodeKind::Band || body.members.size() < depth_) return false;
    return std::none_of(body.members.begin(),
                        body.members.begin() + static_cast<std::ptrdiff_t>(depth_),
                        [](const BandMember& m) { return m.mapping == Mapping::Tile; });
  }

  // Whether the child's first members are loops over tiles of the same size as those of the first
  // child that reduces: what is left of a point-wise statement's band (rows of a tile) is not the
  // loop that is shared.
  bool has_the_loop(const Node& child, const Node& reducing) const {
    if (!fits(child)) return false;
    if (!fits(reducing)) return true;  // fuse_children says why not
    const auto &mine = child.children[0]->members, &theirs = reducing.children[0]->members;
    return std::equal(mine.begin(), mine.begin() + static_cast<std::ptrdiff_t>(depth_),
                      theirs.begin(),
                      [](const BandMember& a, const BandMember& b) { return a.step == b.step; });
  }

  bool all_pointwise(const Node& child) const {
    return std::all_of(child.statements.begin(), child.statements.end(),
                       [&](const std::string& n) { return !program().statement(n)->reduction; });
  }

  std::optional<Refusal> inline_into_range(const std::string& name, const Names& moved) {
    const Node* seq = find(w_, sequence_);
    Names consumers;
    for (size_t k = first_; k < std::min(last_ + 1, seq->children.size()); ++k)
      for (const std::string& s : seq->children[k]->statements)
        if (!in(moved, s) && program().statement(name) &&
            reads(*program().statement(s), program().statement(name)->write.tensor))
          add(consumers, s);
    for (const std::string& into : consumers) {
      const Expected<Recomputed> r = recompute_in(program(), name, into);
      if (!r) return r.error();
      const std::string tensor = program().statement(name)->write.tensor;
      w_.program = std::make_shared<const Program>(in_param_order(r->program));
      if (r->removed) drop(name, tensor);
    }
    return std::nullopt;
  }

  void drop(const std::string& name, const std::string& tensor) {
    isl::union_set rest = isl::union_set::empty(program().context->get());
    for (const Statement& s : program().statements)
      if (s.name != name) rest = rest.unite(isl::union_set(s.domain));
    w_.root = restrict_subtree(w_.root, rest, w_.next_id, true);
    w_.scopes.erase(tensor);
  }

  // Children of the range that are in the way go behind it, in order; last_ shrinks by those and by
  // dropped ones. The child that reduces stays, so there is a sequence still.
  void reorder(const std::vector<NodeId>& ids) {
    const Node* seq = find(w_, sequence_);
    const Node* before = find(before_, sequence_);
    std::vector<NodePtr> head, stay, behind, tail;
    const auto position = [&](NodeId id) {
      for (size_t k = 0; k < before->children.size(); ++k)
        if (before->children[k]->id == id) return k;
      return size_t{0};
    };
    for (const NodePtr& c : seq->children) {
      const size_t k = position(c->id);
      const bool in_way = std::find(ids.begin(), ids.end(), c->id) != ids.end();
      (k < first_ ? head : k > last_ ? tail : in_way ? behind : stay).push_back(c);
    }
    last_ = first_ + stay.size() - 1;
    std::vector<NodePtr> all = head;
    for (const auto* part : {&stay, &behind, &tail})
      all.insert(all.end(), part->begin(), part->end());
    w_ = replace(w_, sequence_, with_children(*seq, std::move(all)));
  }
};

}  // namespace

Expected<Cleared> clear_the_way(const Schedule& s, NodeId sequence, size_t first, size_t last,
                                size_t depth) {
  return WayClearer(s, sequence, first, last, depth).run();
}

}  // namespace nautilus::poly
