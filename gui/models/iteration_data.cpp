// From a program, sizes and a script to the points and arrows that are drawn.
#include "gui/models/iteration_data.h"

#include <algorithm>
#include <map>

#include "gui/models/iteration_points.h"
#include "gui/models/iteration_scale.h"
#include "gui/models/tree_data.h"
#include "polyhedral/legality.h"

namespace nautilus::gui {
namespace {

// A program without size parameters, and the script for it.
struct Scene {
  poly::ProgramPtr program;
  poly::Sizes sizes;
  std::vector<poly::TransformStep> steps;
  bool scaled = false;
  std::string words;
};

Refusal no_picture(const std::string& why, const std::string& suggest = "") {
  return Refusal{"draw the iterations", "", why, suggest};
}

Expected<Scene> small_stage(const poly::ProgramPtr& general, const poly::Sizes& real,
                            const IterationRequest& r, const std::vector<std::string>& wanted) {
  Scene out;
  const std::map<int64_t, int64_t> tiles = small_tiles(r.steps);
  int64_t largest = 4;
  for (const auto& [from, to] : tiles) largest = std::max(largest, to);
  std::optional<poly::Sizes> sizes = r.sizes;
  if (r.sizes.empty()) sizes = small_sizes(*general, real, wanted, 3 * largest);
  if (!sizes) return no_picture("no small sizes meet the program's facts");
  Expected<poly::Program> small = poly::instantiate(*general, *sizes);
  if (!small) return small.error();
  out.sizes = *sizes;
  out.program = std::make_shared<const poly::Program>(poly::restrict_to_demanded(*small));
  bool smaller = false;
  for (const auto& [name, value] : *sizes)
    if (const auto at = real.find(name); at != real.end() && at->second != value) smaller = true;
  out.steps = smaller ? with_tiles(r.steps, tiles) : r.steps;
  out.scaled = smaller;
  out.words = scale_text(real, *sizes, smaller ? tiles : std::map<int64_t, int64_t>());
  return out;
}

Expected<Scene> real_stage(const poly::ProgramPtr& program, const poly::Sizes& real,
                           const IterationRequest& r) {
  Expected<poly::Program> p = poly::instantiate(*program, real);
  if (!p) return p.error();
  Scene out;
  out.program = std::make_shared<const poly::Program>(*p);
  out.sizes = real;
  out.steps = r.steps;
  return out;
}

// The schedule of a script by its edits alone; a last step that cannot even be made is left out and
// said.
Expected<poly::Schedule> ordered(const Scene& stage, std::vector<std::string>& notes) {
  poly::Schedule s = poly::initial_schedule(stage.program);
  for (size_t k = 0; k < stage.steps.size(); ++k) {
    Expected<poly::Schedule> next = edit_only(s, stage.steps[k]);
    if (!next && k + 1 < stage.steps.size()) return next.error();
    if (!next)
      notes.push_back("the last step is left out: " + next.error().why);
    else
      s = *std::move(next);
  }
  return s;
}

std::vector<std::string> chosen(const poly::Program& p, const std::vector<std::string>& wanted) {
  std::vector<std::string> out;
  for (const std::string& name : wanted)
    if (p.statement(name) && std::find(out.begin(), out.end(), name) == out.end())
      out.push_back(name);
  if (out.empty() && !p.statements.empty()) out.push_back(p.statements.front().name);
  return out;
}

// Everything after the sizes are settled. Throws isl::exception.
Expected<IterationPicture> picture_of(const Scene& stage, const IterationRequest& r,
                                      const std::atomic<bool>* stop) {
  IterationPicture out;
  out.sizes = stage.sizes;
  out.scaled = stage.scaled;
  if (!stage.words.empty()) out.notes.push_back("scaled down: " + stage.words);
  Expected<poly::Schedule> s = ordered(stage, out.notes);
  if (!s) return s.error();
  for (const poly::Statement& st : s->program->statements) out.available.push_back(st.name);
  PointMaker maker(*s, r, stop, out);
  for (const std::string& name : chosen(*s->program, r.statements))
    if (auto bad = maker.add_statement(name)) return *bad;
  maker.sort_points();
  if (auto bad = maker.add_arrows()) return *bad;
  return out;
}

// Two statements that the order breaks, or else that a correction pays for; else the first that
// carries a reduction. Throws isl::exception.
std::vector<std::string> telling(const Scene& stage) {
  std::vector<std::string> notes;
  const Expected<poly::Schedule> s = ordered(stage, notes);
  if (!s) return {};
  if (const auto deps = dependences_of(*s->program)) {
    const auto bad = poly::violations(*s, **deps);
    const poly::Violation* worst = nullptr;
    if (bad)
      for (const poly::Violation& v : *bad)
        if (!worst || (worst->paid_by >= 0 && v.paid_by < 0)) worst = &v;
    if (worst) return {worst->dependence->source, worst->dependence->sink};
  }
  for (const poly::Statement& st : s->program->statements)
    if (st.reduction && st.n_dims() > 1) return {st.name};
  return {};
}

// All statements of a program, for sizes that suit whatever is seen of it.
std::vector<std::string> all_of(const poly::Program& p) {
  std::vector<std::string> out;
  for (const poly::Statement& s : p.statements) out.push_back(s.name);
  return out;
}

}  // namespace

Expected<IterationPicture> iteration_picture(const poly::ProgramPtr& program,
                                             const poly::ProgramPtr& general,
                                             const poly::Sizes& real,
                                             const IterationRequest& request,
                                             const std::atomic<bool>* stop) {
  if (request.statements.empty()) {
    auto found = poly::with_quota(program->context->get(), poly::kDefaultQuota, [&] {
      const Expected<Scene> stage = general ? small_stage(general, real, request, all_of(*program))
                                            : real_stage(program, real, request);
      return stage ? telling(*stage) : std::vector<std::string>();
    });
    IterationRequest named = request;
    named.statements = chosen(*program, found ? *found : std::vector<std::string>());
    if (named.statements.empty()) return no_picture("the program has no statements");
    return iteration_picture(program, general, real, named, stop);
  }
  const std::vector<std::string>& wanted = request.statements;
  std::string why_not = general ? "" : "the session has the program at these sizes only";
  auto attempt = [&](const Expected<Scene>& stage) -> Expected<IterationPicture> {
    if (!stage) return stage.error();
    return picture_of(*stage, request, stop);
  };
  auto guarded = [&](auto&& make) {
    auto both = poly::with_quota(program->context->get(), poly::kDefaultQuota,
                                 [&] { return attempt(make()); });
    return both ? *both : Expected<IterationPicture>(both.error());
  };
  if (general) {
    Expected<IterationPicture> small =
        guarded([&] { return small_stage(general, real, request, wanted); });
    if (small) return small;
    why_not = small.error().why;
    if (stop && stop->load()) return small.error();
  }
  Expected<IterationPicture> out = guarded([&] { return real_stage(program, real, request); });
  if (out) out->notes.insert(out->notes.begin(), "sizes are not scaled down: " + why_not);
  return out;
}

std::string fate_words(Fate f) {
  switch (f) {
    case Fate::Kept:
      return "kept";
    case Fate::Paid:
      return "out of order, paid by a correction";
    case Fate::Violated:
      break;
  }
  return "out of order";
}

}  // namespace nautilus::gui
