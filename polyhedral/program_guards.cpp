#include "polyhedral/program_guards.h"

#include <algorithm>

#include "polyhedral/access_order.h"

namespace nautilus::poly {

namespace {

// Operands of the writer's guard as operands of the reader.
class Seen {
 public:
  // instance: { reader[..] -> writer[..] }
  Seen(const Statement& writer, const Statement& reader, isl::set domain, isl::map instance)
      : writer_(writer),
        reader_(reader),
        domain_(std::move(domain)),
        instance_(std::move(instance)),
        reads_(writer.reads.size()) {}

  // The same condition in the reader's operands; nothing if it does not have them.
  std::optional<Expr> from_reader(const Expr& condition) {
    bool all = true;
    const Expr e = substitute(condition, [&](const Expr& x) -> std::optional<Expr> {
      std::optional<Expr> here;
      if (x->op == Op::Read) {
        if (const auto k = read(static_cast<size_t>(x->index))) here = Expr::read(*k, x->type);
      } else if (x->op == Op::Index) {
        if (const auto k = index(static_cast<size_t>(x->index))) here = Expr::index(*k);
      } else {
        return std::nullopt;
      }
      all = all && here;
      return here ? here : x;
    });
    return all ? std::optional<Expr>(e) : std::nullopt;
  }

  // Reads of one element count as one: the first of them.
  Expr normal(const Expr& e) const {
    return substitute(e, [&](const Expr& x) -> std::optional<Expr> {
      if (x->op != Op::Read) return std::nullopt;
      const Access& a = reader_.reads.at(static_cast<size_t>(x->index));
      for (int k = 0; k < x->index; ++k)
        if (same(reader_.reads[static_cast<size_t>(k)], a, a.map)) return Expr::read(k, x->type);
      return x;
    });
  }

 private:
  const Statement &writer_, &reader_;
  const isl::set domain_;  // of the reader, within the facts
  const isl::map instance_;
  std::vector<std::optional<int>> reads_;  // found so far

  // Whether a read of the reader is the access `a` at the elements `map`.
  bool same(const Access& mine, const Access& a, const isl::map& map) const {
    if (mine.tensor != a.tensor || mine.gathers.size() != a.gathers.size()) return false;
    for (size_t g = 0; g < a.gathers.size(); ++g)
      if (mine.gathers[g].dim != a.gathers[g].dim || mine.gathers[g].read != a.gathers[g].read)
        return false;
    return mine.map.intersect_domain(domain_).is_equal(map.intersect_domain(domain_));
  }

  std::optional<int> read(size_t k) {
    if (k >= reads_.size()) return std::nullopt;
    if (reads_[k]) return reads_[k];
    Access a = writer_.reads[k];
    for (Access::Gather& g : a.gathers) {
      const auto at = read(static_cast<size_t>(g.read));
      if (!at) return std::nullopt;
      g.read = *at;
    }
    const isl::map map = instance_.apply_range(a.map);
    for (size_t m = 0; m < reader_.reads.size() && !reads_[k]; ++m)
      if (same(reader_.reads[m], a, map)) reads_[k] = static_cast<int>(m);
    return reads_[k];
  }

  std::optional<int> index(size_t k) const {
    const isl::map value =
        instance_.apply_range(writer_.indices.at(k).as_map()).intersect_domain(domain_);
    for (size_t m = 0; m < reader_.indices.size(); ++m)
      if (reader_.indices[m].as_map().intersect_domain(domain_).is_equal(value))
        return static_cast<int>(m);
    return std::nullopt;
  }
};

}  // namespace

std::optional<Expr> missing_condition(const Program& p, const Statement& writer,
                                      const Statement& reader, const Access& access) {
  std::vector<Expr> needed, have;
  conjuncts(writer.guard, needed);
  if (needed.empty()) return std::nullopt;
  if (!access.gathers.empty()) return needed[0];  // which instance wrote it is data
  const isl::set domain = reader.domain.intersect_params(p.param_context);
  const isl::map instance = access.map.apply_range(restricted(p, writer, writer.write).reverse())
                                .intersect_domain(domain);
  Seen seen(writer, reader, domain, instance);
  if (reader.guard) conjuncts(seen.normal(reader.guard), have);
  for (const Expr& c : needed) {
    const auto here = seen.from_reader(c);
    if (!here || std::find(have.begin(), have.end(), *here) == have.end()) return c;
  }
  return std::nullopt;
}

std::string condition_text(const Statement& s, const Expr& condition) {
  std::string operands;
  visit(condition, [&](const Expr& x) {
    std::string what;
    if (x->op == Op::Read)
      what = "$" + std::to_string(x->index) + " of " +
             s.reads.at(static_cast<size_t>(x->index)).tensor;
    if (x->op == Op::Index) {
      const std::string text = isl_text(s.indices.at(static_cast<size_t>(x->index)));
      const size_t from = text.find("-> ["), to = text.find("] }", from);
      what = "#" + std::to_string(x->index) + " = " +
             (to == std::string::npos ? text : text.substr(from + 4, to - from - 4));
    }
    if (!what.empty()) operands += (operands.empty() ? "" : ", ") + what;
  });
  return to_string(condition) + (operands.empty() ? "" : " (" + operands + ")");
}

}  // namespace nautilus::poly
