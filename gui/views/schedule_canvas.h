// Paints a schedule tree and lets nodes be chosen by mouse and keys.
#pragma once

#include <set>

#include "gui/models/theme.h"
#include "gui/views/canvas.h"
#include "gui/views/schedule_layout.h"

namespace nautilus::gui {

class ScheduleCanvas : public Canvas {
  Q_OBJECT
 public:
  ScheduleCanvas(Theme& theme, QWidget* parent);
  // `touched`: nodes to mark as new or changed.
  void set_tree(const TreePicture& tree, const std::vector<poly::NodeId>& touched);
  const TreePicture& tree() const { return tree_; }
  const TreeLayout& layout_of_tree() const { return layout_; }
  void set_message(const QString& m);  // drawn while there is no tree
  void set_selected(poly::NodeId id, const QString& statement);
  void set_hovered(poly::NodeId id, const QString& statement);
  void set_picking(bool on);                 // the next click is for a parameter
  QPointF middle_of(poly::NodeId id) const;  // on the widget
  void fit() override;  // readable: from the top; all of it where that is legible
  void show_all() { Canvas::fit(); }
  void paint_tree(QPainter& p, const QRectF& seen, double scale) const;  // in the tree's units

 Q_SIGNALS:
  void chosen(poly::NodeId id);        // by click or key
  void hovered_node(poly::NodeId id);  // -1: none
  void menu_wanted(const QPoint& at);  // global
  void escaped();

 protected:
  QRectF world() const override { return layout_.bounds; }
  void paint_canvas(QPainter& p) override;
  void hover_at(QPointF at) override;
  void leave() override;
  void click_at(QPointF at, Qt::KeyboardModifiers) override;
  bool key(QKeyEvent* e) override;
  void contextMenuEvent(QContextMenuEvent* e) override;
  bool event(QEvent* e) override;

 private:
  void lay_out_again();
  void choose_row(int row);
  void paint_row(QPainter& p, int row, double scale) const;
  void paint_links(QPainter& p, int row) const;
  QColor kind_colour(const TreeBox& b) const;
  bool has_statement(const TreeBox& b, const QString& statement) const;

  Theme& theme_;
  TreePicture tree_;
  TreeLayout layout_;
  std::set<poly::NodeId> touched_;
  QString message_, statement_, hovered_statement_;
  poly::NodeId selected_ = -1, hovered_ = -1;
  bool picking_ = false;
};

}  // namespace nautilus::gui
