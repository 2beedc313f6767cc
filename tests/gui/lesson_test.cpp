// Reading lessons, and playing them without a program behind: what is refused and why, what a
// learner may do when.
#include <gtest/gtest.h>

#include "gui/models/lesson_run.h"

namespace nautilus::gui {
namespace {

using nlohmann::json;
using LessonPhase = LessonRun::Phase;

const std::vector<GlossaryEntry> kGlossary{{"tile", "a box"}};

json good() {
  return json::parse(R"({
    "nautilus_lesson": 1, "title": "T", "about": "A", "kernel": "softmax", "order": 3,
    "sizes": {"N": 64}, "machine": "h200", "plans": 10, "locked": ["sizes", "machine"],
    "steps": [
      {"id": "read", "view": "tree", "select": "best"},
      {"id": "ask", "ask": {"kind": "number", "text": "how many?", "answer": "traffic of best over start",
                            "tolerance": 0.1}},
      {"id": "try", "ask": {"kind": "verdict", "text": "legal?"},
       "do": {"transform": "tile", "params": {"node": "band S", "sizes": [8, 8]}, "free": ["sizes"], "expect": "legal"}},
      {"id": "pick", "ask": {"kind": "smallest", "text": "which?", "choices": [
          {"text": "a", "number": "seconds of try"}, {"text": "b", "number": {"number": "seconds", "of": "best", "knobs": {"stages": 1}}}]}}
    ]})");
}
const char* const kText =
    "# T\n## read: Read\nA [tile](glossary:tile) of {{traffic}}.\n## ask: Ask\nx\n## try: "
    "Try\ny\n## pick: Pick\n{{seconds of try}}\n";

Expected<Lesson> read(const json& j, const std::string& text = kText) {
  return lesson_from("t", j, text, kGlossary);
}

TEST(LessonFile, ReadsAllOfIt) {
  const auto l = read(good());
  ASSERT_TRUE(l) << l.error().text();
  EXPECT_EQ(l->steps.size(), 4u);
  EXPECT_EQ(l->steps[0].title, "Read");
  EXPECT_EQ(l->steps[1].question->answer.over, "start");
  EXPECT_EQ(l->steps[2].transform->from, "start");
  EXPECT_EQ(l->steps[2].question->choices.size(), 3u);
  EXPECT_EQ(l->steps[3].question->choices[1].number.knobs.at("stages"), 1);
  EXPECT_EQ(l->sizes.at("N"), 64);
  EXPECT_EQ(l->step("pick"), 3);
  EXPECT_EQ(l->step("no"), -1);
}

TEST(LessonFile, WhatIsWrongIsNamed) {
  const auto refused = [](const std::function<void(json&)>& damage, const std::string& part,
                          const std::string& text = kText) {
    json j = good();
    damage(j);
    const auto l = read(j, text);
    ASSERT_FALSE(l) << part;
    EXPECT_NE(l.error().text().find(part), std::string::npos) << l.error().text();
  };
  refused([](json& j) { j["nautilus_lesson"] = 2; }, "another version");
  refused([](json& j) { j = 3; }, "no object");
  refused([](json& j) { j.erase("title"); }, "'title' is missing");
  refused([](json& j) { j["titel"] = "x"; }, "no field 'titel'");
  refused([](json& j) { j["steps"] = json::array(); }, "no steps");
  refused([](json& j) { j["plans"] = -1; }, "out of range");
  refused([](json& j) { j["locked"] = {"weather"}; }, "'weather' cannot be locked");
  refused([](json& j) { j["sizes"]["N"] = "big"; }, "no whole number");
  refused([](json& j) { j["steps"][1]["id"] = "read"; }, "used twice");
  refused([](json& j) { j["steps"][1]["id"] = "best"; }, "reserved");
  refused([](json& j) { j["steps"][1]["ask"]["answer"] = 12; }, "say what is to be computed");
  refused([](json& j) { j["steps"][1]["ask"].erase("answer"); }, "'answer' is missing");
  refused([](json& j) { j["steps"][1]["ask"]["kind"] = "guess"; }, "kind of question 'guess'");
  refused([](json& j) { j["steps"][1]["ask"]["answer"] = "traffic of later"; },
          "'later' is no step");
  refused([](json& j) { j["steps"][1]["ask"]["answer"] = "traffic off best"; }, "is none");
  refused([](json& j) { j["plans"] = 0; }, "no search");
  refused([](json& j) { j["sizes"]["N"] = 0; }, "size 'N' is out of range");
  refused([](json& j) { j["sizes"]["N"] = 18446744073709551615ull; }, "'N' is out of range");
  refused([](json& j) { j["steps"][0]["view"] = "tre"; }, "no view 'tre'");
  refused([](json& j) { j["steps"][0]["view"] = 3; }, "'view' is no text");
  refused([](json& j) { j["steps"][2]["do"]["from"] = "try"; }, "'try' is no step before");
  refused([](json& j) { j["steps"][2]["do"]["from"] = "pick"; }, "'pick' is no step before");
  refused([](json& j) { j["steps"][0]["select"] = "try"; }, "'try' is no step before");
  refused([](json& j) { j["steps"][1]["ask"]["text"] = "{{seconds of try}}?"; }, "before there is");
  refused([](json& j) { j["steps"][3]["ask"]["choices"][0]["text"] = "{{a b}}"; }, "is none");
  refused([](json& j) { j["steps"][2]["do"]["transform"] = "tiel"; }, "no transform 'tiel'");
  refused([](json& j) { j["steps"][2]["do"]["params"]["size"] = 3; }, "no parameter 'size'");
  refused([](json& j) { j["steps"][2]["do"]["expect"] = "fine"; }, "no verdict 'fine'");
  refused([](json& j) { j["steps"][2].erase("do"); }, "needs a transform");
  refused([](json& j) { j["steps"][3]["ask"]["choices"].erase(1); }, "two or more");
  refused([](json&) {}, "belongs to no step", std::string(kText) + "## other: Other\nz\n");
  refused([](json&) {}, "two sections 'read'", std::string(kText) + "## read: Again\nz\n");
  refused([](json&) {}, "the text of step 'read'", "");
  refused([](json&) {}, "the text of step 'pick'", "## read: R\nx\n## ask: A\nx\n## try: T\nx\n");
  refused([](json&) {}, "no entry 'bank'",
          "## read: R\n[b](glossary:bank)\n## ask: A\nx\n## try: T\nx\n## pick: P\nx\n");
  refused([](json&) {}, "before there is such a schedule",
          "## read: R\n{{seconds of try}}\n## ask: A\nx\n## try: T\nx\n## pick: P\nx\n");
  refused([](json&) {}, "not closed",
          "## read: R\n{{seconds \n{{traffic\n## ask: A\nx\n## try: T\nx\n## pick: P\nx\n");
}

// Any value anywhere replaced by another kind of value is refused or read, never a crash.
TEST(LessonFile, DamageNeverCrashes) {
  const json base = good().flatten();
  for (auto& [path, value] : base.items())
    for (const json& other :
         {json(nullptr), json(-7), json(1e300), json("x"), json::array({1, "a"}), json::object()}) {
      json j = good();
      j[json::json_pointer(path)] = other;
      const auto l = read(j);
      EXPECT_TRUE(l || !l.error().why.empty()) << path;
    }
}

TEST(LessonFile, WhatIsSaidAfterwardsIsApart) {
  const auto l = read(good(), std::string(kText) + "### After\nIt was {{seconds of try}}.\n");
  ASSERT_TRUE(l) << l.error().text();
  EXPECT_EQ(l->steps[3].text, "{{seconds of try}}\n");
  EXPECT_EQ(l->steps[3].after, "It was {{seconds of try}}.\n");
  EXPECT_TRUE(l->steps[0].after.empty());
}

TEST(LessonFile, NumbersInWords) {
  for (const char* words :
       {"size.K times param.cut.sizes.0 times 2 as B", "traffic", "seconds of best",
        "bytes.hbm of cut over best", "seconds of best over start at stages=2"}) {
    const auto n = number_from_words(words);
    ASSERT_TRUE(n) << words;
    EXPECT_EQ(to_string(*n), words);
  }
  for (const char* words : {"", "of best", "a b c", "seconds of", "x at stages", "x at s=1e9",
                            "x at s=99999999999999999999"})
    EXPECT_FALSE(number_from_words(words)) << words;
  EXPECT_EQ(filled("a {{x}} b {{y of z}} c {{", [](const LessonNumber& n) { return n.what; }),
            "a x b y c {{");
  EXPECT_EQ(quoted("a {{x}} b {{y of z}}").size(), 2u);
}

TEST(LessonRun, TypedNumbers) {
  EXPECT_EQ(number_typed("64"), 64);
  EXPECT_EQ(number_typed(" 1.5e6 "), 1.5e6);
  EXPECT_EQ(number_typed("6 MB"), 6e6);
  EXPECT_EQ(number_typed("12k"), 12e3);
  EXPECT_EQ(number_typed("3/4"), 0.75);
  EXPECT_EQ(number_typed("x2"), 2);
  EXPECT_EQ(number_typed("6,291,456 B"), 6291456);
  EXPECT_EQ(number_typed("5 us"), 5e-6);
  EXPECT_EQ(number_typed("75 %"), 75);
  EXPECT_EQ(number_typed("1.1 us"), 1.1e-6);
  EXPECT_EQ(number_typed("0.3 ms"), 0.3e-3);
  EXPECT_EQ(number_typed("7e3 ns"), 7e-6);
  EXPECT_EQ(number_typed("2.1 million"), 2.1e6);
  EXPECT_EQ(number_typed("3.4 TFLOP/s"), 3.4e12);
  EXPECT_EQ(number_typed("128 KiB"), 131072);
  EXPECT_EQ(number_typed("4 * 512 * 512 / 2"), 524288);
  EXPECT_EQ(number_typed("1024 x 1024 x 2 B"), 2097152);
  EXPECT_EQ(number_typed("3 * 2 MB"), 6e6);
  EXPECT_EQ(number_typed("5."), 5);
  for (const char* bad : {"", "many", "1/0", "--3", "1e999", "3 4", "4 *", "* 4", "12 apples", "/3",
                          "1e99999", "2 x y", "3 4 MB"})
    EXPECT_FALSE(number_typed(bad)) << bad;
}

// What is shown as an answer can be typed as one.
TEST(LessonRun, WhatIsShownCanBeTyped) {
  for (const double v : {5e-6, 3.14e-3, 2.1e6, 64.0, 1.34e8, 0.0606})
    for (const char* name : {"seconds", "traffic", "achieved.hbm", "percent.hbm", "blocks",
                             "intensity.hbm", "bandwidth.hbm"}) {
      const std::string shown = lesson_value({name, "start", "", {}, {}, ""}, v);
      const auto typed = number_typed(QString::fromStdString(shown));
      ASSERT_TRUE(typed) << shown;
      EXPECT_NEAR(*typed / v, 1, 0.01) << shown;
    }
}

LessonRun& begin(LessonRun& run) {
  auto l = read(good());
  EXPECT_TRUE(l);
  run.start(*l);
  return run;
}

TEST(LessonRun, PredictionComesFirst) {
  LessonRun run;
  begin(run);
  EXPECT_EQ(run.phase(), LessonPhase::Done);
  EXPECT_NE(run.predict("3"), QString());
  run.next();
  EXPECT_EQ(run.phase(), LessonPhase::Predict);
  EXPECT_FALSE(run.can_go_next());
  run.next();
  EXPECT_EQ(run.at(), 1);
  EXPECT_NE(run.predict("lots"), QString());
  EXPECT_NE(run.predict(0), QString());
  EXPECT_EQ(run.predict("10.5"), QString());
  EXPECT_EQ(run.phase(), LessonPhase::Wait);
  run.set_answer(1, {10, -1, {"10"}});
  EXPECT_EQ(run.phase(), LessonPhase::Done);
  EXPECT_TRUE(run.right(1));
  EXPECT_EQ(run.judgement(1), "Right: it is 10.");
  EXPECT_NE(run.predict("11"), QString()) << "only once";
  run.back();
  EXPECT_EQ(run.at(), 0);
  run.go(3);
  EXPECT_EQ(run.at(), 0) << "not reached yet";
  run.go(1);
  EXPECT_EQ(run.at(), 1);
}

TEST(LessonRun, WrongAndGivenUp) {
  LessonRun run;
  begin(run).next();
  run.predict("20");
  run.set_answer(1, {10, -1, {"10"}});
  EXPECT_FALSE(run.right(1));
  EXPECT_EQ(run.judgement(1), "Not quite: it is 10.");
  EXPECT_EQ(run.score(), "0 of 1 prediction right");
  LessonRun other;
  begin(other).next();
  other.give_up();
  other.set_answer(1, {10, -1, {"10"}});
  EXPECT_EQ(other.phase(), LessonPhase::Done);
  EXPECT_EQ(other.rights(), 0);
  EXPECT_EQ(other.asked_questions(), 1);
  EXPECT_EQ(other.predictions(), 0);
  EXPECT_EQ(other.score(), "1 answer without a prediction") << "nothing was predicted wrong";
}

TEST(LessonRun, WhatIsDoneMustBeWhatIsAsked) {
  LessonRun run;
  begin(run).next();
  run.give_up();
  run.set_answer(1, {10, -1, {"10"}});
  run.next();
  run.predict(0);
  EXPECT_EQ(run.phase(), LessonPhase::Do);
  const poly::TransformStep asked{"tile", R"({"node":3,"sizes":[8,8]})"};
  sched::SearchNode made;
  made.by_hand = true;
  made.state = sched::NodeState::Complete;
  QString why;
  EXPECT_NE(run.observe(5, 0, {asked}, made, &why), LessonRun::Seen::Yes)
      << "nobody knows yet what is asked";
  run.set_asked(2, {asked, "legal", ""});
  EXPECT_NE(run.observe(5, 4, {asked}, made, &why), LessonRun::Seen::Yes);
  EXPECT_TRUE(why.contains("another schedule")) << why.toStdString();
  EXPECT_NE(run.observe(5, 0, {{"fuse", "{}"}}, made, &why), LessonRun::Seen::Yes);
  EXPECT_TRUE(why.contains("tile")) << why.toStdString();
  EXPECT_NE(run.observe(5, 0, {{"tile", R"({"node":6,"sizes":[8,8]})"}}, made, &why),
            LessonRun::Seen::Yes);
  sched::SearchNode refused = made;
  refused.state = sched::NodeState::Illegal;
  refused.reason = "a witness";
  EXPECT_NE(run.observe(5, 0, {asked}, refused, &why), LessonRun::Seen::Yes);
  EXPECT_TRUE(why.contains("a witness"));
  EXPECT_EQ(run.phase(), LessonPhase::Do);
  // A request in other words is looked into, and known by what it comes to.
  const poly::TransformStep by_name{"tile", R"({"node":"x","sizes":[8,8]})"};
  EXPECT_EQ(run.observe(5, 0, {by_name}, made, &why), LessonRun::Seen::Look);
  const LessonOutcome different{by_name, "legal", "", 6};
  run.set_asked(2, {asked, "legal", "", 7});
  EXPECT_EQ(run.observe(5, 0, {by_name}, made, &why, &different), LessonRun::Seen::No);
  // Sizes are free: any will do.
  EXPECT_EQ(run.observe(5, 0, {{"tile", R"({"node":3,"sizes":[16,4]})"}}, made, &why),
            LessonRun::Seen::Yes);
  EXPECT_EQ(run.phase(), LessonPhase::Wait);
  run.set_answer(2, {0, 0, {}});
  EXPECT_EQ(run.phase(), LessonPhase::Done);
  EXPECT_EQ(run.node_of("try", -1), 5);
  EXPECT_EQ(run.done().at("try").params, R"({"node":3,"sizes":[16,4]})");
  run.next();
  run.predict(1);
  run.set_answer(3, {0, 1, {"1", "2"}});
  EXPECT_TRUE(run.finished());
  EXPECT_FALSE(run.can_go_next());
  EXPECT_EQ(run.rights(), 2);
  EXPECT_EQ(run.score(), "2 of 2 predictions right  ·  1 answer without a prediction");
}

TEST(LessonRun, WhatComesToTheSameIsTheSame) {
  LessonRun run;
  begin(run).next();
  run.give_up();
  run.set_answer(1, {10, -1, {"10"}});
  run.next();
  run.predict(0);
  run.set_asked(2, {{"tile", R"({"node":3,"sizes":[8,8]})"}, "legal", "", 7});
  sched::SearchNode made;
  made.state = sched::NodeState::Complete;
  const poly::TransformStep did{"tile", R"({"node":"x","sizes":[8,8]})"};
  const LessonOutcome came{did, "legal", "", 7};
  EXPECT_EQ(run.observe(5, 0, {did}, made, nullptr, &came), LessonRun::Seen::Yes);
  EXPECT_EQ(run.done().at("try").params, did.params);
}

TEST(LessonRun, GoesOnWhereItWasLeft) {
  LessonRun run;
  begin(run).next();
  run.predict("10");
  run.set_answer(1, {10, -1, {"10"}});
  run.next();
  run.predict(0);
  run.set_asked(2, {{"tile", R"({"node":3,"sizes":[8,8]})"}, "legal", ""});
  sched::SearchNode made;
  made.state = sched::NodeState::Complete;
  ASSERT_EQ(run.observe(5, 0, {{"tile", R"({"node":3,"sizes":[8,8]})"}}, made, nullptr),
            LessonRun::Seen::Yes);
  run.set_answer(2, {0, 0, {}});
  run.next();
  run.back();
  LessonRun::Kept kept = run.keep();
  const Lesson lesson = run.lesson();
  run.start({});
  EXPECT_FALSE(run.playing());
  run.start(lesson, kept);
  EXPECT_EQ(run.at(), 2);
  EXPECT_EQ(run.reached(), 3);
  EXPECT_EQ(run.rights(), 2);
  kept.progress[2].node = -1;  // its candidate could not be made again
  run.start(lesson, kept);
  EXPECT_EQ(run.reached(), 2);
  EXPECT_EQ(run.phase(), LessonPhase::Do);
  kept.reached = 99;
  kept.at = -4;
  kept.progress.clear();
  run.start(lesson, kept);
  EXPECT_EQ(run.at(), 0);
}

TEST(LessonRun, WhatIsLockedIsWatched) {
  LessonRun run;
  begin(run);
  sched::SearchOptions o;
  o.machine.id = "h200";
  o.sizes = {{"N", 64}};
  EXPECT_EQ(run.broken(o), QString());
  o.sizes["N"] = 65;
  EXPECT_TRUE(run.broken(o).contains("N"));
  o.sizes["N"] = 64;
  o.machine.id = "a100";
  EXPECT_TRUE(run.broken(o).contains("a100"));
}

TEST(LessonWork, NodesByWhatTheyHold) {
  const auto l = load_lesson(lessons_dir(), "fusion");
  ASSERT_TRUE(l) << l.error().text();
  const auto s = lesson_session([&] {
    Lesson small = *l;
    small.plans = 0;
    return small;
  }());
  ASSERT_TRUE(s) << s.error().text();
  auto p = poly::parse_naut(poly::make_context(), s->program_naut, "program");
  ASSERT_TRUE(p);
  const auto schedule =
      poly::initial_schedule(std::make_shared<const poly::Program>(*std::move(p)));
  EXPECT_EQ((*resolved(schedule, {{"node", "root"}}))["node"], schedule.root->id);
  EXPECT_EQ((*resolved(schedule, {{"node", "sequence S_Y"}}))["node"], schedule.root->id);
  const int band = (*resolved(schedule, {{"node", "band S_Y"}}))["node"];
  EXPECT_EQ(poly::find(schedule, band)->kind, poly::NodeKind::Band);
  EXPECT_EQ((*resolved(schedule, {{"node", 7}}))["node"], 7);
  for (const char* bad : {"band S_None", "loop S_Y", "band", ""})
    EXPECT_FALSE(resolved(schedule, {{"node", bad}})) << bad;
}

}  // namespace
}  // namespace nautilus::gui
