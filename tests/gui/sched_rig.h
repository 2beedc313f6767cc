// A document with softmax's search, and what a view needs around it.
#pragma once

#include <QSignalSpy>
#include <QTest>

#include "gui/views/view.h"
#include "tests/gui/sched_programs.h"

namespace nautilus::gui {

struct SchedRig {
  Document document;
  Selection selection;
  FilterStack filters{document};
  Bench bench;
  Theme theme;
  Shared shared() { return {document, selection, filters, bench, theme}; }

  // The root; 1: an illegal fusion; 2: the same by rolling update; 3: what did not fit; 4: a
  // duplicate of 2.
  explicit SchedRig(bool with_session = true) {
    QObject::connect(&document, &Document::reset, &bench,
                     [this] { bench.set_work(document.session()); });
    if (with_session) document.set_session(session(), QString());
  }
  static sched::Session session() {
    const auto general = poly::testing_programs::softmax(poly::make_context());
    sched::Session s;
    s.kernel = "softmax";
    s.spec_path = "softmax.naut";
    s.spec_text = poly::print_naut(*general);
    s.options.sizes = {{"N", 64}, {"M", 128}};
    s.options.machine = *sched::load_machine(NAUTILUS_SOURCE_DIR "/corpus/machines/h200.json");
    s.program_naut =
        poly::print_naut(poly::restrict_to_demanded(*poly::bind_sizes(*general, s.options.sizes)));
    const poly::NodeId root = poly::initial_schedule(general).root->id;
    const nlohmann::json fusion = {{"node", root}, {"first", 0}, {"last", 2}, {"depth", 2}};
    auto add = [&](const std::string& decision, sched::NodeState state,
                   std::vector<poly::TransformStep> steps) -> sched::SearchNode& {
      sched::SearchNode n;
      n.id = static_cast<int>(s.result.nodes.size());
      n.parent = n.id == 0 ? -1 : 0;
      n.decision = decision;
      n.state = state;
      n.steps = std::move(steps);
      s.result.nodes.push_back(n);
      return s.result.nodes.back();
    };
    add("the program as it was written", sched::NodeState::Expanded, {});
    sched::SearchNode& bad =
        add("fuse m .. l at j", sched::NodeState::Illegal, {{"fuse", fusion.dump()}});
    bad.verdict = poly::VerdictKind::Illegal;
    bad.reason = "S_m must precede S_P";
    add("fuse m .. l by rolling update", sched::NodeState::Expanded,
        {{"rolling_update", fusion.dump()}})
        .verdict = poly::VerdictKind::Repairable;
    sched::SearchNode& large = add("too large", sched::NodeState::OverCapacity, {});
    large.reason = "registers: tiles of one block need 400 KB, 200 KB are there";
    large.register_bytes = 400e3;
    large.seconds = 2e-6;
    add("the same", sched::NodeState::Duplicate, {}).duplicate_of = 2;
    return s;
  }
  poly::NodeId root_node() const {
    return poly::initial_schedule(poly::testing_programs::softmax(poly::make_context())).root->id;
  }
  bool idle(View& v, int ms = 60'000) {
    return QTest::qWaitFor([&] { return !v.busy() && !bench.busy(); }, ms);
  }
  // Through the shared selection, as any view would.
  bool select(View& v, int node) {
    selection.select(node);
    QCoreApplication::processEvents();
    return idle(v);
  }
};

}  // namespace nautilus::gui
