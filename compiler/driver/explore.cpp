#include <cstdio>
#include <iostream>

#include "autosched/file.h"
#include "compiler/driver/searching.h"

namespace nautilus::driver {

using nlohmann::json;

namespace {

json best_json(const Searched& s, int id) {
  const sched::SearchNode& n = s.result.nodes[id];
  json out = {
      {"node", id},           {"seconds", n.seconds}, {"lower_bound", n.lower_bound},
      {"limiter", n.limiter}, {"knobs", n.knobs},     {"structure", structure_text(s.result, id)}};
  for (const sched::RooflinePoint& p : n.points) out["roofline"].push_back(to_json(p));
  return out;
}

int explore(const Input& in, const SearchFlags& f, const std::string& output,
            const std::string& plan_output) {
  // Before the search, whose result would be lost.
  for (const std::string& path : {output, plan_output})
    if (!path.empty())
      if (auto bad = sched::check_file(path)) return fail(in.json, *bad, kBadInput);
  if (!output.empty() && output == plan_output)
    return fail(in.json,
                {"write to " + output, "", "the session and the plan are two files",
                 "another name for one of them"},
                kBadInput);
  int status = kGood;
  auto loaded = load(in, true, status);
  if (!loaded) return status;
  auto found = run_search(*loaded, f, in.json, status);
  if (!found) return status;
  const sched::SearchResult& r = found->result;
  if (!output.empty()) {
    const sched::Session session = session_of(*loaded, *found);
    if (auto bad = sched::save_session(session, output)) return fail(in.json, *bad, kEnvironment);
  }
  if (!plan_output.empty() && !r.best.empty()) {
    auto plan = plan_of(*found, r.best[0]);
    if (!plan) return fail(in.json, plan.error(), kNo);
    if (auto bad =
            sched::write_file_atomically(plan_output, sched::plan_to_json(*plan).dump(2) + "\n"))
      return fail(in.json, *bad, kEnvironment);
  }
  if (in.json) {
    json out = {{"name", loaded->program.name},
                {"sizes", loaded->sizes},
                {"machine", found->options.machine.id},
                {"plans_costed", r.plans_costed},
                {"structures_verified", r.structures_verified},
                {"nodes", r.nodes.size()},
                {"duplicates", r.duplicates},
                {"seconds", r.seconds},
                {"first_plan_seconds", r.first_plan_seconds},
                {"stop_reason", sched::stop_reason_name(r.stop_reason)},
                {"note", r.note},
                {"best", json::array()},
                {"session", output}};
    for (int id : r.best) out["best"].push_back(best_json(*found, id));
    out["pareto"] = r.pareto;
    std::map<std::string, int> states;
    for (const sched::SearchNode& n : r.nodes) ++states[std::string(sched::state_name(n.state))];
    out["states"] = states;
    print_json(out);
  } else {
    std::cout << loaded->program.name << " at";
    for (const auto& [name, value] : loaded->sizes) std::cout << " " << name << "=" << value;
    std::cout << " on " << found->options.machine.name << "\n";
    for (const std::string& n : loaded->notes) std::cout << "  (" << n << ")\n";
    std::cout << r.plans_costed << " plans costed, " << r.structures_verified
              << " structures verified exactly, " << r.nodes.size() << " nodes, "
              << human_time(r.seconds) << "; first complete plan after "
              << human_time(r.first_plan_seconds)
              << "; stopped: " << sched::stop_reason_name(r.stop_reason) << "\n"
              << (r.note.empty() ? "" : "(" + r.note + ")\n") << "\n";
    for (size_t k = 0; k < r.best.size(); ++k) {
      const sched::SearchNode& n = r.nodes[r.best[k]];
      std::cout << k + 1 << ". " << human_time(n.seconds) << "  " << n.limiter << "\n   "
                << structure_text(r, r.best[k]) << "\n   knobs: " << knobs_text(n.knobs)
                << "\n   roofline:";
      for (const sched::RooflinePoint& p : n.points)
        std::cout << "  " << p.level << " " << human_count(p.intensity) << "FLOP/B at "
                  << human_count(p.achieved) << "FLOP/s ("
                  << (p.roof > 0 ? static_cast<int>(100 * p.achieved / p.roof + 0.5) : 0)
                  << " % of roof)";
      std::cout << "\n";
    }
    if (!output.empty()) std::cout << "\nsession written to " << output << "\n";
  }
  if (r.best.empty()) {
    if (!in.json)
      std::cerr << "no complete plan within the budget (" << sched::stop_reason_name(r.stop_reason)
                << ")\n";
    return kBudget;
  }
  return kGood;
}

}  // namespace

void add_explore(CLI::App& app, int& status) {
  auto in = std::make_shared<Input>();
  auto f = std::make_shared<SearchFlags>();
  auto output = std::make_shared<std::string>();
  auto plan = std::make_shared<std::string>();
  CLI::App* verb =
      app.add_subcommand("explore", "search for the best plans; table of the best; session file");
  verb->footer(
      "example: nautilusc explore attention_causal_gqa --model qwen3-8b --seq 4096 --machine h200 "
      "-o s.nautilus.json");
  add_input(*verb, *in);
  add_search_flags(*verb, *f);
  verb->add_option("-o,--output", *output, "session file to write");
  verb->add_option("--plan", *plan, "write the best plan (for run --plan)");
  verb->callback([=, &status] { status = explore(*in, *f, *output, *plan); });
}

}  // namespace nautilus::driver
