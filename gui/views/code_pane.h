// One text with line numbers: paints the lines on screen alone, lights up those that the selection
// is about, finds, and shows what changed. Of the keyboard: arrows move the current line, Enter
// selects what it is about, Ctrl+C copies.
#pragma once

#include <QAbstractScrollArea>
#include <memory>

#include "gui/models/syntax.h"
#include "gui/models/text_diff.h"
#include "gui/models/theme.h"

namespace nautilus::gui {

// A row on screen: a line of the text, of the text before it, a filler, or a fold.
struct PaneRow {
  enum class Kind : uint8_t { Line, Before, Filler, Fold };
  Kind kind = Kind::Line;
  int line = -1;
  DiffKind diff = DiffKind::Same;
  int from = 0, to = 0;  // of a changed line: what differs
  int folded = 0;        // Fold: how many lines
};

class CodePane : public QAbstractScrollArea {
  Q_OBJECT
 public:
  CodePane(const Theme& theme, QWidget* parent);

  void set_stage(std::shared_ptr<const PlanStages> plan, const Stage& stage);
  void set_message(const QString& text);  // in place of a text
  const Stage& stage() const { return stage_; }
  // Rows that differ from `before`, with a few around them; no longer: all lines.
  void show_changes(const Stage& before);
  void show_all();
  bool shows_changes() const { return !before_.isEmpty() || !rows_.empty(); }
  // For two panes side by side: rows of both, one to one.
  void set_rows(std::vector<PaneRow> rows);

  void set_focus(const Focus& selected, const Focus& hovered);
  const std::vector<uint8_t>& relevant() const { return selected_; }  // by line, to the selection
  bool reveal();  // scrolls to the first line that is lit; false: none
  int find(const QString& text, bool forward);  // goes to the next; how many lines have it
  int row_count() const;
  int line_of_row(int row) const;  // -1: none
  int current_row() const { return current_; }
  void set_current(int row);
  QString selected_text() const;
  void paint_on(QPainter& p, const QRect& page);  // from the first row on screen
  int row_at(const QPoint& at) const;

 Q_SIGNALS:
  void hovered(const Focus& f);
  void picked(const Focus& f);
  void activated();  // clicked or focused

 protected:
  void paintEvent(QPaintEvent* e) override;
  void resizeEvent(QResizeEvent* e) override;
  void mouseMoveEvent(QMouseEvent* e) override;
  void mousePressEvent(QMouseEvent* e) override;
  void mouseReleaseEvent(QMouseEvent* e) override;
  void leaveEvent(QEvent* e) override;
  void keyPressEvent(QKeyEvent* e) override;
  void focusInEvent(QFocusEvent* e) override;
  void changeEvent(QEvent* e) override;
  bool viewportEvent(QEvent* e) override;

 private:
  struct Place {
    int row = 0, column = 0;
    bool operator<(const Place& o) const { return row != o.row ? row < o.row : column < o.column; }
    bool operator==(const Place&) const = default;
  };
  const QString& text_of(const PaneRow& r) const;
  PaneRow row(int n) const;
  Place place_at(const QPoint& at) const;
  Focus focus_of_row(int row) const;
  void measure();
  void bars();
  void paint_row(QPainter& p, int row, int y, int width);
  void paint_marks(QPainter& p, const QRect& where);
  void paint_message(QPainter& p, const QRect& page) const;
  QColor colour(const TokenSpan& t) const;
  int gutter() const;
  void move_to(int row, bool keep_anchor);

  const Theme& theme_;
  std::shared_ptr<const PlanStages> plan_;
  Stage stage_;
  QStringList before_;  // the other side of show_changes
  QString message_, needle_;
  std::vector<PaneRow> rows_;  // empty: a row a line
  QHash<QString, int> statements_;
  std::vector<uint8_t> selected_, hovered_;  // by line
  int row_height_ = 16, char_width_ = 8, longest_ = 0;
  int current_ = 0, hover_row_ = -1;
  Place anchor_, end_;  // of the selected text
  bool dragging_ = false;
};

}  // namespace nautilus::gui
