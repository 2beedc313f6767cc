#include "gui/app/start_entry.h"

#include <QKeyEvent>
#include <QPainter>

namespace nautilus::gui {
namespace {

constexpr int kEntryPadX = 6, kEntryPadY = 3, kLeastEntry = 120;

}  // namespace

StartEntry::StartEntry(const QString& name, const QString& about, int column, QWidget* parent)
    : QAbstractButton(parent), about_(about.simplified()), column_(column) {
  setText(name);
  setCursor(Qt::PointingHandCursor);
  setFocusPolicy(Qt::StrongFocus);
  setAttribute(Qt::WA_Hover);
  setToolTip(about_.isEmpty() ? name : about_);
  setAccessibleName(name);
  setAccessibleDescription(about_);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

int StartEntry::line() const { return fontMetrics().height(); }

QSize StartEntry::sizeHint() const {
  const int lines = column_ == 0 && !about_.isEmpty() ? 2 : 1;
  return {std::max(kLeastEntry, column_ + fontMetrics().horizontalAdvance(text()) + 2 * kEntryPadX),
          lines * line() + 2 * kEntryPadY};
}

QSize StartEntry::minimumSizeHint() const { return {kLeastEntry, sizeHint().height()}; }

void StartEntry::paintEvent(QPaintEvent*) {
  QPainter p(this);
  p.setRenderHint(QPainter::Antialiasing);
  const QRectF frame = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
  const QPalette& c = palette();
  if (underMouse() || isDown()) {
    p.setPen(Qt::NoPen);
    p.setBrush(c.color(QPalette::Midlight));
    p.drawRoundedRect(frame, 4, 4);
  }
  if (hasFocus()) {
    p.setPen(QPen(c.color(QPalette::Highlight), 2));
    p.setBrush(Qt::NoBrush);
    p.drawRoundedRect(frame.adjusted(1, 1, -1, -1), 4, 4);
  }
  const QRect inside = rect().adjusted(kEntryPadX, kEntryPadY, -kEntryPadX, -kEntryPadY);
  const auto put = [&](QRect at, const QString& text, QPalette::ColorRole role) {
    p.setPen(c.color(role));
    p.drawText(at, Qt::AlignLeft | Qt::AlignVCenter,
               fontMetrics().elidedText(text, Qt::ElideRight, at.width()));
  };
  const bool below = column_ == 0;
  QRect name = inside, about = inside;
  if (below && !about_.isEmpty()) {
    name.setHeight(line());
    about.setTop(name.bottom() + 1);
    about.setLeft(about.left() + kEntryPadX);
  } else if (!below) {
    name.setWidth(std::min(column_ - kEntryPadX, inside.width()));
    about.setLeft(inside.left() + column_);
  }
  put(name, text(), QPalette::WindowText);
  if (about.width() > kLeastEntry / 4) put(about, about_, QPalette::PlaceholderText);
}

void StartEntry::keyPressEvent(QKeyEvent* e) {
  if (e->key() == Qt::Key_Return || e->key() == Qt::Key_Enter) return click();
  QAbstractButton::keyPressEvent(e);
}

}  // namespace nautilus::gui
