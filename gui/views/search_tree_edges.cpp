// Lines of the search tree: from parents to children, the best path, duplicates to their originals.
#include <QPainterPath>
#include <cmath>

#include "gui/models/quantity.h"
#include "gui/views/search_tree_frame.h"

namespace nautilus::gui {
namespace {

constexpr double kTrunk = 20, kBend = 7;  // distance of the trunk from the children; its corners

// From the parent's right end by way of the trunk to the child's left end, corners rounded.
QPainterPath elbow(QPointF from, QPointF to, double trunk, double bend) {
  QPainterPath path(from);
  const double rise = to.y() - from.y();
  if (std::abs(rise) < 0.5) {
    path.lineTo(to);
    return path;
  }
  const double r = std::min(bend, std::abs(rise) / 2), down = rise > 0 ? r : -r;
  path.lineTo(trunk - r, from.y());
  path.quadTo(trunk, from.y(), trunk, from.y() + down);
  path.lineTo(trunk, to.y() - down);
  path.quadTo(trunk, to.y(), trunk + r, to.y());
  path.lineTo(to);
  return path;
}

}  // namespace

// Children of one parent are contiguous and levels are sorted, so the parents whose lines cross the
// screen are those of the children on it and of the two just off it.
void SearchTreePainter::edges(Frame& f) {
  const SearchTreePicture& pic = f.picture;
  const LevelTree& t = pic.tree;
  const double s = f.view.scale;
  const bool round = s >= kTextScale;
  QVector<QLineF> lines, faint;
  QPainterPath bends;
  auto [first, last] = f.columns();
  for (int level = std::max(1, first); level < std::min(last + 1, t.levels()); ++level) {
    const int begin = t.level_begin[level], end = t.level_begin[level + 1];
    auto [c0, c1] = pic.range(level, f.visible.top(), f.visible.bottom());
    const double trunk = f.view.to_screen({pic.column_x[level] - kTrunk, 0.0}).x();
    const double left = f.view.to_screen({pic.column_x[level], 0.0}).x();
    int last_parent = -1;
    auto stem = [&](int child) {
      const int parent = t.parent[child];
      if (parent == last_parent) return;
      last_parent = parent;
      const int a = t.first_child[parent], b = a + t.children[parent] - 1;
      const QPointF from = f.view.to_screen({pic.x[parent] + pic.width[parent], pic.y[parent]});
      auto& batch = f.there(a) ? lines : faint;
      batch.push_back({from, {trunk, from.y()}});
      const double bend = round ? kBend * s : 0;
      double top = f.view.to_screen({0.0, pic.y[a]}).y();
      double bottom = f.view.to_screen({0.0, pic.y[b]}).y();
      top = std::max(top + (top < from.y() ? bend : 0), f.view.area.top() - 9);
      bottom = std::min(bottom - (bottom > from.y() ? bend : 0), f.view.area.bottom() + 9);
      if (bottom > top) batch.push_back({{trunk, top}, {trunk, bottom}});
    };
    if (c0 > begin) stem(c0 - 1);
    for (int c = c0; c < c1; c = f.after(c, c1)) {
      stem(c);
      const double y = f.view.to_screen({0.0, pic.y[c]}).y();
      const double from = f.view.to_screen({0.0, pic.y[t.parent[c]]}).y();
      const bool there = f.there(c);
      if (!round || !there || std::abs(y - from) < 2 * kBend * s) {
        (there ? lines : faint).push_back({{trunk, y}, {left, y}});
        continue;
      }
      const double bend = y > from ? kBend * s : -kBend * s;
      bends.moveTo(trunk, y - bend);
      bends.quadTo(trunk, y, trunk + std::abs(bend), y);
      bends.lineTo(left, y);
    }
    if (c1 < end) stem(c1);
  }
  f.p.setBrush(Qt::NoBrush);
  const double width = std::clamp(1.2 * s, 0.6, 2.0);
  const QColor ink = mixed(theme_.muted(), theme_.background(), 0.45);
  f.p.setPen(QPen(mixed(ink, theme_.background(), 0.7), width));
  f.p.drawLines(faint);
  f.p.setPen(QPen(ink, width));
  f.p.drawLines(lines);
  if (!bends.isEmpty()) f.p.drawPath(bends);
}

void SearchTreePainter::best_path(Frame& f) {
  const SearchTreePicture& pic = f.picture;
  const double s = f.view.scale;
  f.p.save();
  f.p.setRenderHint(QPainter::Antialiasing);
  f.p.setBrush(Qt::NoBrush);
  f.p.setPen(QPen(theme_.accent(), std::clamp(3.6 * s, 2.0, 6.0), Qt::SolidLine, Qt::RoundCap,
                  Qt::RoundJoin));
  for (size_t k = 0; k + 1 < f.best_items.size(); ++k) {
    const int child = f.best_items[k], parent = f.best_items[k + 1];
    const QPointF from = f.view.to_screen({pic.x[parent] + pic.width[parent], pic.y[parent]});
    const QPointF to = f.view.to_screen({static_cast<double>(pic.x[child]), pic.y[child]});
    if (std::max(from.y(), to.y()) < f.view.area.top() - 10 ||
        std::min(from.y(), to.y()) > f.view.area.bottom() + 10)
      continue;
    const double trunk = to.x() - kTrunk * s;
    f.p.drawPath(elbow(from, to, trunk, s >= kFrameScale ? kBend * s : 0));
  }
  f.p.restore();
}

// Dashed, from the duplicate's right end to the box of the candidate it equals.
void SearchTreePainter::ghosts(Frame& f) {
  const SearchTreePicture& pic = f.picture;
  if (f.view.scale < kFrameScale) return;
  QPen pen(mixed(theme_.series(3), theme_.background(), 0.25), 1.1);
  pen.setDashPattern({4, 4});
  int drawn = 0;
  for (int i : pic.ghosts) {
    const int original = pic.item_of[f.look.facts[pic.items[i].node].duplicate_of];
    if (original == i || !f.there(i)) continue;
    const QRectF a = pic.box(i), b = pic.box(original);
    if (!a.united(b).intersects(f.visible)) continue;
    if (++drawn > 200) break;
    const QPointF from = f.view.to_screen({a.right(), a.center().y()});
    const bool rightwards = b.left() > a.right();
    const QPointF to =
        f.view.to_screen({rightwards ? b.left() : b.right(), b.center().y() + b.height() * 0.25});
    const double reach = std::max(30.0, std::abs(to.y() - from.y()) * 0.15) * f.view.scale + 12;
    QPainterPath path(from);
    path.cubicTo(from + QPointF(reach, 0), to + QPointF(rightwards ? -reach : reach, 0), to);
    f.p.setPen(pen);
    f.p.setBrush(Qt::NoBrush);
    f.p.drawPath(path);
    const double side = rightwards ? -1 : 1, h = 4 * std::max(0.6, f.view.scale);
    f.p.setPen(Qt::NoPen);
    f.p.setBrush(pen.color());
    f.p.drawPolygon(QPolygonF{to, to + QPointF(side * 2 * h, -h), to + QPointF(side * 2 * h, h)});
  }
}

}  // namespace nautilus::gui
