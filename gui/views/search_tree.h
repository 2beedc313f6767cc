// The search tree view: what the search tried, from the program as it was written on the left to
// whole plans on the right, and a slider that replays it.
#pragma once

#include "gui/views/search_tree_canvas.h"
#include "gui/views/view.h"

class QLabel;

namespace nautilus::gui {

class ReplayBar;

class SearchTreeView : public View {
  Q_OBJECT
 public:
  SearchTreeView(Shared shared, QWidget* parent);
  SearchTreeCanvas* canvas() const { return canvas_; }

  QString name() const override { return QStringLiteral("tree"); }
  QString title() const override { return tr("Search tree"); }
  void paint_picture(QPainter& p, const QRectF& page) override { canvas_->paint_on(p, page); }
  QSizeF picture_size() const override { return canvas_->size(); }
  QList<QJsonObject> export_rows() const override;
  QList<QAction*> view_actions() override { return actions_; }
  QJsonObject viewport() const override { return canvas_->state(); }
  void set_viewport(const QJsonObject& j) override { canvas_->set_state(j); }
  bool busy() const override { return canvas_->busy(); }

 Q_SIGNALS:
  // A candidate became the root of the picture (double click, Shift+Enter); 0: the whole tree.
  // Whoever runs the search may offer to go on from there.
  void root_changed(int node);

 private:
  void make_actions();
  void show_root(int node);

  SearchTreeCanvas* canvas_;
  ReplayBar* replay_ = nullptr;
  QLabel* path_ = nullptr;
  QList<QAction*> actions_;
};

}  // namespace nautilus::gui
