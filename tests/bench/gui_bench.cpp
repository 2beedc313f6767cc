// Frame times of the search tree and the roofline with 100,000 candidates, rendered in software at
// 1920 x 1080: every frame after a pan, a zoom or a hover is painted whole into an image. The 95th
// percentile in time of the painting thread must be at most 16 ms, and no slice of work after a new
// session may hold the thread over 50 ms. Exit status 1 when a limit is missed.
#include <QElapsedTimer>
#include <QImage>
#include <QMouseEvent>
#include <functional>

#include "gui/views/roofline.h"
#include "gui/views/search_tree.h"
#include "tests/bench/figures.h"
#include "tests/gui/big_session.h"
#include "tests/gui/event_times.h"
#include "tests/gui/surroundings.h"

namespace {

using namespace nautilus;
using namespace nautilus::gui;
constexpr double kFrame = 16, kBlock = 50;  // ms
Figures figures;

// `step` moves the canvas, frame by frame.
void measure(const std::string& what, Canvas* canvas, int frames,
             const std::function<void(int)>& step) {
  QImage image(canvas->size(), QImage::Format_ARGB32_Premultiplied);
  std::vector<double> ms, clock;
  QElapsedTimer t;
  for (int k = 0; k < frames; ++k) {
    t.start();
    const double before = thread_ms();
    step(k);
    canvas->render(&image);
    ms.push_back(thread_ms() - before);
    clock.push_back(static_cast<double>(t.nsecsElapsed()) / 1e6);
  }
  char more[96];
  std::snprintf(more, sizeof more, "median %.1f, most %.1f, median on the clock %.1f",
                at_quantile(ms, 0.5), at_quantile(ms, 1), at_quantile(clock, 0.5));
  figures.add(what, at_quantile(ms, 0.95), "ms", kFrame, more);
}

void pan_and_zoom(const std::string& name, Canvas* canvas) {
  const Viewport start = canvas->viewport();
  measure(name + ", panning", canvas, 120, [&](int k) {
    Viewport v = canvas->viewport();
    v.pan(k < 60 ? QPointF(-13, -17) : QPointF(19, 11));
    canvas->set_viewport(v);
  });
  canvas->set_viewport(start);
  measure(name + ", zooming in and out", canvas, 160, [&](int k) {
    Viewport v = canvas->viewport();
    v.zoom({700, 500}, k < 80 ? 1.07 : 1 / 1.07);
    canvas->set_viewport(v);
  });
  canvas->set_viewport(start);
}

void hover(const std::string& name, Canvas* canvas) {
  measure(name, canvas, 100, [&](int k) {
    QMouseEvent move(QEvent::MouseMove, QPointF(300 + 9 * k, 300 + 3 * k), QPointF(), Qt::NoButton,
                     Qt::NoButton, Qt::NoModifier);
    QApplication::sendEvent(canvas, &move);
  });
}

void tree_figures(SearchTreeView& view) {
  SearchTreeCanvas* c = view.canvas();
  c->home();
  pan_and_zoom("tree, folded, readable", c);
  c->fit();
  pan_and_zoom("tree, folded, all of it", c);
  QElapsedTimer t;
  t.start();
  c->set_everything(true);
  Surroundings::settle(view);
  figures.add("tree, every candidate laid out", static_cast<double>(t.elapsed()), "ms", 0,
              std::to_string(c->picture().size()) + " boxes");
  for (double scale : {1.0, 0.45, 0.2, 0.05, 0.01}) {
    Viewport v = c->viewport();
    v.scale = scale;
    v.centre = {c->picture().bounds.center().x(), c->picture().bounds.height() / 3};
    c->set_viewport(v);
    char name[64];
    std::snprintf(name, sizeof name, "tree, every candidate, scale %.2f", scale);
    pan_and_zoom(name, c);
    hover(std::string(name) + ", hovering", c);
  }
}

void roofline_figures(RooflineView& view) {
  RooflineCanvas* r = view.canvas();
  const std::string points = ", " + std::to_string(r->cloud().points.size()) + " points";
  r->fit();
  pan_and_zoom("roofline, machine frame" + points, r);
  r->fit_data();
  pan_and_zoom("roofline, fitted to data", r);
  hover("roofline, fitted to data, hovering", r);
  Viewport v = r->viewport();
  v.zoom({900, 500}, 6);
  r->set_viewport(v);
  pan_and_zoom("roofline, close", r);
  hover("roofline, close, hovering", r);
}

// As a live search hands it over: every candidate with other costs.
void change_machine(Surroundings& stage, View& tree, View& roofline) {
  Document& d = stage.document;
  sched::SearchOptions o = d.session().options;
  o.machine = *sched::load_machine(NAUTILUS_SOURCE_DIR "/corpus/machines/rtx4090.json");
  std::vector<sched::SearchNode> nodes = d.nodes();
  for (sched::SearchNode& n : nodes) n.seconds *= 2;
  EventTimes::start();
  const double before = thread_ms();
  d.set_costs(o, std::move(nodes), d.best(), {});
  figures.add("tree and roofline told of another machine", thread_ms() - before, "ms", kBlock,
              std::to_string(d.nodes().size()) + " candidates");
  Surroundings::settle(tree);
  Surroundings::settle(roofline);
  const LongestEvent longest = EventTimes::stop();
  figures.add("longest event while the machine changes", longest.ms, "ms", kBlock,
              longest.event + " to " + longest.receiver);
}

}  // namespace

int main(int argc, char** argv) {
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  EventTimes app(argc, argv);
  const BenchArguments arguments(argc, argv);
  Surroundings stage;
  sched::Session session = big_session(arguments.count, 1, kH200);
  SearchTreeView tree(stage.shared(), nullptr);
  RooflineView roofline(stage.shared(), nullptr);
  const double before = thread_ms();
  EventTimes::start();
  stage.document.set_session(std::move(session), "");
  figures.add("tree and roofline told of a new session", thread_ms() - before, "ms", kBlock,
              std::to_string(stage.document.nodes().size()) + " candidates");
  Surroundings::settle(tree);
  Surroundings::settle(roofline);
  for (View* v : {static_cast<View*>(&tree), static_cast<View*>(&roofline)}) {
    v->resize(1920, 1080);
    v->show();
    Surroundings::settle(*v);
  }
  const LongestEvent longest = EventTimes::stop();
  figures.add("longest event until both are painted", longest.ms, "ms", kBlock,
              longest.event + " to " + longest.receiver);
  change_machine(stage, tree, roofline);
  tree.canvas()->resize(1920, 1080);
  roofline.canvas()->resize(1920, 1080);
  tree_figures(tree);
  roofline_figures(roofline);
  return figures.finish(arguments.out, "explorer-frames");
}
