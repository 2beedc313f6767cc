#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/views/budget_view.h"

namespace nautilus::gui {

BudgetCanvas::BudgetCanvas(const Shared& shared, QWidget* parent)
    : QWidget(parent), shared_(shared) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Registers, shared memory, occupancy and pipeline"));
  setAccessibleDescription(tr("Plus and minus zoom the timeline, left and right move it"));
}

void BudgetCanvas::set_budget(std::shared_ptr<const Budget> b, int kernel) {
  budget_ = std::move(b);
  kernel_ = kernel;
  message_.clear();
  from_ = 0, to_ = 1;
  update();
}

void BudgetCanvas::set_message(const QString& text) {
  budget_.reset();
  message_ = text;
  hits_.clear();
  setMinimumHeight(0);
  update();
}

Focus BudgetCanvas::lit() const {
  const Focus hovered{shared_.selection.hovered_tree_node(), shared_.selection.hovered_statement()};
  if (!hovered.empty()) return hovered;
  const Selected& now = shared_.selection.now();
  return {now.statement.isEmpty() ? -1 : now.tree_node, now.statement};
}

double BudgetCanvas::paint_on(QPainter& p, double width) {
  if (!budget_) {
    p.setFont(shared_.theme.ui());
    p.setPen(message_.startsWith(QChar(0x2717)) ? shared_.theme.bad() : shared_.theme.muted());
    p.drawText(QRectF(16, 16, width - 32, 1000), Qt::AlignTop | Qt::AlignLeft | Qt::TextWordWrap,
               message_);
    return 0;
  }
  BudgetPainter painter(*budget_, shared_.theme);
  const double height = painter.paint(p, kernel_, width, from_, to_, lit());
  hits_ = painter.hits();
  timeline_ = painter.timeline();
  return height;
}

void BudgetCanvas::paintEvent(QPaintEvent*) {
  QPainter p(this);
  p.fillRect(rect(), shared_.theme.background());
  const int height = int(std::ceil(paint_on(p, width())));
  if (budget_ && height != minimumHeight()) setMinimumHeight(height);
}

const BudgetHit* BudgetCanvas::hit(const QPointF& at) const {
  for (auto h = hits_.rbegin(); h != hits_.rend(); ++h)
    if (h->where.contains(at)) return &*h;
  return nullptr;
}

void BudgetCanvas::zoom(double factor, double at) {
  const double span = std::clamp((to_ - from_) * factor, 0.002, 1.0);
  const double centre = from_ + at * (to_ - from_);
  set_span(centre - at * span, centre + (1 - at) * span);
}

void BudgetCanvas::fit() { set_span(0, 1); }

void BudgetCanvas::set_span(double from, double to) {
  const double span = std::clamp(to - from, 0.002, 1.0);
  from_ = std::clamp(from, 0.0, 1 - span);
  to_ = from_ + span;
  update();
}

void BudgetCanvas::mouseMoveEvent(QMouseEvent* e) {
  if (dragging_ && timeline_.width() > 0) {
    const double by = (at_.x() - e->position().x()) / timeline_.width() * (to_ - from_);
    at_ = e->position();
    setCursor(Qt::ClosedHandCursor);
    return set_span(from_ + by, to_ + by);
  }
  const BudgetHit* h = hit(e->position());
  setCursor(h ? Qt::PointingHandCursor : Qt::ArrowCursor);
  const Focus f = h ? h->focus : Focus{};
  shared_.selection.hover_tree(f.node, f.statement);
}

void BudgetCanvas::mousePressEvent(QMouseEvent* e) {
  pressed_ = at_ = e->position();
  dragging_ = e->button() == Qt::LeftButton && timeline_.contains(pressed_);
}

void BudgetCanvas::mouseReleaseEvent(QMouseEvent* e) {
  dragging_ = false;
  if (e->button() != Qt::LeftButton || (e->position() - pressed_).manhattanLength() > 3) return;
  const BudgetHit* h = hit(e->position());
  const Focus f = h ? h->focus : Focus{};
  shared_.selection.select_tree_node(f.node);
  shared_.selection.select_statement(f.statement);
}

void BudgetCanvas::mouseDoubleClickEvent(QMouseEvent* e) {
  if (timeline_.contains(e->position())) fit();
}

void BudgetCanvas::leaveEvent(QEvent*) { shared_.selection.hover_tree(-1, {}); }

void BudgetCanvas::wheelEvent(QWheelEvent* e) {
  if (!timeline_.contains(e->position())) return e->ignore();
  zoom(std::pow(0.9985, e->angleDelta().y()),
       (e->position().x() - timeline_.left()) / timeline_.width());
  e->accept();
}

void BudgetCanvas::keyPressEvent(QKeyEvent* e) {
  const double step = 0.15 * (to_ - from_);
  if (e->key() == Qt::Key_Left || e->key() == Qt::Key_A)
    set_span(from_ - step, to_ - step);
  else if (e->key() == Qt::Key_Right || e->key() == Qt::Key_D)
    set_span(from_ + step, to_ + step);
  else
    QWidget::keyPressEvent(e);
}

bool BudgetCanvas::event(QEvent* e) {
  if (e->type() != QEvent::ToolTip) return QWidget::event(e);
  auto* help = static_cast<QHelpEvent*>(e);
  const BudgetHit* h = hit(help->pos());
  QToolTip::showText(help->globalPos(), h ? h->tip : QString(), this);
  return true;
}

}  // namespace nautilus::gui
