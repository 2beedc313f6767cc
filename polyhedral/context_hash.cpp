#include "polyhedral/context_hash.h"

#include <isl/aff.h>
#include <isl/set.h>
#include <isl/val.h>

namespace nautilus::poly {

uint64_t hash_bytes(uint64_t seed, std::string_view bytes) {
  for (unsigned char c : bytes) seed = (seed ^ c) * 0x100000001b3ull;
  return seed;
}

uint64_t hash_combine(uint64_t a, uint64_t b) {
  a ^= b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2);
  a *= 0xff51afd7ed558ccdull;
  return a ^ (a >> 33);
}

namespace {

uint64_t hash_val(const isl::val& v, bool ignore_denominator) {
  const uint64_t num = static_cast<uint64_t>(v.num_si());
  return ignore_denominator ? hash_combine(num, 1)
                            : hash_combine(num, static_cast<uint64_t>(v.den_si()));
}

// Terms with a non-zero coefficient, added up so that the order of parameters and divisions is
// irrelevant.
uint64_t hash_terms(const isl::aff& a, bool ignore_denominators) {
  isl_aff* raw = a.get();
  uint64_t h = 0;
  auto add = [&](isl_dim_type type, int k, auto&& key) {
    const isl::val v = isl::manage(isl_aff_get_coefficient_val(raw, type, k));
    if (!v.is_zero()) h += hash_combine(key(), hash_val(v, ignore_denominators));
  };
  const int dims = isl_aff_dim(raw, isl_dim_in), params = isl_aff_dim(raw, isl_dim_param),
            divs = isl_aff_dim(raw, isl_dim_div);
  for (int k = 0; k < dims; ++k)
    add(isl_dim_in, k, [&] { return 1000 + static_cast<uint64_t>(k); });
  for (int k = 0; k < params; ++k)
    add(isl_dim_param, k, [&] {
      const char* name = isl_aff_get_dim_name(raw, isl_dim_param, k);
      return hash_bytes(kHashSeed, name ? name : "");
    });
  for (int k = 0; k < divs; ++k)
    add(isl_dim_div, k, [&] {
      return hash_combine(77,
                          hash_terms(isl::manage(isl_aff_get_div(raw, k)), ignore_denominators));
    });
  return hash_combine(h, hash_val(isl::manage(isl_aff_get_constant_val(raw)), ignore_denominators));
}

}  // namespace

uint64_t hash(const isl::aff& a, bool ignore_denominators) {
  const isl::space space = a.space();
  uint64_t seed = kHashSeed;
  if (space.has_domain_tuple_id()) seed = hash_bytes(seed, space.domain_tuple_id().name());
  return hash_combine(seed, hash_terms(a, ignore_denominators));
}

uint64_t hash(const isl::set& s) { return isl_set_get_hash(s.get()); }

bool plain_equal(const isl::set& a, const isl::set& b) {
  return a.get() == b.get() || isl_set_plain_is_equal(a.get(), b.get()) == isl_bool_true;
}
bool plain_equal(const isl::aff& a, const isl::aff& b) {
  return a.get() == b.get() || isl_aff_plain_is_equal(a.get(), b.get()) == isl_bool_true;
}

}  // namespace nautilus::poly
