// How a code pane looks.
#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>
#include <QTextOption>
#include <algorithm>

#include "gui/models/stage_texts.h"
#include "gui/views/code_pane.h"
#include "gui/views/hatch.h"

namespace nautilus::gui {

namespace {

constexpr int kRuler = 8;  // width of the marks at the right edge

}  // namespace

QColor CodePane::colour(const TokenSpan& t) const {
  switch (t.token) {
    case Token::Keyword:
      return theme_.accent();
    case Token::Type:
      return theme_.series(2);
    case Token::Number:
      return theme_.series(4);
    case Token::Text:
      return theme_.series(6);
    case Token::Comment:
    case Token::Origin:
      return theme_.muted();
    case Token::Value:
      return theme_.series(3);
    case Token::Statement:
      return theme_.series(t.statement);
    case Token::Plain:
      break;
  }
  return theme_.text();
}

void CodePane::paint_row(QPainter& p, int n, int y, int width) {
  const PaneRow r = row(n);
  const QString& text = text_of(r);
  const int gutter_width = gutter(), shift = horizontalScrollBar()->value();
  const QRect whole(0, y, width, row_height_);
  const int baseline = y + 1 + p.fontMetrics().ascent();
  const bool line = r.kind == PaneRow::Kind::Line && r.line >= 0;
  if (r.kind == PaneRow::Kind::Fold) {
    p.fillRect(whole, theme_.surface());
    p.setPen(theme_.muted());
    p.drawText(whole.adjusted(gutter_width, 0, 0, 0), Qt::AlignVCenter,
               QStringLiteral("⋯ %1 lines alike").arg(r.folded));
    return;
  }
  if (r.kind == PaneRow::Kind::Filler) hatch(p, whole, faded(theme_.line(), 0.7));
  const QColor side = r.diff == DiffKind::Removed ? theme_.bad() : theme_.good();
  const bool differs = r.diff != DiffKind::Same && r.kind != PaneRow::Kind::Filler;
  if (differs) p.fillRect(whole, faded(side, 0.14));
  const uint8_t chosen = line ? selected_[size_t(r.line)] : 0;
  const uint8_t under = line ? hovered_[size_t(r.line)] : 0;
  if (chosen) p.fillRect(whole, faded(theme_.selection(), chosen == 2 ? 1.0 : 0.45));
  if (under) p.fillRect(whole, faded(theme_.warning(), under == 2 ? 0.28 : 0.13));
  if (differs && r.to > r.from)
    p.fillRect(QRect(gutter_width + r.from * char_width_ - shift, y, (r.to - r.from) * char_width_,
                     row_height_),
               faded(side, 0.32));
  // Selected text.
  const Place a = std::min(anchor_, end_), b = std::max(anchor_, end_);
  if (!(a == b) && n >= a.row && n <= b.row) {
    const int from = n == a.row ? a.column : 0;
    const int to = n == b.row ? b.column : int(text.size()) + 1;
    p.fillRect(
        QRect(gutter_width + from * char_width_ - shift, y, (to - from) * char_width_, row_height_),
        faded(theme_.accent(), 0.35));
  }
  p.save();
  p.setClipRect(QRect(gutter_width, y, width - gutter_width, row_height_), Qt::IntersectClip);
  if (!needle_.isEmpty())
    for (qsizetype at = 0; (at = text.indexOf(needle_, at, Qt::CaseInsensitive)) >= 0;
         at += needle_.size())
      p.fillRect(QRect(gutter_width + int(at) * char_width_ - shift, y + 1,
                       int(needle_.size()) * char_width_, row_height_ - 2),
                 faded(theme_.warning(), 0.5));
  // Only the columns on screen, word by word at its column.
  const int first = std::max(0, shift / char_width_ - 1);
  const int last = (shift + width - gutter_width) / char_width_ + 1;
  const auto draw = [&](int begin, int end, const QColor& c) {
    begin = std::max(begin, first), end = std::min({end, last, int(text.size())});
    if (begin >= end) return;
    p.setPen(c);
    p.drawText(QPoint(gutter_width + begin * char_width_ - shift, baseline),
               text.mid(begin, end - begin));
  };
  int at = 0;
  for (const TokenSpan& t : tokens_of(stage_.syntax, text, statements_)) {
    draw(at, t.begin, theme_.text());
    draw(t.begin, t.begin + t.length, colour(t));
    at = t.begin + t.length;
  }
  draw(at, int(text.size()), theme_.text());
  p.restore();

  // Line number, sign of the change, and a stripe in the colour of the line's statement.
  p.setPen(chosen || n == current_ ? theme_.text() : theme_.muted());
  const int numbers = gutter_width - 10 - char_width_;
  if (line || r.kind == PaneRow::Kind::Before)
    p.drawText(QRect(0, y, numbers, row_height_), Qt::AlignRight | Qt::AlignVCenter,
               r.kind == PaneRow::Kind::Before ? QString() : QString::number(r.line + 1));
  if (differs) {
    p.setPen(side);
    p.drawText(QRect(numbers, y, char_width_ * 3 / 2, row_height_), Qt::AlignCenter,
               r.diff == DiffKind::Removed ? QStringLiteral("−")
               : r.diff == DiffKind::Added ? QStringLiteral("+")
                                           : QStringLiteral("~"));
  }
  if (line && size_t(r.line) < stage_.tags.size()) {
    const std::vector<int>& of = stage_.tags[size_t(r.line)].statements;
    const int count = std::min<int>(3, int(of.size()));
    for (int s = 0; s < count; ++s)
      p.fillRect(QRect(gutter_width - 8 + s * 2, y, 2 + (count == 1), row_height_),
                 theme_.series(of[size_t(s)]));
  }
  if (n == current_ && hasFocus()) {
    p.setPen(faded(theme_.accent(), 0.8));
    p.setBrush(Qt::NoBrush);
    p.drawRect(whole.adjusted(0, 0, -1, -1));
  }
}

// Where lit, changed and found lines are in the whole text.
void CodePane::paint_marks(QPainter& p, const QRect& where) {
  const int rows = row_count();
  if (rows <= verticalScrollBar()->pageStep()) return;
  p.fillRect(where, faded(theme_.surface(), 0.8));
  std::vector<uint8_t> drawn(size_t(where.height() + 1));
  for (int n = 0; n < rows; ++n) {
    const PaneRow r = row(n);
    const bool line = r.kind == PaneRow::Kind::Line && r.line >= 0;
    const uint8_t what = line && hovered_[size_t(r.line)] == 2    ? 3
                         : line && selected_[size_t(r.line)] == 2 ? 2
                         : r.diff != DiffKind::Same               ? 1
                                                                  : 0;
    if (!what) continue;
    const int y = int(int64_t(n) * where.height() / rows);
    if (drawn[size_t(y)] >= what) continue;
    drawn[size_t(y)] = what;
    p.fillRect(QRect(where.left(), where.top() + y, where.width(), 2),
               what == 3   ? theme_.warning()
               : what == 2 ? theme_.accent()
                           : faded(theme_.good(), 0.8));
  }
}

// In place of a text: why there is none.
void CodePane::paint_message(QPainter& p, const QRect& page) const {
  p.fillRect(page, theme_.background());
  p.setPen(stage_.refusal ? theme_.bad() : theme_.muted());
  p.setFont(theme_.ui());
  p.drawText(page.adjusted(16, 16, -16, -16), Qt::TextWordWrap | Qt::AlignTop | Qt::AlignLeft,
             stage_.refusal ? refusal_text(*stage_.refusal) : message_);
}

void CodePane::paint_on(QPainter& p, const QRect& page) {
  if (stage_.refusal || !message_.isEmpty()) return paint_message(p, page);
  p.save();
  p.translate(page.topLeft());
  p.setClipRect(QRect(QPoint(0, 0), page.size()), Qt::IntersectClip);
  p.setFont(theme_.mono());
  p.fillRect(QRect(QPoint(0, 0), page.size()), theme_.background());
  p.fillRect(QRect(0, 0, gutter() - 10, page.height()), theme_.surface());
  const int first = verticalScrollBar()->value();
  for (int n = first; n < row_count() && (n - first) * row_height_ < page.height(); ++n)
    paint_row(p, n, (n - first) * row_height_, page.width());
  p.restore();
}

void CodePane::paintEvent(QPaintEvent*) {
  QPainter p(viewport());
  const QRect all = viewport()->rect();
  paint_on(p, all);
  if (!stage_.refusal && message_.isEmpty())
    paint_marks(p, QRect(all.right() - kRuler, 0, kRuler, all.height()));
}

}  // namespace nautilus::gui
