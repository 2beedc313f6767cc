// The search tree view: what the search tried, from the program as it was written on the left to
// whole plans on the right, and a slider that replays it. Candidates carry no time stamps; their
// numbers count up in the order in which the search made them, so that order is what is replayed.
#pragma once

#include <QTimer>

#include "gui/views/search_tree_canvas.h"

class QLabel;
class QSlider;
class QToolButton;

namespace nautilus::gui {

class SearchTreeView : public CanvasView<SearchTreeCanvas> {
  Q_OBJECT
 public:
  SearchTreeView(Shared shared, QWidget* parent);
  QList<QJsonObject> export_rows() const override;

 Q_SIGNALS:
  // A candidate became the root of the picture (double click, Shift+Enter); 0: the whole tree.
  // Whoever runs the search may offer to go on from there.
  void root_changed(int node);

 private:
  void make_actions();
  QWidget* make_replay();
  void show_replay();
  void show_root(int node);
  void play_step();

  QToolButton* play_ = nullptr;
  QSlider* slider_ = nullptr;
  QLabel *step_ = nullptr, *path_ = nullptr;
  QTimer timer_;
  QAction* everything_ = nullptr;
};

}  // namespace nautilus::gui
