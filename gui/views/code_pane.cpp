#include "gui/views/code_pane.h"

#include <QApplication>
#include <QClipboard>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>

namespace nautilus::gui {

namespace {

constexpr int kAround = 3;  // unchanged lines shown beside a change

}  // namespace

CodePane::CodePane(const Theme& theme, QWidget* parent)
    : QAbstractScrollArea(parent), theme_(theme) {
  setFocusPolicy(Qt::StrongFocus);
  setFrameShape(QFrame::NoFrame);
  viewport()->setMouseTracking(true);
  viewport()->setCursor(Qt::IBeamCursor);
  setAccessibleDescription(
      QStringLiteral("Arrows move the current line, Enter selects what it is about"));
  connect(&theme, &Theme::changed, this, [this] {
    measure();
    viewport()->update();
  });
  measure();
}

void CodePane::measure() {
  const QFontMetrics metrics(theme_.mono());
  row_height_ = metrics.lineSpacing() + 2;
  char_width_ = std::max(1, metrics.horizontalAdvance(QLatin1Char('M')));
}

void CodePane::set_stage(std::shared_ptr<const PlanStages> plan, const Stage& stage) {
  const bool same_place = stage.id == stage_.id;
  plan_ = std::move(plan);
  stage_ = stage;
  message_.clear();
  rows_.clear();
  before_.clear();
  statements_.clear();
  if (plan_)
    for (size_t s = 0; s < plan_->statements.size(); ++s)
      statements_.insert(plan_->statements[s], int(s));
  longest_ = 0;
  for (const QString& l : stage_.lines) longest_ = std::max(longest_, int(l.size()));
  selected_.assign(size_t(stage_.lines.size()), 0);
  hovered_ = selected_;
  anchor_ = end_ = {};
  hover_row_ = -1;
  current_ = same_place ? std::clamp(current_, 0, std::max(0, row_count() - 1)) : 0;
  setAccessibleName(stage_.title);
  bars();
  if (!same_place) verticalScrollBar()->setValue(0), horizontalScrollBar()->setValue(0);
  viewport()->update();
}

void CodePane::set_message(const QString& text) {
  Stage none;
  none.id = stage_.id, none.title = stage_.title, none.syntax = stage_.syntax;
  set_stage(plan_, none);
  message_ = text;
  setAccessibleDescription(text);
}

void CodePane::set_rows(std::vector<PaneRow> rows) {
  rows_ = std::move(rows);
  current_ = std::clamp(current_, 0, std::max(0, row_count() - 1));
  anchor_ = end_ = {};
  bars();
  viewport()->update();
}

void CodePane::show_all() {
  before_.clear();
  set_rows({});
}

void CodePane::show_changes(const Stage& before) {
  const std::vector<DiffRow> diff = diff_lines(before.lines, stage_.lines);
  before_ = before.lines;
  for (const QString& l : before_) longest_ = std::max(longest_, int(l.size()));
  std::vector<PaneRow> rows;
  for (size_t n = 0; n < diff.size();) {
    if (diff[n].kind == DiffKind::Same) {
      size_t end = n;
      while (end < diff.size() && diff[end].kind == DiffKind::Same) ++end;
      const size_t head = n == 0 ? 0 : kAround, tail = end == diff.size() ? 0 : kAround;
      const bool fold = end - n > head + tail + 1;
      for (size_t k = n; k < end; ++k) {
        if (fold && k == n + head) {
          const size_t skipped = end - n - head - tail;
          rows.push_back({PaneRow::Kind::Fold, diff[k].right, DiffKind::Same, 0, 0, int(skipped)});
          k += skipped - 1;
          continue;
        }
        rows.push_back({PaneRow::Kind::Line, diff[k].right, DiffKind::Same, 0, 0, 0});
      }
      n = end;
      continue;
    }
    size_t end = n;
    while (end < diff.size() && diff[end].kind != DiffKind::Same) ++end;
    std::vector<PaneRow> added;
    for (; n < end; ++n) {
      const DiffRow& d = diff[n];
      DiffSpan span;
      if (d.kind == DiffKind::Changed) span = diff_span(before_[d.left], stage_.lines[d.right]);
      if (d.left >= 0)
        rows.push_back(
            {PaneRow::Kind::Before, d.left, DiffKind::Removed, span.left_begin, span.left_end, 0});
      if (d.right >= 0)
        added.push_back(
            {PaneRow::Kind::Line, d.right, DiffKind::Added, span.right_begin, span.right_end, 0});
    }
    rows.insert(rows.end(), added.begin(), added.end());
  }
  set_rows(std::move(rows));
}

int CodePane::row_count() const {
  return rows_.empty() ? int(stage_.lines.size()) : int(rows_.size());
}

PaneRow CodePane::row(int n) const {
  if (!rows_.empty()) return rows_[size_t(n)];
  PaneRow r;
  r.line = n;
  return r;
}

int CodePane::line_of_row(int n) const {
  if (n < 0 || n >= row_count()) return -1;
  const PaneRow r = row(n);
  return r.kind == PaneRow::Kind::Line ? r.line : -1;
}

const QString& CodePane::text_of(const PaneRow& r) const {
  static const QString none;
  const QStringList& from = r.kind == PaneRow::Kind::Before ? before_ : stage_.lines;
  const bool text = r.kind == PaneRow::Kind::Line || r.kind == PaneRow::Kind::Before;
  return text && r.line >= 0 && r.line < from.size() ? from[r.line] : none;
}

void CodePane::set_focus(const Focus& selected, const Focus& hovered) {
  const bool known = plan_ && stage_.tags.size() == size_t(stage_.lines.size());
  for (size_t n = 0; n < selected_.size(); ++n) {
    selected_[n] = known ? uint8_t(relevance(*plan_, stage_.tags[n], selected)) : 0;
    hovered_[n] = known ? uint8_t(relevance(*plan_, stage_.tags[n], hovered)) : 0;
  }
  viewport()->update();
}

bool CodePane::reveal() {
  int best = -1;
  for (int r = 0; r < row_count(); ++r) {
    const int line = line_of_row(r);
    if (line < 0 || !selected_[size_t(line)]) continue;
    if (selected_[size_t(line)] == 2) {
      best = r;
      break;
    }
    if (best < 0) best = r;
  }
  if (best < 0) return false;
  QScrollBar* bar = verticalScrollBar();
  if (best < bar->value() || best >= bar->value() + bar->pageStep())
    bar->setValue(best - bar->pageStep() / 3);
  current_ = best;
  viewport()->update();
  return true;
}

int CodePane::find(const QString& text, bool forward) {
  needle_ = text;
  viewport()->update();
  if (text.isEmpty()) return 0;
  int found = 0, first = -1, last = -1, next = -1, previous = -1;
  for (int r = 0; r < row_count(); ++r) {
    if (!text_of(row(r)).contains(text, Qt::CaseInsensitive)) continue;
    ++found;
    if (first < 0) first = r;
    last = r;
    if (r > current_ && next < 0) next = r;
    if (r < current_) previous = r;
  }
  if (found) set_current(forward ? (next >= 0 ? next : first) : previous >= 0 ? previous : last);
  return found;
}

void CodePane::set_current(int r) {
  if (row_count() == 0) return;
  current_ = std::clamp(r, 0, row_count() - 1);
  QScrollBar* bar = verticalScrollBar();
  if (current_ < bar->value()) bar->setValue(current_);
  if (current_ >= bar->value() + bar->pageStep()) bar->setValue(current_ - bar->pageStep() + 1);
  viewport()->update();
}

void CodePane::bars() {
  const int rows = std::max(1, viewport()->height() / row_height_);
  verticalScrollBar()->setPageStep(rows);
  verticalScrollBar()->setRange(0, std::max(0, row_count() - rows));
  const int width = gutter() + (longest_ + 2) * char_width_;
  horizontalScrollBar()->setPageStep(viewport()->width());
  horizontalScrollBar()->setSingleStep(4 * char_width_);
  horizontalScrollBar()->setRange(0, std::max(0, width - viewport()->width()));
}

int CodePane::gutter() const {
  const int digits = std::max(2, int(QString::number(stage_.lines.size()).size()));
  return (digits + 2) * char_width_ + 10;
}

CodePane::Place CodePane::place_at(const QPoint& at) const {
  const int r = std::clamp(row_at(at), 0, std::max(0, row_count() - 1));
  const int x = at.x() - gutter() + horizontalScrollBar()->value();
  const int column = std::max(0, (x + char_width_ / 2) / char_width_);
  return {r, row_count() ? std::min(column, int(text_of(row(r)).size())) : 0};
}

int CodePane::row_at(const QPoint& at) const {
  return verticalScrollBar()->value() + (at.y() < 0 ? -1 : at.y() / row_height_);
}

Focus CodePane::focus_of_row(int r) const {
  const int line = line_of_row(r);
  if (!plan_ || line < 0 || size_t(line) >= stage_.tags.size()) return {};
  return focus_of(*plan_, stage_.tags[size_t(line)]);
}

QString CodePane::selected_text() const {
  if (row_count() == 0) return {};
  Place a = std::min(anchor_, end_), b = std::max(anchor_, end_);
  if (a == b) return text_of(row(std::min(current_, row_count() - 1)));
  QStringList out;
  for (int r = a.row; r <= b.row && r < row_count(); ++r) {
    const QString& t = text_of(row(r));
    const int from = r == a.row ? a.column : 0;
    out << t.mid(from, r == b.row ? b.column - from : -1);
  }
  return out.join(QLatin1Char('\n'));
}

void CodePane::resizeEvent(QResizeEvent* e) {
  QAbstractScrollArea::resizeEvent(e);
  bars();
}

void CodePane::mouseMoveEvent(QMouseEvent* e) {
  if (dragging_) {
    end_ = place_at(e->pos());
    if (e->pos().y() < 0) verticalScrollBar()->triggerAction(QScrollBar::SliderSingleStepSub);
    if (e->pos().y() > viewport()->height())
      verticalScrollBar()->triggerAction(QScrollBar::SliderSingleStepAdd);
    viewport()->update();
    return;
  }
  const int r = row_at(e->pos());
  if (r == hover_row_) return;
  hover_row_ = r;
  hovered(r < row_count() ? focus_of_row(r) : Focus{});
}

void CodePane::mousePressEvent(QMouseEvent* e) {
  activated();
  if (e->button() != Qt::LeftButton || row_count() == 0) return;
  const Place at = place_at(e->pos());
  if (!(e->modifiers() & Qt::ShiftModifier)) anchor_ = at;
  end_ = at;
  current_ = at.row;
  dragging_ = true;
  viewport()->update();
}

void CodePane::mouseReleaseEvent(QMouseEvent* e) {
  if (e->button() != Qt::LeftButton || !dragging_) return;
  dragging_ = false;
  if (anchor_ == end_ && row_at(e->pos()) < row_count()) picked(focus_of_row(current_));
}

void CodePane::leaveEvent(QEvent*) {
  hover_row_ = -1;
  hovered({});
}

void CodePane::focusInEvent(QFocusEvent* e) {
  QAbstractScrollArea::focusInEvent(e);
  activated();
  viewport()->update();
}

void CodePane::changeEvent(QEvent* e) {
  QAbstractScrollArea::changeEvent(e);
  if (e->type() == QEvent::FontChange || e->type() == QEvent::PaletteChange) measure(), bars();
}

bool CodePane::viewportEvent(QEvent* e) {
  if (e->type() == QEvent::ToolTip) {
    auto* help = static_cast<QHelpEvent*>(e);
    const Focus f = focus_of_row(row_at(help->pos()));
    QStringList parts;
    if (!f.statement.isEmpty()) parts << QStringLiteral("statement ") + f.statement;
    if (f.node >= 0) parts << QStringLiteral("schedule node %1").arg(f.node);
    QToolTip::showText(help->globalPos(), parts.join(QStringLiteral(", ")), viewport());
    return true;
  }
  return QAbstractScrollArea::viewportEvent(e);
}

void CodePane::move_to(int r, bool keep_anchor) {
  set_current(r);
  end_ = {current_, keep_anchor ? int(text_of(row(current_)).size()) : 0};
  if (!keep_anchor) anchor_ = end_;
  hovered(focus_of_row(current_));
}

void CodePane::keyPressEvent(QKeyEvent* e) {
  if (e->matches(QKeySequence::Copy)) return QApplication::clipboard()->setText(selected_text());
  if (row_count() == 0) return QAbstractScrollArea::keyPressEvent(e);
  if (e->matches(QKeySequence::SelectAll)) {
    anchor_ = {0, 0};
    end_ = {row_count() - 1, int(text_of(row(row_count() - 1)).size())};
    return viewport()->update();
  }
  const bool shift = e->modifiers() & Qt::ShiftModifier;
  const int page = verticalScrollBar()->pageStep();
  switch (e->key()) {
    case Qt::Key_Up:
      return move_to(current_ - 1, shift);
    case Qt::Key_Down:
      return move_to(current_ + 1, shift);
    case Qt::Key_PageUp:
      return move_to(current_ - page, shift);
    case Qt::Key_PageDown:
      return move_to(current_ + page, shift);
    case Qt::Key_Home:
      return move_to(0, shift);
    case Qt::Key_End:
      return move_to(row_count() - 1, shift);
    case Qt::Key_Left:
    case Qt::Key_Right:
      return horizontalScrollBar()->triggerAction(e->key() == Qt::Key_Left
                                                      ? QScrollBar::SliderSingleStepSub
                                                      : QScrollBar::SliderSingleStepAdd);
    case Qt::Key_Return:
    case Qt::Key_Enter:
      return picked(focus_of_row(current_));
    default:
      QAbstractScrollArea::keyPressEvent(e);
  }
}

}  // namespace nautilus::gui
