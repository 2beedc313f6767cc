#include "gui/views/text_cache.h"

#include <QFontMetricsF>
#include <QTextLayout>
#include <cmath>

namespace nautilus::gui {
namespace {

// Breaks at the last space or comma that fits; the last line is elided.
QStringList broken(const QString& text, double width, int lines, const QFontMetricsF& m) {
  if (width < 0) return {text};
  QStringList out;
  QString rest = text;
  while (lines > 1 && m.horizontalAdvance(rest) > width) {
    qsizetype cut = -1;
    for (qsizetype at = rest.indexOf(u' '); at >= 0; at = rest.indexOf(u' ', at + 1)) {
      if (m.horizontalAdvance(rest.left(at)) > width) break;
      cut = at;
    }
    if (cut < 0) break;
    out << rest.left(cut);
    rest = rest.mid(cut + 1);
    --lines;
  }
  return out << m.elidedText(rest, Qt::ElideRight, width);
}

}  // namespace

void TextCache::set_font(const QFont& font) {
  if (font == font_) return;
  font_ = font;
  known_.clear();
}

const TextCache::Lines& TextCache::lines(const QString& text, double width, int lines) {
  const auto key = std::pair(text, static_cast<int>(std::lround(width)) * 4 + lines);
  if (auto it = known_.constFind(key); it != known_.constEnd()) return *it;
  if (known_.size() > 8000) known_.clear();
  const QFontMetricsF metrics(font_);
  Lines l;
  l.text = broken(text, width, lines, metrics);
  for (const QString& line : l.text) {
    QTextLayout layout(line, font_);
    layout.beginLayout();
    QTextLine shaped = layout.createLine();
    if (shaped.isValid()) shaped.setLineWidth(1e6);  // lays it out
    if (shaped.isValid()) shaped.setPosition({0, -shaped.ascent()});
    layout.endLayout();
    l.runs.push_back(layout.glyphRuns());
    l.width = std::max(l.width, shaped.isValid() ? shaped.naturalTextWidth() : 0.0);
  }
  return *known_.insert(key, std::move(l));
}

void TextCache::draw(QPainter& p, QPointF left, const Lines& l, double spacing, bool as_text) {
  const QFontMetricsF metrics(font_);
  const double n = static_cast<double>(l.runs.size());
  double base = left.y() - (n - 1) * spacing / 2 + (metrics.ascent() - metrics.descent()) / 2;
  for (size_t i = 0; i < l.runs.size(); ++i, base += spacing) {
    const QPointF at(left.x(), base);
    if (as_text) {
      p.setFont(font_);
      p.drawText(at, l.text[static_cast<qsizetype>(i)]);
    } else {
      for (const QGlyphRun& run : l.runs[i]) p.drawGlyphRun(at, run);
    }
  }
}

}  // namespace nautilus::gui
