// The program's side of split_k: reductions over an axis in parts, and their combination.
#pragma once

#include "polyhedral/repair.h"

namespace nautilus::poly {

struct SplitRequest {
  ProgramPtr program;
  std::vector<std::string> statements;  // where to look for reductions (program order)
  std::string axis;                     // dim name
  int64_t parts = 2;
  int64_t multiple = 1;  // a part's extent is a multiple of this
  RepairPolicy policy = RepairPolicy::Reassociate;
};
// For a reduction T over the axis:  S_<T>_part[p, x..] folds part p into T_part[p, w..];
// S_<T>_part_out copies it to T_part_out (what another kernel reads);  S_<T>[w.., p] folds
// h(T_part_out[p, w..], r_part_out[p, ..], r[..]) into T. Pointwise statements between two such
// reductions get a copy S_<P>_part that reads partial values; what nobody reads any more is
// dropped.
struct SplitResult {
  Program program;
  std::vector<Repair> repairs;   // the corrections used, with their obligations (no band)
  int64_t parts = 0, chunk = 0;  // part p covers chunk*p <= axis < chunk*(p+1)
};
Expected<SplitResult> split_reductions(const SplitRequest& r);

}  // namespace nautilus::poly
