#include "gui/views/schedule_layout.h"

#include <QRegularExpression>
#include <algorithm>
#include <map>

namespace nautilus::gui {
namespace {

constexpr double kTreeIndent = 22, kTreeGap = 6, kWidestBox = 560, kNarrowestBox = 90;

QString as_q(const std::string& s) { return QString::fromStdString(s); }

// "floor((i)/64)" as "floor(i/64)".
QString plain_function(const std::string& f) {
  static const QRegularExpression lone(QStringLiteral("\\(\\((\\w+)\\)/"));
  return as_q(f).replace(lone, QStringLiteral("(\\1/"));
}

QString functions_text(const TreeMember& m) {
  if (m.functions.size() == 1) return plain_function(m.functions.front().second);
  QString out;
  for (const auto& [statements, function] : m.functions)
    out += (out.isEmpty() ? QString() : QStringLiteral("; ")) + as_q(statements) +
           QStringLiteral(": ") + plain_function(function);
  return out;
}

std::vector<TreeLine> lines_of(const TreeBox& b) {
  std::vector<TreeLine> out;
  QString head = kind_glyph(b.kind) + u' ' + QString::number(b.id) + u' ';
  switch (b.kind) {
    case poly::NodeKind::Band:
      head += b.permutable ? QStringLiteral("band  ⇄ permutable") : QStringLiteral("band");
      break;
    case poly::NodeKind::Sequence:
      head += QStringLiteral("sequence of %1").arg(b.children.size());
      break;
    case poly::NodeKind::Filter:
      head += as_q(b.text);
      break;
    case poly::NodeKind::Mark:
      head += as_q(b.text);
      break;
    case poly::NodeKind::Leaf:
      break;
  }
  out.push_back({head, true, false, -1});
  for (size_t k = 0; k < b.members.size(); ++k)
    out.push_back({member_text(b.members[k]), false, false, static_cast<int>(k)});
  for (const RepairStory& r : b.repairs)
    for (const auto& [tensor, correction] : r.corrections)
      out.push_back({QStringLiteral("⚒ ") + as_q(tensor) + QStringLiteral(" ← ") + as_q(correction),
                     false, true, -1});
  return out;
}

std::vector<TreeLine> storage_lines(const TreePicture& tree) {
  std::map<std::string, QString> by_scope;
  for (const auto& [tensor, scope] : tree.scopes) {
    QString& names = by_scope[scope];
    names += (names.isEmpty() ? QString() : QStringLiteral(", ")) + as_q(tensor);
  }
  std::vector<TreeLine> out;
  if (by_scope.empty()) return out;
  out.push_back({QStringLiteral("temporaries"), true, false, -1});
  for (const auto& [scope, names] : by_scope)
    out.push_back({QStringLiteral("in %1: ").arg(as_q(scope)) + names, false, false, -1});
  return out;
}

// Shortens lines that are too wide and returns the width of the widest.
double fit_lines(std::vector<TreeLine>& lines, const QFontMetricsF& font,
                 const QFontMetricsF& mono) {
  double widest = kNarrowestBox;
  for (TreeLine& l : lines) {
    const QFontMetricsF& f = l.strong ? font : mono;
    l.text = f.elidedText(l.text, Qt::ElideRight, kWidestBox);
    widest = std::max(widest, f.horizontalAdvance(l.text));
  }
  return widest + 2 * kTreePadX;
}

}  // namespace

QString kind_glyph(poly::NodeKind k) {
  switch (k) {
    case poly::NodeKind::Band:
      return QStringLiteral("↻");
    case poly::NodeKind::Sequence:
      return QStringLiteral("≡");
    case poly::NodeKind::Filter:
      return QStringLiteral("▽");
    case poly::NodeKind::Mark:
      return QStringLiteral("⚑");
    case poly::NodeKind::Leaf:
      break;
  }
  return QString();
}

QString mapping_glyph(poly::Mapping m) {
  switch (m) {
    case poly::Mapping::Serial:
      return QString();
    case poly::Mapping::Grid:
      return QStringLiteral("▦");
    case poly::Mapping::Warpgroup:
      return QStringLiteral("▤");
    case poly::Mapping::Tile:
      return QStringLiteral("▣");
    case poly::Mapping::Unroll:
      break;
  }
  return QStringLiteral("⇊");
}

QString member_text(const TreeMember& m) {
  QString out = as_q(m.name);
  if (m.step != 1) out += QStringLiteral(" ×%1").arg(m.step);
  if (m.mapping != poly::Mapping::Serial) {
    const std::string_view name = poly::mapping_name(m.mapping);
    out += u' ' + mapping_glyph(m.mapping) + u' ' +
           QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
  }
  const QString f = functions_text(m);
  return f == as_q(m.name) || f.isEmpty() ? out : out + QStringLiteral(" = ") + f;
}

QString row_text(const TreePicture& tree, int row) {
  const TreeBox& b = tree.boxes[static_cast<size_t>(row)];
  QString out;
  for (const TreeLine& l : lines_of(b))
    out += (out.isEmpty() ? QString() : QStringLiteral("\n")) + l.text;
  if (b.kind != poly::NodeKind::Filter && !b.statements.empty()) {
    out += QStringLiteral("\nof ");
    for (size_t k = 0; k < b.statements.size() && k < 12; ++k)
      out += (k ? QStringLiteral(", ") : QString()) + as_q(b.statements[k]);
    if (b.statements.size() > 12) out += QStringLiteral(", …");
  }
  return out;
}

TreeLayout lay_out(const TreePicture& tree, const QFontMetricsF& font, const QFontMetricsF& mono) {
  TreeLayout out;
  out.line_height = std::max(font.height(), mono.height()) + 2;
  double y = 0;
  for (const TreeBox& b : tree.boxes) {
    TreeRow row;
    row.lines = lines_of(b);
    const double width = fit_lines(row.lines, font, mono);
    const double height = out.line_height * static_cast<double>(row.lines.size()) + 2 * kTreePadY;
    row.rect = QRectF(b.depth * kTreeIndent, y, width, height);
    out.bounds = out.bounds.united(row.rect);
    y += height + kTreeGap;
    out.rows.push_back(std::move(row));
  }
  out.storage = storage_lines(tree);
  if (!out.storage.empty()) {
    const double width = fit_lines(out.storage, font, mono);
    out.storage_rect =
        QRectF(0, y + kTreeGap, width,
               out.line_height * static_cast<double>(out.storage.size()) + 2 * kTreePadY);
    out.bounds = out.bounds.united(out.storage_rect);
  }
  return out;
}

std::pair<int, int> TreeLayout::rows_between(double top, double bottom) const {
  const auto first = std::partition_point(rows.begin(), rows.end(),
                                          [&](const TreeRow& r) { return r.rect.bottom() < top; });
  const auto last = std::partition_point(first, rows.end(),
                                         [&](const TreeRow& r) { return r.rect.top() <= bottom; });
  return {static_cast<int>(first - rows.begin()), static_cast<int>(last - rows.begin())};
}

int TreeLayout::row_at(QPointF p) const {
  const auto [first, last] = rows_between(p.y(), p.y());
  for (int k = first; k < last; ++k)
    if (rows[static_cast<size_t>(k)].rect.contains(p)) return k;
  return -1;
}

int TreeLayout::member_at(int row, QPointF p) const {
  if (row < 0) return -1;
  const TreeRow& r = rows[static_cast<size_t>(row)];
  const int line = static_cast<int>((p.y() - r.rect.top() - kTreePadY) / line_height);
  if (line < 0 || line >= static_cast<int>(r.lines.size())) return -1;
  return r.lines[static_cast<size_t>(line)].member;
}

}  // namespace nautilus::gui
