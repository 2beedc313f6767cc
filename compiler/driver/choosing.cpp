#include "compiler/driver/choosing.h"

#include "autosched/file.h"
#include "polyhedral/json_text.h"

namespace nautilus::driver {

using nlohmann::json;

namespace {

// A plan's own numerics hold; others are used where they were asked for, and that is said.
Expected<Choice> from_file(const Loaded& in, const std::string& path, const SearchFlags& asked) {
  const auto text = sched::read_file(path);
  if (!text)
    return Refusal{"read plan " + path, "", text.error().why,
                   "nautilusc explore SPEC --plan FILE writes one"};
  const json j = poly::read_json(*text);
  auto plan = sched::plan_from_json(std::make_shared<const poly::Program>(in.program), j);
  if (!plan) {
    Refusal r = plan.error();
    r.where = path;
    if (j.is_discarded()) r.why = "it is not JSON, or nests too deeply";
    if (r.suggest.empty()) r.suggest = "nautilusc explore SPEC --plan FILE writes one";
    return r;
  }
  Choice out{*plan, {{"plan", path}}};
  if (asked.numerics_given && asked.numerics != plan->numerics) {
    out.note = "the plan was made for numerics " + plan->numerics + "; " + asked.numerics +
               " are used, as asked";
    out.plan.numerics = asked.numerics;
  }
  return out;
}

}  // namespace

void add_choice_flags(CLI::App& app, ChoiceFlags& f) {
  app.add_option("--schedule", f.schedule, "which schedule")
      ->check(CLI::IsMember({"best", "original"}))
      ->capture_default_str();
  app.add_option("--plan", f.plan, "take this plan (from explore --plan or compile)");
}

size_t most_choices(size_t asked, bool open) { return asked ? asked : open ? 40 : 5; }

std::optional<std::vector<Choice>> choose(const Loaded& in, const SearchFlags& search,
                                          const ChoiceFlags& f, size_t most, bool json_out,
                                          int& status) {
  if (!f.plan.empty()) {
    auto choice = from_file(in, f.plan, search);
    if (choice) return std::vector<Choice>{*choice};
    status = fail(json_out, choice.error(), kBadInput);
    return std::nullopt;
  }
  if (f.schedule == "original") {
    Choice c;
    c.plan.schedule = poly::initial_schedule(std::make_shared<const poly::Program>(in.program));
    c.plan.numerics = search.numerics;
    c.about["plan"] = "original order";
    return std::vector<Choice>{c};
  }
  SearchFlags flags = search;
  flags.top = std::max<int>(flags.top, static_cast<int>(std::min<size_t>(most, 10'000)));
  auto found = run_search(in, flags, json_out, status);
  if (!found) return std::nullopt;
  const sched::SearchResult& r = found->result;
  std::vector<Choice> out;
  for (const int node : r.best) {
    if (out.size() >= most) break;
    auto plan = plan_of(*found, node);
    if (!plan) {
      status = fail(json_out, plan.error(), kBadInput);
      return std::nullopt;
    }
    const std::string place = out.empty() ? "best" : "number " + std::to_string(out.size() + 1);
    Choice c{*plan,
             {{"plan", place + " of " + std::to_string(r.plans_costed) + " plans"},
              {"predicted_seconds", r.nodes[node].seconds},
              {"limiter", r.nodes[node].limiter},
              {"knobs", r.nodes[node].knobs}}};
    if (!r.note.empty()) c.about["note"] = r.note;
    out.push_back(std::move(c));
  }
  if (!out.empty()) return out;
  status = fail(json_out,
                Refusal{"search for a plan", in.program.name,
                        "no complete plan within the budget (" +
                            std::string(sched::stop_reason_name(r.stop_reason)) + ")",
                        "more --seconds"},
                kBudget);
  return std::nullopt;
}

}  // namespace nautilus::driver
