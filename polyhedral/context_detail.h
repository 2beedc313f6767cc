// Helpers shared by context*.cpp only: raw isl results into RAII objects, with isl's error as
// exception.
#pragma once

#include <isl/cpp.h>
#include <isl/id.h>
#include <isl/mat.h>
#include <isl/point.h>
#include <isl/set.h>

#include "polyhedral/context.h"

namespace nautilus::poly::detail {

// Takes a raw result; a null pointer becomes the exception of the context's last error.
template <class Raw>
auto take(isl::ctx ctx, Raw* raw) {
  if (!raw) isl::exception::throw_last_error(ctx);
  return isl::manage(raw);
}

inline void check(isl::ctx ctx, bool ok) {
  if (!ok) isl::exception::throw_last_error(ctx);
}

// Dim names of one tuple; unnamed dims are empty strings.
std::vector<std::string> raw_dim_names(const isl::set& s);

}  // namespace nautilus::poly::detail
