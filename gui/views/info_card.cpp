#include "gui/views/info_card.h"

#include <QFontMetricsF>
#include <algorithm>

namespace nautilus::gui {
namespace {

constexpr double kPad = 10, kWidest = 400, kGap = 3;
constexpr int kWrap = Qt::TextWordWrap | Qt::TextWrapAnywhere | Qt::AlignLeft | Qt::AlignTop;

struct Placed {
  QRectF rect;
  QString text;
  QFont font;
  bool muted = false;
};

// Below the target, else above, else beside it.
QPointF corner_of(QSizeF size, const QRectF& target, const QRectF& area) {
  const double x = std::clamp(target.left(), area.left() + 6,
                              std::max(area.left() + 6, area.right() - size.width() - 6));
  if (target.bottom() + 8 + size.height() <= area.bottom()) return {x, target.bottom() + 8};
  if (target.top() - 8 - size.height() >= area.top()) return {x, target.top() - 8 - size.height()};
  const double y = std::max(area.top() + 6, area.bottom() - size.height() - 6);
  const bool right = target.right() + 8 + size.width() <= area.right();
  return {right ? target.right() + 8 : std::max(area.left() + 6, target.left() - 8 - size.width()),
          y};
}

}  // namespace

QString InfoCard::plain_text() const {
  QString s = title;
  for (const Line& l : lines)
    s += QStringLiteral(". ") +
         (l.name.isEmpty() ? l.value : l.name + QStringLiteral(": ") + l.value);
  return s;
}

void paint_card(QPainter& p, const InfoCard& card, const QRectF& target, const QRectF& area,
                const Theme& theme) {
  QFont plain = theme.ui(), bold = plain;
  bold.setBold(true);
  const QFontMetricsF m(plain);
  const double inner = std::min(kWidest, area.width() - 24) - 2 * kPad;
  double names = 0;
  for (auto& l : card.lines) names = std::max(names, m.horizontalAdvance(l.name));
  std::vector<Placed> placed;
  double y = 0, right = 0;
  auto add = [&](const QString& text, const QFont& font, double x, bool muted) {
    const QRectF room(x, y, inner - x, 2000);
    const QRectF r = QFontMetricsF(font).boundingRect(room, kWrap, text);
    placed.push_back({QRectF(x, y, inner - x, r.height() + 1), text, font, muted});
    right = std::max(right, r.right());
    return r.height();
  };
  y += add(card.title, bold, 0, false) + kGap + 2;
  for (auto& l : card.lines) {
    if (!l.name.isEmpty()) add(l.name, plain, 0, true);
    y += add(l.value, plain, l.name.isEmpty() ? 0 : names + 10, false) + kGap;
  }
  const QSizeF size(std::min(inner, right + 2) + 2 * kPad, y + 2 * kPad - kGap);
  const QRectF box(corner_of(size, target, area), size);
  p.save();
  p.setRenderHint(QPainter::Antialiasing);
  p.setPen(QPen(theme.line(), 1));
  QColor ground = theme.surface();
  ground.setAlpha(248);
  p.setBrush(ground);
  p.drawRoundedRect(box, 5, 5);
  p.fillRect(QRectF(box.left() + 1, box.top() + 5, 3, box.height() - 10), card.colour);
  for (const Placed& t : placed) {
    p.setFont(t.font);
    p.setPen(t.muted ? theme.muted() : theme.text());
    p.drawText(t.rect.translated(box.topLeft() + QPointF(kPad, kPad)), kWrap, t.text);
  }
  p.restore();
}

}  // namespace nautilus::gui
