// The only place that touches raw isl pointers: contexts, quotas, and the operations that isl's
// C++ interface (isl/cpp.h) leaves out. Everything else in Nautilus uses the RAII classes.
#pragma once

#include <isl/cpp.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "polyhedral/expected.h"

namespace nautilus::poly {

// Owns one isl_ctx. Objects of one context never meet objects of another; one context a worker
// thread. Keep a HeldContext as the FIRST member of whatever holds isl objects, so it dies last.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  isl::ctx get() const { return ctx_; }

  // Results that were derived from objects of this context, for whoever derives them again. The key
  // begins with the kind of result, which fixes its type T, and holds all that the result depends
  // on. A result may hold isl objects of this context, never a ContextPtr; one thread uses it.
  template <class T>
  std::shared_ptr<const T> known(const std::string& key) const {
    const auto at = known_.find(key);
    return at == known_.end() ? nullptr : std::static_pointer_cast<const T>(at->second);
  }
  template <class T>
  void keep(const std::string& key, T result) {
    if (known_.size() >= kMostKnown) known_.clear();
    known_.insert_or_assign(key, std::make_shared<const T>(std::move(result)));
  }

 private:
  static constexpr size_t kMostKnown = 4096;
  isl::ctx ctx_;
  std::map<std::string, std::shared_ptr<const void>> known_;
};
using ContextPtr = std::shared_ptr<Context>;
inline ContextPtr make_context() { return std::make_shared<Context>(); }

// The context as a member. Moving its holder leaves it behind as well, since isl objects are copied
// when they are moved (isl/cpp.h): what a holder that was moved from still has needs the context.
class HeldContext : public ContextPtr {
 public:
  HeldContext() = default;
  HeldContext(ContextPtr p) : ContextPtr(std::move(p)) {}
  HeldContext(const HeldContext&) = default;
  HeldContext& operator=(const HeldContext&) = default;
};

// While alive, isl operations on ctx beyond max_operations fail with isl::exception; guards nest
// (the outer limit is restored). Running out is Unknown to the caller, never Legal.
class QuotaGuard {
 public:
  QuotaGuard(isl::ctx ctx, unsigned long max_operations);
  ~QuotaGuard();
  QuotaGuard(const QuotaGuard&) = delete;
  QuotaGuard& operator=(const QuotaGuard&) = delete;
  bool exhausted() const;
  // For a computation under this guard that failed with this message.
  Refusal refusal(const std::string& message) const;

 private:
  isl::ctx ctx_;
  unsigned long previous_, limit_;
};
// Both constructor and destructor of QuotaGuard restart isl's operation counter and clear its last
// error, so a failure under one quota never poisons what follows. An inner limit never exceeds the
// outer one.
inline constexpr unsigned long kDefaultQuota = 20'000'000;

// Names what is being computed while alive: if an exception passes, it is noted, and the refusal of
// the quota that catches it says so (outermost first). `what` is only called then.
class Doing {
 public:
  explicit Doing(std::function<std::string()> what);
  ~Doing();
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;
  static std::string noted();  // by this thread since the last call; forgets it

 private:
  std::function<std::string()> what_;
  int exceptions_;
};

// Runs fn under a quota; isl failures come back as a Refusal whose why says "ran out of isl
// operations (N)" or isl's own message, and in what (see Doing).
template <class Fn>
auto with_quota(isl::ctx ctx, unsigned long max_operations, Fn&& fn) -> Expected<decltype(fn())>;

// Sizes bound to parameters: {"N": 4096}.
using Sizes = std::map<std::string, int64_t>;

// isl's text of an object.
template <class T>
std::string isl_text(const T& object) {
  std::ostringstream out;
  out << object;
  return out.str();
}
// Members of a union in an order that is equal across runs (by tuple names, then text).
std::vector<isl::set> sets_of(const isl::union_set& u);
std::vector<isl::map> maps_of(const isl::union_map& u);

// --- operations missing from isl/cpp.h ------------------------------------------------------
unsigned n_dim(const isl::set& s);
unsigned n_in(const isl::map& m);
unsigned n_out(const isl::map& m);
std::string tuple_name(const isl::set& s);
std::string tuple_name_in(const isl::map& m);
std::string tuple_name_out(const isl::map& m);
isl::set set_tuple_name(const isl::set& s, const std::string& name);
std::vector<std::string> dim_names(const isl::set& s);  // unnamed dims become "i<k>"
std::vector<std::string> param_names(const isl::set& s);
isl::set set_dim_names(const isl::set& s, const std::vector<std::string>& names);
isl::set project_out(const isl::set& s, unsigned first, unsigned n);       // keeps the tuple name
isl::set keep_dims(const isl::set& s, const std::vector<unsigned>& dims);  // in this order
isl::map project_out_in(const isl::map& m, unsigned first, unsigned n);
isl::map project_out_out(const isl::map& m, unsigned first, unsigned n);
isl::set fix_dim(const isl::set& s, unsigned dim, int64_t value);
isl::set fix_params(const isl::set& s, const Sizes& sizes);         // intersects with p = value
isl::set substitute_params(const isl::set& s, const Sizes& sizes);  // and projects them out
isl::map substitute_params(const isl::map& m, const Sizes& sizes);
isl::aff substitute_params(const isl::aff& a, const Sizes& sizes);  // exact, keeps divisions
isl::pw_aff substitute_params(const isl::pw_aff& a,
                              const Sizes& sizes);  // over parameters only (extents)
