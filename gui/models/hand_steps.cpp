#include "gui/models/hand_steps.h"

#include <QJsonDocument>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "gui/models/sched_jobs.h"
#include "polyhedral/json_text.h"

namespace nautilus::gui {
namespace {

constexpr size_t kLongestUndoText = 60;

// Between two candidates of the tree: nothing is made or taken away.
class HandCommand : public QUndoCommand {
 public:
  HandCommand(Selection& selection, int parent, int node, const QString& words)
      : QUndoCommand(words), selection_(selection), parent_(parent), node_(node) {}
  void undo() override { selection_.select(parent_); }
  void redo() override { selection_.select(node_); }

 private:
  Selection& selection_;
  int parent_, node_;
};

// What the bench answers.
struct Added {
  std::vector<sched::SearchNode> nodes;
  QString why;
};

// A complete plan takes its place among the best by its predicted time.
void rank(Document& document, int node) {
  const sched::SearchNode& n = *document.node(node);
  if (n.state != sched::NodeState::Complete || n.seconds <= 0) return;
  std::vector<int> best = document.best();
  const auto slower = std::find_if(best.begin(), best.end(),
                                   [&](int id) { return document.node(id)->seconds > n.seconds; });
  best.insert(slower, node);
  document.set_answer(best, document.session().result.pareto);
}

}  // namespace

HandSteps::HandSteps(Document& document, Selection& selection, Bench& bench, QUndoStack& undo,
                     QObject* parent)
    : QObject(parent), document_(document), selection_(selection), bench_(bench), undo_(undo) {
  adder_ = [this](int below, const Steps& steps, Done done) {
    add_through_bench(below, steps, std::move(done));
  };
  connect(&document_, &Document::reset, this, [this] {  // what was asked of the old one is void
    undo_.clear();
    ++life_;
    if (std::exchange(waiting_, 0) > 0) busy_changed(false);
  });
  connect(&document_, &Document::options_changed, this, [this] { ++costs_; });
  connect(&bench_, &Bench::failed, this,
          [this](QObject* asker, const QString&, const QString& why) {
            if (asker != this || waiting_ == 0) return;
            busy_changed(--waiting_ > 0);
            refused(why);
          });
}

void HandSteps::apply(int parent, const Steps& steps) {
  if (!document_.node(parent) || steps.empty()) return refused(tr("There is nothing to apply."));
  busy_changed(++waiting_ > 0);
  adder_(parent, steps, [this, parent, steps, life = life_](int node, const QString& why) {
    if (life != life_) return;
    busy_changed(--waiting_ > 0);
    if (node < 0) return refused(why);
    enter(parent, node, steps);
  });
}

void HandSteps::enter(int parent, int node, const Steps& steps) {
  undo_.push(new HandCommand(selection_, parent, node, words(steps)));
  applied(node);
}

// Each request has a channel of its own, so that none is dropped for the next.
void HandSteps::add_through_bench(int below, const Steps& steps, Done done) {
  const Path path = Bench::path_nodes(document_.session().result, below);
  const int count = static_cast<int>(document_.nodes().size());
  static int request = 0;
  bench_.ask<Added>(
      this, QStringLiteral("by hand %1").arg(++request),
      [path, steps, count](const Workpiece& w, const CancelToken&) -> Added {
        auto nodes = hand_job(w, path, steps, count);
        if (!nodes) return {{}, QString::fromStdString(nodes.error().text())};
        return {*nodes, {}};
      },
      [this, below, steps, done = std::move(done), count, costs = costs_](Added a) {
        // Of another machine than those beside it: once more.
        if (costs != costs_ && document_.node(below)) return adder_(below, steps, done);
        if (!a.why.isEmpty() || a.nodes.empty()) return done(-1, a.why);
        const int now = static_cast<int>(document_.nodes().size());
        for (sched::SearchNode& n : a.nodes) {  // the document may have grown meanwhile
          if (n.parent >= count) n.parent += now - count;
          if (n.duplicate_of >= count) n.duplicate_of += now - count;
          n.id += now - count;
        }
        document_.append(a.nodes);
        rank(document_, now);
        done(now, {});
      });
}

QString HandSteps::words(const Steps& steps) {
  std::string text;
  for (const poly::TransformStep& s : steps) text += (text.empty() ? "" : "; ") + step_text(s);
  if (text.size() > kLongestUndoText) text = text.substr(0, kLongestUndoText) + "\u2026";
  return QString::fromStdString(text);
}

QByteArray HandSteps::script_text(const Steps& steps) {
  return QByteArray::fromStdString(sched::steps_to_json(steps).dump(2) + "\n");
}

Expected<HandSteps::Steps> HandSteps::script_from(const QByteArray& text) {
  const nlohmann::json j =
      poly::read_json(std::string_view(text.constData(), static_cast<size_t>(text.size())));
  if (j.is_discarded()) return Refusal{"read a script", "", "it is not JSON", ""};
  return sched::steps_from_json(j.is_object() && j.contains("script") ? j["script"] : j);
}

}  // namespace nautilus::gui
