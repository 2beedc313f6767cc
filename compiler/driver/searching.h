// Running a search from the command line: options, progress, and what comes out.
#pragma once

#include "compiler/driver/common.h"
#include "compiler/tile/rewrite.h"

namespace nautilus::driver {

struct SearchFlags {
  std::string machine = "h200", strategy = "best-first", numerics = "reassociate";
  double seconds = 10;
  int max_plans = 20'000, max_nodes = 100'000, top = 10, beam = 64;
  uint64_t seed = 1;
  std::set<std::string> open_dims;  // see sched::SearchOptions
  bool numerics_given = false;      // by the user; else `numerics` is the default
};
void add_search_flags(CLI::App& app, SearchFlags& f);

struct Searched {
  poly::ProgramPtr program;
  sched::SearchOptions options;
  sched::SearchResult result;
};
// Searches with progress on stderr and Ctrl-C as a budget. On failure prints why and sets `status`.
std::optional<Searched> run_search(const Loaded& in, const SearchFlags& f, bool json, int& status);

// The plan of a node, with the numerics that the search was for.
Expected<sched::Plan> plan_of(const Searched& s, int node);

// Names of the decisions along the path to `node`, one a script step.
std::vector<std::string> decisions_of(const sched::SearchResult& r, int node);
// The same in one line, each once: what shapes a plan, without its numeric knobs.
std::string structure_text(const sched::SearchResult& r, int node);
std::string knobs_text(const sched::Knobs& knobs);  // "tile.i=128 tile.j=64"
// The search as a session, for a file; nothing measured yet.
sched::Session session_of(const Loaded& in, const Searched& s);
tile::OpCosts op_costs(const sched::Machine& m);

}  // namespace nautilus::driver