isl::set insert_dims(const isl::set& s, unsigned pos, unsigned n);
// The parameters in this order (those named here that are missing are added). isl's pullback of
// affine functions needs operands whose parameters agree in order.
isl::set align_params(const isl::set& s, const std::vector<std::string>& order);
isl::map align_params(const isl::map& m, const std::vector<std::string>& order);
isl::aff align_params(const isl::aff& a, const std::vector<std::string>& order);
isl::pw_aff align_params(const isl::pw_aff& a, const std::vector<std::string>& order);
isl::schedule align_params(const isl::schedule& s, const std::vector<std::string>& order);
bool is_bounded(const isl::set& s);
isl::set simplify(const isl::set& s);  // same set, coalesced, without redundant constraints
isl::map simplify(const isl::map& m);
// { x -> y : a(x) lexicographically before b(y) }; a and b map into one anonymous tuple.
isl::map lex_before(const isl::map& a, const isl::map& b);
isl::map same_time(const isl::map& a, const isl::map& b);  // { x -> y : a(x) = b(y) }
// Smallest/largest value of dim over s, if s is bounded there and has no free parameter.
std::optional<int64_t> dim_min(const isl::set& s, unsigned dim);
std::optional<int64_t> dim_max(const isl::set& s, unsigned dim);
int64_t to_int(const isl::val& v);  // throws std::range_error if v is not an int64
// One integer point of s (dims in order) and of its parameters, or nothing if s is empty.
struct Point {
  std::vector<int64_t> dims;
  Sizes params;
};
std::optional<Point> sample_point(const isl::set& s);
std::optional<Point> lexmin_point(const isl::set& s);  // for readable witnesses

// Integer constraints of one basic set: sum coef*x + constant >= 0 (or == 0).
// Column order: dims, then params, then existential divs. Divs are given as floor(num/den).
struct LinearConstraint {
  bool equality;
  std::vector<int64_t> dims, params, divs;
  int64_t constant;
};
struct LinearDiv {
  std::vector<int64_t> dims, params, divs;
  int64_t constant, denominator;
  bool known;  // false: existential without explicit form
};
struct LinearSet {
  std::vector<LinearConstraint> constraints;
  std::vector<LinearDiv> divs;
};
std::vector<LinearSet> linear_form(const isl::set& s);  // disjoint pieces

// An affine expression over named dims/params with integer divisions, in a form to walk.
struct LinearAff {
  std::vector<int64_t> dims, params, divs;  // numerators over `denominator`
  int64_t constant = 0, denominator = 1;
  std::vector<LinearDiv> div_defs;
};
LinearAff linear_form(const isl::aff& a);

// --- schedules -------------------------------------------------------------------------------
// The same tree with its domain and every filter mapped by `sets` and every band by `bands`;
// filters that become empty are dropped with what is below them. Throws isl::exception for node
// kinds other than domain, band, sequence, set, filter, mark, context, leaf.
isl::schedule map_schedule(
    const isl::schedule& s, const std::function<isl::union_set(const isl::union_set&)>& sets,
    const std::function<isl::multi_union_pw_aff(const isl::multi_union_pw_aff&)>& bands);
// One after the other, as direct children of one sequence node (none if there is one part).
isl::schedule in_sequence(const std::vector<isl::schedule>& parts);
std::string mark_name(const isl::schedule_node& mark);  // the text of a mark node
isl::schedule intersect_domain(const isl::schedule& s, const isl::union_set& domain);
isl::schedule substitute_params(const isl::schedule& s, const Sizes& sizes);

template <class Fn>
auto with_quota(isl::ctx ctx, unsigned long max_operations, Fn&& fn) -> Expected<decltype(fn())> {
  QuotaGuard guard(ctx, max_operations);
  (void)Doing::noted();
  try {
    return fn();
  } catch (const isl::exception& e) {
    return guard.refusal(e.what());
  } catch (const std::range_error& e) {
    return guard.refusal(e.what());
  }
}

inline isl::set unnamed(const isl::set& s) { return set_tuple_name(s, ""); }
// { S[..] -> [affs..] } on the domain's space.
isl::multi_aff tuple_of(const isl::set& domain, const std::vector<isl::aff>& affs);

}  // namespace nautilus::poly
