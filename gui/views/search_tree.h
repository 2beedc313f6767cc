// The search tree view: what the search tried, from the program as it was written on the left to
// whole plans on the right, and a slider that replays it.
#pragma once

#include "gui/views/search_tree_canvas.h"

class QLabel;

namespace nautilus::gui {

class ReplayBar;

class SearchTreeView : public CanvasView<SearchTreeCanvas> {
  Q_OBJECT
 public:
  SearchTreeView(Shared shared, QWidget* parent);
  QList<QJsonObject> export_rows() const override;
  QJsonObject viewport() const override;
  void set_viewport(const QJsonObject& j) override;

 Q_SIGNALS:
  // A candidate became the root of the picture (double click, Shift+Enter); 0: the whole tree.
  // Whoever runs the search may offer to go on from there.
  void root_changed(int node);

 private:
  void make_actions();
  void show_root(int node);

  ReplayBar* replay_ = nullptr;
  QLabel* path_ = nullptr;
  QAction* everything_ = nullptr;
};

}  // namespace nautilus::gui
