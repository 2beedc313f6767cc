#include "compiler/driver/searching.h"

#include <algorithm>

#include "compiler/profile/profile.h"

namespace nautilus::driver {

void add_search_flags(CLI::App& app, SearchFlags& f) {
  app.add_option("--machine", f.machine,
                 "machine description: h200, a100, ..., or cpu (this host, probed)")
      ->capture_default_str();
  app.add_option("--strategy", f.strategy, "how the tree is explored")
      ->check(CLI::IsMember({"best-first", "beam", "random", "exhaustive"}))
      ->capture_default_str();
  app.add_option("--numerics", f.numerics, "which rewrites may be used")
      ->check(CLI::IsMember({"strict", "reassociate", "fast"}))
      ->each([given = &f.numerics_given](const std::string&) { *given = true; })
      ->capture_default_str();
  app.add_option("--seconds", f.seconds, "time budget (0: none)")
      ->check(amount(0, 1e9))
      ->capture_default_str();
  app.add_option("--max-plans", f.max_plans, "plans costed at most")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--max-nodes", f.max_nodes, "nodes recorded at most")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--top", f.top, "best plans kept")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--beam", f.beam, "width of the beam strategy")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seed", f.seed,
                 "a search with the same seed and budgets in plans repeats itself")
      ->check(natural())
      ->capture_default_str();
}

// Issue cycles a lane relative to one FMA, from the machine's rates (two operations an FMA).
tile::OpCosts op_costs(const sched::Machine& m) {
  tile::OpCosts c;
  const double fma_rate = m.fma.value / 2;
  if (fma_rate > 0 && m.special.value > 0) c.special = std::max(1.0, fma_rate / m.special.value);
  const auto f16 = m.matrix.find("f16");
  if (f16 != m.matrix.end() && f16->second.value > 0 && m.fma.value > 0)
    c.matrix = std::min(1.0, m.fma.value / f16->second.value);
  else
    c.split_dot = 1;  // without a matrix unit there is nothing to split
  c.divide = m.slots("divide");
  c.convert = m.slots("convert");
  c.compare = m.slots("compare");
  return c;
}

std::optional<Searched> run_search(const Loaded& in, const SearchFlags& f, bool json, int& status) {
  auto machine = sched::find_machine(f.machine);
  if (!machine) {
    status = fail(json, machine.error(), kBadInput);
    return std::nullopt;
  }
  Searched out;
  out.program = std::make_shared<const poly::Program>(in.program);
  out.options.sizes = in.sizes;
  out.options.machine = *machine;
  out.options.seed = f.seed;
  out.options.strategy = f.strategy == "beam"         ? sched::Strategy::Beam
                         : f.strategy == "random"     ? sched::Strategy::Random
                         : f.strategy == "exhaustive" ? sched::Strategy::Exhaustive
                                                      : sched::Strategy::BestFirst;
  out.options.beam = f.beam;
  out.options.seconds = f.seconds;
  out.options.max_plans = f.max_plans;
  out.options.max_nodes = f.max_nodes;
  out.options.top = f.top;
  out.options.numerics = f.numerics;
  out.options.open_dims = f.open_dims;
  out.options.stop = &interrupted();
  auto ops = profile::tile_ops_provider(*tile::numerics_from_name(f.numerics), op_costs(*machine));
  Progress progress(true);
  double best = 0;
  auto sink = [&](const sched::SearchEvent& e) {
    if (e.kind == sched::SearchEvent::Kind::Best && e.node) best = e.node->seconds;
    progress.update("searching: " + std::to_string(e.plans_costed) + " plans costed, " +
                    std::to_string(e.structures_verified) + " structures verified, " +
                    human_time(e.elapsed) + (best > 0 ? ", best " + human_time(best) : "") +
                    "  (Ctrl-C ends it in order)");
  };
  interruptible() = true;
  auto result = sched::search(out.program, out.options, *ops, sink);
  interruptible() = false;
  progress.clear();
  if (!result) {
    status = fail(json, result.error(), kBudget);
    return std::nullopt;
  }
  out.result = *std::move(result);
  return out;
}

Expected<sched::Plan> plan_of(const Searched& s, int node) {
  auto plan = sched::plan_of(s.program, s.result, node);
  if (plan) plan->numerics = s.options.numerics;
  return plan;
}

std::vector<std::string> decisions_of(const sched::SearchResult& r, int node) {
  std::vector<const sched::SearchNode*> path;
  for (int id = node; id >= 0 && id < static_cast<int>(r.nodes.size()); id = r.nodes[id].parent)
    path.push_back(&r.nodes[id]);
  std::reverse(path.begin(), path.end());
  std::vector<std::string> out;
  for (const sched::SearchNode* n : path) out.insert(out.end(), n->steps.size(), n->decision);
  return out;
}

std::string knobs_text(const sched::Knobs& knobs) {
  std::string t;
  for (const auto& [name, value] : knobs)
    t += (t.empty() ? "" : " ") + name + "=" + std::to_string(value);
  return t;
}

std::string structure_text(const sched::SearchResult& r, int node) {
  std::vector<std::string> names = decisions_of(r, node);
  std::string t, last;
  for (const std::string& n : names) {
    if (n.empty() || n == last) continue;
    t += (t.empty() ? "" : "; ") + n;
    last = n;
  }
  return t;
}

sched::Session session_of(const Loaded& in, const Searched& s) {
  return {in.path,
          in.text,
          sched::text_hash(in.text),
          poly::print_naut(in.program),
          in.program.name,
          s.options,
          s.result,
          {},
          {},
          {},
          {}};
}

}  // namespace nautilus::driver
