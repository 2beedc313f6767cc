#include "gui/views/schedule_canvas.h"

#include <QAccessible>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

namespace nautilus::gui {
namespace {

constexpr double kLegibleTree = 0.7, kTreeTextFrom = 0.3;  // scales

}  // namespace

ScheduleCanvas::ScheduleCanvas(Theme& theme, QWidget* parent) : Canvas(parent), theme_(theme) {
  setAccessibleName(tr("Schedule tree"));
  connect(&theme_, &Theme::changed, this, &ScheduleCanvas::lay_out_again);
}

void ScheduleCanvas::set_tree(const TreePicture& tree, const std::vector<poly::NodeId>& touched) {
  const bool same = !tree_.boxes.empty() && tree.boxes.size() == tree_.boxes.size();
  tree_ = tree;
  touched_ = {touched.begin(), touched.end()};
  message_.clear();
  lay_out_again();
  if (!same || !moved_by_hand()) fit();
}

void ScheduleCanvas::set_message(const QString& m) {
  message_ = m;
  tree_ = {};
  touched_.clear();
  lay_out_again();
}

void ScheduleCanvas::lay_out_again() {
  QFont strong = theme_.ui();
  strong.setBold(true);
  layout_ = lay_out(tree_, QFontMetricsF(strong), QFontMetricsF(theme_.mono()));
  update();
}

void ScheduleCanvas::set_selected(poly::NodeId id, const QString& statement) {
  if (id == selected_ && statement == statement_) return;
  selected_ = id;
  statement_ = statement;
  if (const int row = tree_.row_of(id); row >= 0) {
    Viewport v = viewport_;
    v.reveal(layout_.rows[static_cast<size_t>(row)].rect, 12);
    if (v.centre != viewport_.centre) set_viewport(v);
    setAccessibleDescription(row_text(tree_, row));
    QAccessibleEvent told(this, QAccessible::DescriptionChanged);
    QAccessible::updateAccessibility(&told);
  }
  update();
}

void ScheduleCanvas::set_hovered(poly::NodeId id, const QString& statement) {
  hovered_ = id;
  hovered_statement_ = statement;
  update();
}

void ScheduleCanvas::set_picking(bool on) {
  picking_ = on;
  setCursor(on ? Qt::CrossCursor : Qt::ArrowCursor);
  update();
}

QPointF ScheduleCanvas::middle_of(poly::NodeId id) const {
  const int row = tree_.row_of(id);
  return row < 0 ? QPointF()
                 : viewport_.to_screen(layout_.rows[static_cast<size_t>(row)].rect.center());
}

// A tree is read from its top left corner.
void ScheduleCanvas::fit() {
  viewport_.area = area_in(size());
  viewport_.fit(world(), {12, 12, 12, 12}, 1);
  if (viewport_.scale < kLegibleTree)
    viewport_.scale = std::clamp((viewport_.area.width() - 24) / std::max(1.0, world().width()),
                                 kLegibleTree, 1.0);
  const QSizeF half = viewport_.area.size() / 2;
  viewport_.centre =
      world().topLeft() + QPointF(half.width() - 12, half.height() - 12) / viewport_.scale;
  set_moved_by_hand(false);
  update();
  viewport_changed();
}

QColor ScheduleCanvas::kind_colour(const TreeBox& b) const {
  switch (b.kind) {
    case poly::NodeKind::Band:
      return theme_.series(0);
    case poly::NodeKind::Filter:
      return theme_.series(2);
    case poly::NodeKind::Mark:
      return theme_.series(3);
    default:
      return theme_.muted();
  }
}

bool ScheduleCanvas::has_statement(const TreeBox& b, const QString& statement) const {
  return !statement.isEmpty() && b.kind != poly::NodeKind::Sequence &&
         std::find(b.statements.begin(), b.statements.end(), statement.toStdString()) !=
             b.statements.end();
}

void ScheduleCanvas::paint_links(QPainter& p, int row) const {
  const TreeBox& b = tree_.boxes[static_cast<size_t>(row)];
  if (b.parent < 0) return;
  const QRectF from = layout_.rows[static_cast<size_t>(b.parent)].rect,
               to = layout_.rows[static_cast<size_t>(row)].rect;
  const double x = from.left() + 11, y = std::min(to.center().y(), to.top() + 13);
  p.setPen(QPen(theme_.line(), 1.2));
  p.drawLine(QPointF(x, from.bottom()), QPointF(x, y));
  p.drawLine(QPointF(x, y), QPointF(to.left(), y));
}

void ScheduleCanvas::paint_row(QPainter& p, int row, double scale) const {
  const TreeBox& b = tree_.boxes[static_cast<size_t>(row)];
  const TreeRow& r = layout_.rows[static_cast<size_t>(row)];
  const QColor colour = kind_colour(b);
  const bool selected = b.id == selected_, hovered = b.id == hovered_;
  const bool about = has_statement(b, statement_) || has_statement(b, hovered_statement_);
  p.setBrush(selected ? theme_.selection() : theme_.surface());
  p.setPen(QPen(selected || about ? theme_.accent()
                : hovered         ? theme_.text()
                                  : theme_.line(),
                selected ? 2.2
                : about  ? 1.6
                         : 1));
  p.drawRoundedRect(r.rect, 4, 4);
  p.fillRect(QRectF(r.rect.left(), r.rect.top() + 3, 3, r.rect.height() - 6), colour);
  if (touched_.count(b.id)) {
    p.setPen(theme_.warning());
    p.setFont(theme_.ui());
    p.drawText(QRectF(r.rect.right() + 3, r.rect.top(), 16, layout_.line_height + kTreePadY),
               Qt::AlignVCenter, QStringLiteral("●"));
  }
  if (scale < kTreeTextFrom) return;
  QFont strong = theme_.ui();
  strong.setBold(true);
  double y = r.rect.top() + kTreePadY;
  for (const TreeLine& l : r.lines) {
    p.setFont(l.strong ? strong : theme_.mono());
    p.setPen(l.strong  ? (b.kind == poly::NodeKind::Sequence ? theme_.muted() : theme_.text())
             : l.muted ? theme_.warning()
                       : theme_.text());
    p.drawText(QRectF(r.rect.left() + kTreePadX, y, r.rect.width(), layout_.line_height),
               Qt::AlignVCenter | Qt::TextSingleLine, l.text);
    y += layout_.line_height;
  }
}

void ScheduleCanvas::paint_tree(QPainter& p, const QRectF& seen, double scale) const {
  const auto [first, last] = layout_.rows_between(seen.top(), seen.bottom());
  // Links of boxes below the view may pass through it: those of their parents in view.
  for (int k = first; k < last; ++k)
    for (int c : tree_.boxes[static_cast<size_t>(k)].children)
      if (c >= last) paint_links(p, c);
  for (int k = first; k < last; ++k) paint_links(p, k);
  for (int k = first; k < last; ++k) paint_row(p, k, scale);
  if (layout_.storage.empty() || !seen.intersects(layout_.storage_rect)) return;
  p.setPen(QPen(theme_.line(), 1, Qt::DashLine));
  p.setBrush(Qt::NoBrush);
  p.drawRoundedRect(layout_.storage_rect, 4, 4);
  double y = layout_.storage_rect.top() + kTreePadY;
  for (const TreeLine& l : layout_.storage) {
    p.setPen(l.strong ? theme_.muted() : theme_.text());
    p.setFont(l.strong ? theme_.ui() : theme_.mono());
    p.drawText(QRectF(layout_.storage_rect.left() + kTreePadX, y, layout_.storage_rect.width(),
                      layout_.line_height),
               Qt::AlignVCenter | Qt::TextSingleLine, l.text);
    y += layout_.line_height;
  }
}

void ScheduleCanvas::paint_canvas(QPainter& p) {
  p.fillRect(rect(), theme_.background());
  if (tree_.boxes.empty()) {
    p.setPen(theme_.muted());
    p.drawText(rect().adjusted(16, 16, -16, -16), Qt::AlignCenter | Qt::TextWordWrap, message_);
    return;
  }
  p.setRenderHint(QPainter::Antialiasing);
  p.save();
  p.translate(viewport_.to_screen(QPointF(0, 0)));
  p.scale(viewport_.scale, viewport_.scale);
  paint_tree(p, viewport_.visible(), viewport_.scale);
  p.restore();
  if (!picking_ && !hasFocus()) return;
  p.setBrush(Qt::NoBrush);
  p.setPen(QPen(picking_ ? theme_.warning() : theme_.accent(), picking_ ? 3 : 1));
  p.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
}

void ScheduleCanvas::hover_at(QPointF at) {
  const int row = layout_.row_at(viewport_.to_world(at));
  const poly::NodeId id = row < 0 ? -1 : tree_.boxes[static_cast<size_t>(row)].id;
  if (id != hovered_) hovered_node(id);
}

void ScheduleCanvas::leave() { hovered_node(-1); }

void ScheduleCanvas::choose_row(int row) {
  if (row >= 0 && row < static_cast<int>(tree_.boxes.size()))
    chosen(tree_.boxes[static_cast<size_t>(row)].id);
}

void ScheduleCanvas::click_at(QPointF at, Qt::KeyboardModifiers) {
  const int row = layout_.row_at(viewport_.to_world(at));
  if (row >= 0)
    choose_row(row);
  else if (!picking_)
    chosen(-1);
}

// Arrows walk the tree as an outline; the view pans with WASD and Shift.
bool ScheduleCanvas::key(QKeyEvent* e) {
  if (e->key() == Qt::Key_Space && e->modifiers() == Qt::NoModifier) return show_all(), true;
  if (e->key() == Qt::Key_Escape) return escaped(), true;
  if (tree_.boxes.empty() || e->modifiers() != Qt::NoModifier) return false;
  const int row = tree_.row_of(selected_), count = static_cast<int>(tree_.boxes.size());
  const TreeBox* b = row < 0 ? nullptr : &tree_.boxes[static_cast<size_t>(row)];
  switch (e->key()) {
    case Qt::Key_Down:
      return choose_row(std::min(row + 1, count - 1)), true;
    case Qt::Key_Up:
      return choose_row(std::max(row - 1, 0)), true;
    case Qt::Key_Left:
      return choose_row(b ? std::max(0, b->parent) : 0), true;
    case Qt::Key_Right:
      return choose_row(b && !b->children.empty() ? b->children.front() : std::max(0, row)), true;
    case Qt::Key_Home:
      return choose_row(0), true;
    case Qt::Key_End:
      return choose_row(count - 1), true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Menu:
      menu_wanted(mapToGlobal(b ? middle_of(b->id) : QPointF(rect().center())).toPoint());
      return true;
    default:
      return false;
  }
}

void ScheduleCanvas::contextMenuEvent(QContextMenuEvent* e) {
  if (e->reason() == QContextMenuEvent::Mouse) {
    const int row = layout_.row_at(viewport_.to_world(e->pos()));
    if (row >= 0) choose_row(row);
  }
  menu_wanted(e->globalPos());
}

bool ScheduleCanvas::event(QEvent* e) {
  if (e->type() != QEvent::ToolTip) return Canvas::event(e);
  auto* help = static_cast<QHelpEvent*>(e);
  const int row = layout_.row_at(viewport_.to_world(help->pos()));
  if (row < 0)
    QToolTip::hideText();
  else
    QToolTip::showText(help->globalPos(), row_text(tree_, row), this);
  return true;
}

}  // namespace nautilus::gui
