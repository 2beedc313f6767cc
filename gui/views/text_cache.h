// Lines of text shaped once and drawn many times at any scale: shaping is what costs when a picture
// with hundreds of labels is panned.
#pragma once

#include <QFont>
#include <QGlyphRun>
#include <QHash>
#include <QPainter>
#include <QString>

namespace nautilus::gui {

class TextCache {
 public:
  struct Lines {
    std::vector<QList<QGlyphRun>> runs;  // a line each
    QStringList text;                    // the same, for pictures that keep text as text
    double width = 0;                    // of the longest
  };
  explicit TextCache(const QFont& font) : font_(font) {}
  void set_font(const QFont& font);
  const QFont& font() const { return font_; }
  // `text` on at most `lines` lines of `width`, the last one elided; -1: not broken.
  const Lines& lines(const QString& text, double width, int lines);
  // With its middle at `left`; `as_text`: as characters, not glyphs (SVG, PDF).
  void draw(QPainter& p, QPointF left, const Lines& l, double spacing, bool as_text);

 private:
  QFont font_;
  QHash<std::pair<QString, int>, Lines> known_;
};

}  // namespace nautilus::gui
