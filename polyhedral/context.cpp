#include "polyhedral/context.h"

#include <isl/ctx.h>
#include <isl/options.h>

#include <algorithm>
#include <cstdlib>

#include "polyhedral/context_detail.h"

namespace nautilus::poly {

// A context that reports errors as exceptions only: nothing is printed, nothing aborts.
Context::Context() : ctx_(isl_ctx_alloc()) {
  if (!ctx_.get()) throw std::bad_alloc();
  isl_options_set_on_error(ctx_.get(), ISL_ON_ERROR_CONTINUE);
}

// Frees the context; if objects of it are still alive isl keeps it (a leak, never a dangling
// pointer).
Context::~Context() {
  known_.clear();
  isl_ctx_set_max_operations(ctx_.get(), 0);
  isl_ctx_free(ctx_.get());
}

QuotaGuard::QuotaGuard(isl::ctx ctx, unsigned long max_operations)
    : ctx_(ctx), previous_(isl_ctx_get_max_operations(ctx.get())) {
  const unsigned long limit =
      previous_ == 0 ? max_operations
                     : std::min(previous_, max_operations == 0 ? previous_ : max_operations);
  isl_ctx_reset_error(ctx_.get());
  isl_ctx_reset_operations(ctx_.get());
  isl_ctx_set_max_operations(ctx_.get(), limit);
}

QuotaGuard::~QuotaGuard() {
  isl_ctx_reset_error(ctx_.get());
  isl_ctx_reset_operations(ctx_.get());
  isl_ctx_set_max_operations(ctx_.get(), previous_);
}

// isl counts every allocation as an operation: one that fails tells that the quota is used up.
bool QuotaGuard::exhausted() const {
  isl::ctx ctx = ctx_;
  if (isl_ctx_get_max_operations(ctx.get()) == 0) return false;
  void* probe = isl_malloc_or_die(ctx.get(), 1);
  if (probe) {
    std::free(probe);
    return false;
  }
  const bool quota = isl_ctx_last_error(ctx.get()) == isl_error_quota;
  isl_ctx_reset_error(ctx.get());
  return quota;
}

namespace {

template <class T, class Key>
std::vector<T> sorted(std::vector<T> items, Key key) {
  std::vector<std::pair<std::string, T>> keyed;
  for (auto& item : items) keyed.emplace_back(key(item), item);
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<T> out;
  for (auto& [k, item] : keyed) out.push_back(item);
  return out;
}

}  // namespace

std::vector<isl::set> sets_of(const isl::union_set& u) {
  std::vector<isl::set> all;
  u.foreach_set([&](isl::set s) { all.push_back(s); });
  return sorted(all, [](const isl::set& s) {
    return tuple_name(s) + "/" + std::to_string(1000 + n_dim(s)) +
           (tuple_name(s).empty() ? isl_text(s) : "");
  });
}

std::vector<isl::map> maps_of(const isl::union_map& u) {
  std::vector<isl::map> all;
  u.foreach_map([&](isl::map m) { all.push_back(m); });
  return sorted(all, [](const isl::map& m) {
    const std::string in = tuple_name_in(m), out = tuple_name_out(m);
    return in + ">" + out + "/" + std::to_string(1000 + n_in(m)) + "/" +
           std::to_string(1000 + n_out(m)) + (in.empty() || out.empty() ? isl_text(m) : "");
  });
}

}  // namespace nautilus::poly
