#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>

#include "gui/models/filter_stack.h"
#include "tests/gui/samples.h"

namespace nautilus::gui {
namespace {

using testing_samples::random_nodes;
using testing_samples::random_session;

Filter parsed(const QString& s) {
  QString why;
  const auto f = filter_from_string(s, &why);
  EXPECT_TRUE(f) << s.toStdString() << ": " << why.toStdString();
  return f.value_or(Filter{});
}

TEST(Filter, RoundTrip) {
  for (const char* s : {"state != dominated", "state = best", "seconds < 2e-4", "bound >= 1e-5",
                        "verdict = illegal", "limiter memory", "knob tile.i >= 64", "depth <= 5",
                        "below 42", "text rolling update"})
    EXPECT_EQ(to_string(parsed(s)), s);
  EXPECT_EQ(to_string(parsed("  state≠dominated ")), "state != dominated");
  EXPECT_EQ(to_string(parsed("knob tile.i≥64")), "knob tile.i >= 64");
}

TEST(Filter, RefusalsSayWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {{"", "FIELD OPERATOR VALUE"},
                                                       {"bogus = 3", "no field 'bogus'"},
                                                       {"state = nice", "none of open"},
                                                       {"state < open", "= and !="},
                                                       {"seconds < soon", "not a number"},
                                                       {"seconds < nan", "not a number"},
                                                       {"seconds extra < 3", "too much"},
                                                       {"knob >= 3", "which one"},
                                                       {"knob tile.i >=", "value is missing"},
                                                       {"below", "of what"},
                                                       {"below -3", "node's number"},
                                                       {"below 1.5", "node's number"},
                                                       {"text ", "of what"}};
  for (const auto& [text, part] : cases) {
    QString why;
    EXPECT_FALSE(filter_from_string(text, &why)) << text;
    EXPECT_TRUE(why.contains(part)) << text << ": " << why.toStdString();
  }
}

// Written as plainly as possible: the same meaning by another way.
bool naive(const std::vector<Filter>& all, const Document& d, int id) {
  for (const Filter& f : all) {
    const sched::SearchNode& n = d.nodes()[id];
    const double v = f.value.toDouble();
    if (to_string(f).startsWith("state != ") && sched::state_name(n.state) == f.value.toStdString())
      return false;
    if (to_string(f).startsWith("seconds < ") && !(n.seconds > 0 && n.seconds < v)) return false;
    if (f.field == Filter::Field::Knob &&
        !(n.knobs.contains("tile.i") && static_cast<double>(n.knobs.at("tile.i")) >= v))
      return false;
    if (f.field == Filter::Field::Depth && !(static_cast<double>(d.path(id).size()) - 1 <= v))
      return false;
    if (f.field == Filter::Field::Below) {
      const std::vector<int> path = d.path(id);
      if (std::find(path.begin(), path.end(), f.value.toInt()) == path.end()) return false;
    }
    if (f.field == Filter::Field::Text &&
        n.decision.find(f.value.toStdString()) == std::string::npos)
      return false;
  }
  return true;
}

TEST(FilterStack, AgreesWithANaiveFilterThroughEditsAndGrowth) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 r(seed);
  const char* const pool[] = {"state != dominated", "state != illegal", "seconds < 5e-4",
                              "knob tile.i >= 32",  "depth <= 6",       "below 3",
                              "text by 16",         "below 0",          "seconds < 2e-4"};
  for (int round = 0; round < 20; ++round) {
    Document d;
    FilterStack stack(d);
    d.set_session(random_session(200, r()), "");
    std::vector<std::vector<Filter>> past = {{}};  // what undo must give back
    size_t at = 0;
    for (int step = 0; step < 40; ++step) {
      const Filter f = parsed(pool[r() % std::size(pool)]);
      const std::vector<Filter> before = stack.filters();
      switch (r() % 7) {
        case 0:
        case 1:
          stack.add(f);
          break;
        case 2:
          stack.remove(r() % 4);
          break;
        case 3:
          stack.replace(r() % 4, f);
          break;
        case 4:
          d.append(random_nodes(30, r(), static_cast<int>(d.nodes().size())));
          break;
        case 5: {
          sched::SearchNode n = d.nodes()[r() % d.nodes().size()];
          n.state = sched::NodeState::Dominated;
          n.seconds = 1e-4;
          d.change({n});
          break;
        }
        default:
          if (r() % 2 && at > 0) {
            stack.undo_stack().undo();
            --at;
          } else if (at + 1 < past.size()) {
            stack.undo_stack().redo();
            ++at;
          }
          ASSERT_EQ(stack.filters(), past[at]);
          continue;
      }
      if (stack.filters() != before) {
        past.resize(at + 1);
        past.push_back(stack.filters());
        ++at;
      }
      int passing = 0;
      for (int id = 0; id < static_cast<int>(d.nodes().size()); ++id) {
        ASSERT_EQ(stack.passes(id), naive(stack.filters(), d, id)) << "node " << id;
        passing += stack.passes(id);
      }
      ASSERT_EQ(stack.passing(), passing);
    }
  }
}

TEST(FilterStack, FollowsNotesPinsAndTheAnswer) {
  Document d;
  FilterStack stack(d);
  d.set_session(random_session(50, 7), "");
  stack.add(parsed("state = noted"));
  EXPECT_EQ(stack.passing(), 0);
  QSignalSpy spy(&stack, &FilterStack::changed);
  d.set_note(4, "look here");
  EXPECT_EQ(spy.count(), 1);
  EXPECT_TRUE(stack.passes(4));
  stack.replace(0, parsed("state = pinned"));
  d.set_pinned(9, true);
  EXPECT_TRUE(stack.passes(9));
  EXPECT_EQ(stack.passing(), 1);
  stack.replace(0, parsed("state = best"));
  d.set_answer({11, 12}, {});
  EXPECT_EQ(stack.passing(), 2);
  EXPECT_FALSE(stack.passes(-1));
  EXPECT_FALSE(stack.passes(5000));
}

// Large sessions answer a part at a time; what changes meanwhile is not forgotten.
TEST(FilterStack, ManyCandidatesAnswerInPartsWhileTheDocumentChanges) {
  Document d;
  FilterStack stack(d);
  d.set_session(random_session(60'000, 7), "");
  QSignalSpy changed(&stack, &FilterStack::changed), edited(&stack, &FilterStack::edited);
  stack.add(parsed("text by 16"));
  ASSERT_TRUE(stack.busy()) << "all at once";
  EXPECT_EQ(edited.count(), 1);
  EXPECT_EQ(stack.passing(), 60'000) << "as before, until all have answered";
  stack.replace(0, parsed("text by 32"));  // what was asked before is dropped
  sched::SearchNode n = d.nodes()[3];
  n.decision = "tile i by 32";
  d.change({n});
  d.append(random_nodes(500, 8, 60'000));
  ASSERT_TRUE(QTest::qWaitFor([&] { return !stack.busy(); }, 60'000));
  EXPECT_EQ(changed.count(), 1);
  int passing = 0;
  for (int id = 0; id < 60'500; ++id) {
    ASSERT_EQ(stack.passes(id), naive(stack.filters(), d, id)) << "node " << id;
    passing += stack.passes(id);
  }
  EXPECT_EQ(stack.passing(), passing);
  EXPECT_TRUE(stack.passes(3));
  stack.undo_stack().undo();
  stack.undo_stack().undo();  // no conditions: everybody passes, at once or soon
  ASSERT_TRUE(QTest::qWaitFor([&] { return !stack.busy(); }, 60'000));
  EXPECT_EQ(stack.passing(), 60'500);
  stack.add(parsed("text by 16"));
  d.set_session(random_session(100, 9), "");  // meanwhile
  EXPECT_FALSE(stack.busy());
  for (int id = 0; id < 100; ++id) ASSERT_EQ(stack.passes(id), naive(stack.filters(), d, id));
}

// A search that changes many candidates at a time does not begin the asking again each time.
TEST(FilterStack, AnswersWhileManyCandidatesKeepChanging) {
  Document d;
  FilterStack stack(d);
  constexpr int kCount = 300'000;  // several slices, and a change comes with each
  d.set_session(random_session(kCount, 7), "");
  QSignalSpy changed(&stack, &FilterStack::changed);
  stack.add(parsed("text by 16"));
  ASSERT_TRUE(stack.busy()) << "all at once";
  const std::vector<sched::SearchNode> many(d.nodes().begin(), d.nodes().begin() + 2'500);
  for (int turn = 0; turn < 3'000 && changed.count() < 3; ++turn) {
    d.change(many);
    QCoreApplication::processEvents();
  }
  EXPECT_GE(changed.count(), 3) << "nobody ever sees what passes";
  sched::SearchNode n = d.nodes()[3];
  n.decision = "tile i by 16";
  std::vector<sched::SearchNode> last = many;
  last[3] = n;
  d.change(last);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !stack.busy(); }, 60'000));
  for (int id = 0; id < kCount; id += id < 100 ? 1 : 97)
    ASSERT_EQ(stack.passes(id), naive(stack.filters(), d, id)) << "node " << id;
}

TEST(FilterStack, OtherCostsAreAskedAgain) {
  Document d;
  d.set_session(random_session(5'000, 3), "");
  FilterStack f(d);
  f.add(parsed("seconds < 4e-4"));
  const auto right = [&] {
    return std::all_of(d.nodes().begin(), d.nodes().end(), [&](const sched::SearchNode& n) {
      return f.passes(n.id) == (n.seconds > 0 && n.seconds < 4e-4);
    });
  };
  ASSERT_TRUE(QTest::qWaitFor(right, 10'000));
  std::vector<sched::SearchNode> nodes = d.nodes();
  for (sched::SearchNode& n : nodes) n.seconds *= 2;
  ASSERT_TRUE(d.set_costs(d.session().options, std::move(nodes), d.best(), {}));
  EXPECT_TRUE(QTest::qWaitFor(right, 10'000));
}

}  // namespace
}  // namespace nautilus::gui
