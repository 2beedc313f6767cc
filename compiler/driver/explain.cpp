#include <iostream>

#include "compiler/driver/searching.h"
#include "compiler/driver/story.h"
#include "compiler/lower/lower.h"

namespace nautilus::driver {

using nlohmann::json;

namespace {

struct ExplainFlags {
  std::string print;  // "" | "tile" | "tree"
};

void print_step(const StoryStep& s, size_t number, const std::string& last_decision) {
  if (!s.decision.empty() && s.decision != last_decision) std::cout << "\n" << s.decision << "\n";
  std::cout << "  " << number << ". " << describe(s.step) << ": "
            << poly::verdict_name(s.verdict.kind) << "\n";
  if (s.plain) {
    const bool witnessed =
        s.plain->witness && s.plain->why.find(s.plain->witness->text) != std::string::npos;
    std::cout << "       plain fusion is " << poly::verdict_name(s.plain->kind)
              << (witnessed ? "; witness: " : ": ") << s.plain->why << "\n";
    if (s.plain->witness && !witnessed)
      std::cout << "       witness: " << s.plain->witness->text << "\n";
  }
  for (const std::string& r : s.verdict.relaxations) std::cout << "       " << r << "\n";
  for (const poly::Repair& r : s.verdict.repairs) std::cout << to_text(r, "       ");
  if (s.bytes_after != s.bytes_before)
    std::cout << "       memory traffic " << human_bytes(s.bytes_before) << " -> "
              << human_bytes(s.bytes_after)
              << (s.bytes_after < s.bytes_before
                      ? ": saves " + human_bytes(s.bytes_before - s.bytes_after)
                      : "")
              << "\n";
}

void print_cost(const sched::Cost& c, const sched::Machine& m) {
  std::cout << "  predicted " << human_time(c.seconds) << " on " << m.name
            << " (no plan can be under " << human_time(c.lower_bound) << "): " << c.limiter << "\n";
  for (const sched::RooflinePoint& p : c.points)
    std::cout << "  roofline " << p.level << ": " << human_count(p.intensity) << "FLOP/B, "
              << human_count(p.achieved) << "FLOP/s of " << human_count(p.roof) << "FLOP/s ("
              << (p.roof > 0 ? static_cast<int>(100 * p.achieved / p.roof + 0.5) : 0) << " %)\n";
}

std::string rewritten_tile(const poly::Schedule& s, const SearchFlags& f, const sched::Machine& m,
                           tile::RewriteReport& report, std::vector<std::string>& notes) {
  tile::RewriteOptions options;
  options.numerics = *tile::numerics_from_name(f.numerics);
  options.costs = op_costs(m);
  auto module = lower::lower(s, {true, options.numerics});
  if (!module) return module.error().text();
  notes = module->notes;
  return tile::print(tile::rewrite(*module, options, &report));
}

int explain(const Input& in, const SearchFlags& f, const ExplainFlags& flags) {
  int status = kGood;
  auto loaded = load(in, true, status);
  if (!loaded) return status;
  auto found = run_search(*loaded, f, in.json, status);
  if (!found) return status;
  const sched::SearchResult& r = found->result;
  if (r.best.empty())
    return fail(in.json,
                "no complete plan was found (stopped: " +
                    std::string(sched::stop_reason_name(r.stop_reason)) +
                    "); give the search more with --seconds",
                kBudget);
  auto plan = plan_of(*found, r.best[0]);
  if (!plan) return fail(in.json, plan.error(), kNo);
  auto story = tell(found->program, plan->script, decisions_of(r, r.best[0]), loaded->sizes);
  if (!story) return fail(in.json, story.error(), kNo);
  const sched::Machine& m = found->options.machine;
  auto ops = profile::tile_ops_provider(*tile::numerics_from_name(f.numerics), op_costs(m));
  sched::Cost cost;
  if (auto counted = ops->structure_ops(plan->schedule))
    if (auto prof = sched::profile(*plan, m, *counted)) cost = sched::cost(*prof, m);
  tile::RewriteReport report;
  std::vector<std::string> notes;
  const std::string tile_text = rewritten_tile(story->final, f, m, report, notes);
  if (in.json) {
    json out = {{"name", loaded->program.name},
                {"sizes", loaded->sizes},
                {"machine", m.id},
                {"plans_costed", r.plans_costed},
                {"structures_verified", r.structures_verified},
                {"bytes_unfused", story->bytes_unfused},
                {"bytes_final", story->bytes_final},
                {"bytes_saved", story->bytes_unfused - story->bytes_final},
                {"verified", story->verification.ok},
                {"checked", story->verification.checked},
                {"tree", poly::to_text(story->final)},
                {"tile", tile_text},
                {"rewrites", report.applied},
                {"notes", notes},
                {"predicted_seconds", cost.seconds},
                {"lower_bound", cost.lower_bound},
                {"limiter", cost.limiter}};
    for (const StoryStep& s : story->steps) out["steps"].push_back(to_json(s));
    for (const sched::RooflinePoint& p : cost.points) out["roofline"].push_back(to_json(p));
    print_json(out);
    return story->verification.ok ? kGood : kNo;
  }
  if (flags.print == "tile") return std::cout << tile_text, kGood;
  if (flags.print == "tree") return std::cout << poly::to_text(story->final), kGood;
  std::cout << loaded->program.name << " at";
  for (const auto& [name, value] : loaded->sizes) std::cout << " " << name << "=" << value;
  std::cout << " on " << m.name << "\n";
  for (const std::string& n : loaded->notes) std::cout << "  (" << n << ")\n";
  std::cout << "\nThe mathematics, as statements over integer sets\n";
  for (const poly::Statement& st : loaded->program.statements) {
    std::cout << "  " << st.write.tensor << " "
              << (st.reduction ? std::string(poly::reduce_op_name(st.reduction->op)) + "=" : "=")
              << " " << to_string(st.expr) << "    ";
    for (size_t k = 0; k < st.reads.size(); ++k)
      std::cout << (k ? ", $" : "where $") << k << " is " << st.reads[k].tensor;
    std::cout << "\n      over " << isl_text(st.domain.gist_params(loaded->program.param_context))
              << "\n";
  }
  std::cout << "  one after the other, each intermediate through memory: "
            << story->traffic_unfused.kernels << " kernels, " << human_bytes(story->bytes_unfused)
            << "\n\nThe search: " << r.plans_costed << " plans costed, " << r.structures_verified
            << " structures verified, " << human_time(r.seconds)
            << ", stopped: " << sched::stop_reason_name(r.stop_reason) << "\n"
            << (r.note.empty() ? "" : "  (" + r.note + ")\n");
  std::string last;
  for (size_t i = 0; i < story->steps.size(); ++i) {
    print_step(story->steps[i], i + 1, last);
    last = story->steps[i].decision;
  }
  std::cout << "\nThe schedule\n"
            << poly::to_text(story->final) << "\nAlgebra on the tile program\n";
  for (const std::string& a : report.applied) std::cout << "  " << a << "\n";
  std::cout << "  cost " << report.cost_before << " -> " << report.cost_after << " ("
            << report.stop_reason << ")\n";
  for (const std::string& n : notes) std::cout << "  note: " << n << "\n";
  std::cout << "\nWhat it is worth\n  memory traffic " << human_bytes(story->bytes_unfused)
            << " in " << story->traffic_unfused.kernels << " kernels -> "
            << human_bytes(story->bytes_final) << " in " << story->traffic_final.kernels
            << ": saves " << human_bytes(story->bytes_unfused - story->bytes_final) << "\n";
  print_cost(cost, m);
  std::cout << "\nVerified independently: "
            << (story->verification.ok ? "yes" : "NO: " + story->verification.verdict.why) << "\n";
  for (const std::string& c : story->verification.checked) std::cout << "  " << c << "\n";
  return story->verification.ok ? kGood : kNo;
}

}  // namespace

void add_explain(CLI::App& app, int& status) {
  auto in = std::make_shared<Input>();
  auto f = std::make_shared<SearchFlags>();
  auto flags = std::make_shared<ExplainFlags>();
  f->seconds = 30;  // a slow host finds the same as a fast one
  f->max_plans = 1000;
  CLI::App* verb = app.add_subcommand(
      "explain", "tell the discovery as a story: each step, why legal, what it saves");
  verb->footer("example: nautilusc explain attention_causal_gqa --size N=4096 M=4096");
  add_input(*verb, *in);
  add_search_flags(*verb, *f);
  verb->add_option("--print", flags->print, "print only this")
      ->check(CLI::IsMember({"tile", "tree"}));
  verb->callback([=, &status] { status = explain(*in, *f, *flags); });
}

}  // namespace nautilus::driver
