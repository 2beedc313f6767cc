// The search's best plans, measured on this host's GPU by children of this program.
#pragma once

#include "compiler/driver/host_gpu.h"
#include "compiler/driver/searching.h"

namespace nautilus::driver {

struct TuneFlags {
  std::string target, output, session;  // output, session: "" for none
  int candidates = 32, jobs = 0, repeats = 20, finalists = 4, rounds = 3;
  double limit = 60;  // seconds of a candidate on the device
  bool flush = false;
};

// Compiles, checks, runs and compares the best complete plans whose kernels differ, the fastest of
// them again; writes and prints what comes of it, and answers the exit status. `search`: its
// numerics. `scratch`: a folder for plans, locks and what children leave.
int tune_plans(const Input& in, const Loaded& loaded, const Searched& found,
               const SearchFlags& search, const TuneFlags& flags, const HostGpu& gpu,
               const std::string& scratch);

}  // namespace nautilus::driver
