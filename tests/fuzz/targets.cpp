#include "tests/fuzz/targets.h"

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "autosched/search.h"
#include "compiler/memory/ir.h"
#include "compiler/spec/reader.h"
#include "compiler/tile/ir.h"
#include "compiler/tile/rewrite.h"
#include "gui/models/lesson.h"
#include "polyhedral/json_text.h"
#include "polyhedral/transforms/registry.h"

namespace nautilus::fuzz {

namespace {

std::string text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// A broken promise (not a refusal): ends the process so that every runner notices.
void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "fuzz: broken promise: %s\n", what);
  std::abort();
}

constexpr unsigned long kQuota = 200'000;

const char* const kProgram = R"(
#include <nautilus/spec.h>
using namespace nautilus::spec;
NAUTILUS_KERNEL(rows) {
  Size N, M;
  Input X(f32, {N, M});
  Output Y(f32, {N, M});
  Index i(N), j(M);
  Y(i, j) = softmax(j, X(i, j));
}
)";

}  // namespace

bool fuzz_naut(const uint8_t* data, size_t size) {
  auto ctx = poly::make_context();
  auto p = poly::parse_naut(ctx, text_of(data, size), "fuzz");
  if (!p) return false;
  const std::string printed = poly::print_naut(*p);
  auto again = poly::parse_naut(ctx, printed, "again");
  require(static_cast<bool>(again), "a printed program parses");
  require(poly::equal(*p, *again), "print and parse are inverse");
  (void)poly::with_quota(ctx->get(), kQuota, [&] { return poly::validate(*p).has_value(); });
  (void)poly::dependences(*p, kQuota);
  return true;
}

bool fuzz_session(const uint8_t* data, size_t size) {
  const nlohmann::json j = nlohmann::json::parse(data, data + size, nullptr, false);
  auto s = sched::session_from_json(j);
  if (!s) return false;
  require(static_cast<bool>(sched::session_from_json(sched::session_to_json(*s))),
          "a written session reads back");
  return true;
}

bool fuzz_spec(const uint8_t* data, size_t size) {
  const spec::SpecResult r =
      spec::read_spec_text(poly::make_context(), text_of(data, size), "fuzz.spec.cpp");
  require(r.ok || !r.diagnostics.empty(), "a spec that is refused says why");
  return r.ok;
}

bool fuzz_tile(const uint8_t* data, size_t size) {
  auto m = tile::parse(text_of(data, size), "fuzz");
  if (!m || tile::verify(*m)) return false;
  auto again = tile::parse(tile::print(*m), "again");
  require(static_cast<bool>(again), "a printed module parses");
  require(tile::print(*again) == tile::print(*m), "print and parse are inverse");
  tile::RewriteOptions options;
  options.max_nodes = 500;
  require(!tile::verify(tile::rewrite(*m, options)), "a rewritten module verifies");
  return true;
}

bool fuzz_memory(const uint8_t* data, size_t size) {
  auto m = memory::parse(text_of(data, size), "fuzz");
  if (!m) return false;
  auto again = memory::parse(memory::print(*m), "again");
  require(static_cast<bool>(again), "a printed module parses");
  require(memory::print(*again) == memory::print(*m), "print and parse are inverse");
  return !memory::verify(*m);
}

bool fuzz_script(const uint8_t* data, size_t size) {
  static const auto program = [] {
    auto r = spec::read_spec_text(poly::make_context(), kProgram, "rows.spec.cpp");
    require(r.ok, "the fixed program reads");
    return std::make_shared<const poly::Program>(r.kernels.at(0));
  }();
  const nlohmann::json j = nlohmann::json::parse(data, data + size, nullptr, false);
  if (!j.is_array() || j.size() > 12) return false;
  std::vector<poly::TransformStep> script;
  for (const auto& step : j) {
    if (!step.is_object() || !step.contains("transform") || !step["transform"].is_string())
      return false;
    script.push_back({step["transform"].get<std::string>(),
                      step.value("params", nlohmann::json::object()).dump()});
  }
  const poly::Replay r = poly::replay(program, script);
  if (r.schedule)
    require(poly::verify(*r.schedule).verdict.kind != poly::VerdictKind::Illegal,
            "accepted scripts verify");
  return true;
}

bool fuzz_lesson(const uint8_t* data, size_t size) {
  static const std::vector<gui::GlossaryEntry> glossary{{"tile", "a box"}, {"reuse", "again"}};
  const std::string all = text_of(data, size);
  const size_t cut = all.find("\n%%\n");
  const std::string markdown = cut == std::string::npos ? "" : all.substr(cut + 4);
  const auto l = gui::lesson_from("fuzz", poly::read_json(all.substr(0, cut)), markdown, glossary);
  if (!l) return require(!l.error().why.empty(), "a lesson that is refused says why"), false;
  require(!l->steps.empty(), "a lesson has steps");
  for (size_t k = 0; k < l->steps.size(); ++k) {
    const gui::LessonStep& s = l->steps[k];
    require(!s.text.empty(), "a step has a text");
    require(l->step(s.id) == static_cast<int>(k), "a step is found by its id");
    if (s.transform)
      require(l->step(s.transform->from) < static_cast<int>(k),
              "schedules come from earlier steps");
    for (const gui::LessonNumber& n : gui::quoted(s)) {
      const auto again = gui::number_from_words(gui::to_string(n));
      require(again && gui::to_string(*again) == gui::to_string(n), "a number's name reads back");
    }
  }
  return true;
}

std::vector<Target> targets() {
  return {{"naut", fuzz_naut},    {"session", fuzz_session}, {"spec", fuzz_spec},
          {"tile", fuzz_tile},    {"memory", fuzz_memory},   {"script", fuzz_script},
          {"lesson", fuzz_lesson}};
}

}  // namespace nautilus::fuzz
