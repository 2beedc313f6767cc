// Transforms by hand: each makes a candidate below the selected one, in the same search tree, and
// enters the undo stack of the window, beside the changes of the filters. Undo selects the
// candidate it was applied to; what was tried stays in the tree.
#pragma once

#include <QObject>
#include <QUndoStack>
#include <functional>

#include "gui/models/bench.h"
#include "gui/models/document.h"
#include "gui/models/selection.h"

namespace nautilus::gui {

class HandSteps : public QObject {
  Q_OBJECT
 public:
  using Steps = std::vector<poly::TransformStep>;
  // Adds nodes below `parent` to the document and says which is the new one, or why there is none.
  // While a search lives, it must do that itself.
  using Done = std::function<void(int node, const QString& why)>;
  using Adder = std::function<void(int parent, const Steps& steps, Done done)>;

  HandSteps(Document& document, Selection& selection, Bench& bench, QUndoStack& undo,
            QObject* parent = nullptr);
  void set_adder(Adder adder) { adder_ = std::move(adder); }
  const Adder& adder() const { return adder_; }

  // Makes the candidate, selects it, and enters the undo stack. Also an illegal one: it is kept
  // with the witness as its reason.
  void apply(int parent, const Steps& steps);
  // Replays a script from the program as it was written.
  void replay(const Steps& steps) { apply(0, steps); }
  QUndoStack& undo_stack() { return undo_; }
  bool busy() const { return waiting_ > 0; }

  // STEPS.json, as `nautilusc apply` reads it.
  static QByteArray script_text(const Steps& steps);
  static Expected<Steps> script_from(const QByteArray& text);
  // "tile node=3 sizes=[4,4]; map ..."
  static QString words(const Steps& steps);

 Q_SIGNALS:
  void applied(int node);
  void refused(const QString& why);
  void busy_changed(bool busy);

 private:
  void add_through_bench(int parent, const Steps& steps, Done done);
  void enter(int parent, int node, const Steps& steps);
  Document& document_;
  Selection& selection_;
  Bench& bench_;
  Adder adder_;
  QUndoStack& undo_;
  int waiting_ = 0, life_ = 0;  // life: counts documents
  int costs_ = 0;               // counts changes of the options, and with them of what plans cost
};

}  // namespace nautilus::gui
