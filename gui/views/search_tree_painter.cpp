#include "gui/views/search_tree_painter.h"

#include <algorithm>

#include "gui/models/quantity.h"
#include "gui/views/search_tree_frame.h"

namespace nautilus::gui {

using sched::NodeState;

int TreeLook::best() const {
  const bool whole = limit >= static_cast<int>(facts.size());
  if (whole && !document.best().empty() && document.best().front() < limit)
    return document.best().front();
  const int last = std::min(limit, static_cast<int>(picture.best_so_far.size())) - 1;
  return last < 0 ? -1 : picture.best_so_far[last];
}

SearchTreePainter::SearchTreePainter(const Theme& theme)
    : theme_(theme), text_(theme.ui()), bold_(theme.ui()), small_(theme.ui()) {
  theme_changed();
}

void SearchTreePainter::theme_changed() {
  QFont font = theme_.ui();
  font.setPixelSize(12);
  text_.set_font(font);
  font.setBold(true);
  bold_.set_font(font);
  font.setBold(false);
  font.setPixelSize(11);
  small_.set_font(font);
  for (size_t s = 0; s < state_.size(); ++s) {
    state_[s] = theme_.state(static_cast<NodeState>(s));
    state_dim_[s] = mixed(state_[s], theme_.background(), 0.8);
  }
}

bool SearchTreePainter::lit(const Frame& f, int item) const {
  const TreeItem& it = f.picture.items[item];
  const auto& isolated = f.look.selection.now().isolated;
  auto shows = [&](int node) {
    return f.look.filters.passes(node) && (isolated.empty() || isolated.contains(node));
  };
  if (it.fold == Group::None) return shows(it.node);
  const int end = it.hidden_begin + std::min(it.below, 64);
  for (int k = it.hidden_begin; k < end; ++k)
    if (shows(f.picture.hidden[k])) return true;
  return it.below > 64;
}

QColor SearchTreePainter::strip(const Frame& f, int item, bool lit) const {
  const TreeItem& it = f.picture.items[item];
  if (it.fold != Group::None) return mixed(theme_.muted(), theme_.background(), lit ? 0.4 : 0.8);
  if (it.node == f.best) return theme_.accent();
  if (const auto m = f.look.document.measured(it.node)) {
    const QColor c = m->right.fails() ? theme_.bad() : theme_.good();
    return lit ? c : mixed(c, theme_.background(), 0.8);
  }
  const auto s = static_cast<size_t>(f.look.facts[it.node].state);
  return lit ? state_[s] : state_dim_[s];
}

QString SearchTreePainter::text_of_fold(const Frame& f, int item) {
  const auto key = std::pair(item, f.look.limit);
  if (auto it = folds_.constFind(key); it != folds_.constEnd()) return *it;
  if (folds_.size() > 2000) folds_.clear();
  return *folds_.insert(key, fold_text(f.picture, f.look.facts, item, f.look.limit));
}

void SearchTreePainter::paint(QPainter& p, const Viewport& v, const TreeLook& look) {
  if (look.picture.size() == 0) return;
  Frame f{p, v, look, look.picture, v.visible(), p.transform(), look.best(), {}};
  for (int node = f.best; node >= 0; node = look.facts[node].parent) {
    const bool known = node < static_cast<int>(f.picture.item_of.size());
    const int item = known ? f.picture.item_of[node] : -1;
    if (item >= 0 && (f.best_items.empty() || f.best_items.back() != item))
      f.best_items.push_back(item);
  }
  p.save();
  p.setClipRect(v.area, Qt::IntersectClip);
  p.setRenderHint(QPainter::Antialiasing, v.scale >= kFrameScale);
  edges(f);
  best_path(f);
  if (v.scale >= kFrameScale)
    nodes(f);
  else
    bars(f);
  ghosts(f);
  p.restore();
}

// Far away: a bar a candidate, batched by colour, at most one a pixel.
void SearchTreePainter::bars(Frame& f) {
  QHash<QRgb, QVector<QRectF>> batches;
  f.each_visible([&](int i) {
    const QRectF r = f.view.to_screen(f.picture.box(i));
    const QRectF bar(r.left(), r.top(), std::max(r.width(), 2.0), std::max(r.height(), 1.0));
    const bool there = f.there(i);
    batches[strip(f, i, there && lit(f, i)).rgb()].push_back(bar);
  });
  f.p.setPen(Qt::NoPen);
  for (auto it = batches.constBegin(); it != batches.constEnd(); ++it) {
    f.p.setBrush(QColor(it.key()));
    f.p.drawRects(it.value());
  }
  const double size = std::max(9.0, 22 * f.view.scale);
  const int selected = f.look.selection.now().node;
  auto spot = [&](int node, const QColor& colour) {
    if (node < 0 || node >= static_cast<int>(f.picture.item_of.size())) return;
    const int i = f.picture.item_of[node];
    if (i < 0) return;
    const QRectF r = f.view.to_screen(f.picture.box(i));
    f.p.setRenderHint(QPainter::Antialiasing);
    f.p.setBrush(Qt::NoBrush);
    f.p.setPen(QPen(colour, 2));
    f.p.drawEllipse(r.center(), std::max(size, r.width()) / 2 + 3, size / 2 + 3);
  };
  spot(f.best, theme_.accent());
  spot(selected, theme_.text());
}

void SearchTreePainter::nodes(Frame& f) {
  f.each_visible([&](int i) { node(f, i); });
}

void SearchTreePainter::node(Frame& f, int i) {
  const QRectF b = f.picture.box(i);
  const QPointF at = f.view.to_screen(b.topLeft());
  const double s = f.view.scale;
  f.p.setTransform(QTransform(s, 0, 0, s, at.x(), at.y()) * f.base);
  const QRectF r(0, 0, b.width(), b.height());
  if (!f.there(i)) {
    f.p.setBrush(Qt::NoBrush);
    f.p.setPen(QPen(mixed(theme_.line(), theme_.background(), 0.5), 1));
    f.p.drawRoundedRect(r, 4, 4);
  } else if (f.picture.items[i].fold != Group::None) {
    fold(f, i, r);
  } else {
    candidate(f, i, r, lit(f, i));
  }
  f.p.setTransform(f.base);
}

void SearchTreePainter::fold(Frame& f, int i, const QRectF& r) {
  const bool on = lit(f, i);
  const bool hovered = i == f.look.cursor;
  f.p.setBrush(hovered ? theme_.selection() : theme_.background());
  QPen pen(mixed(theme_.muted(), theme_.background(), on ? 0.3 : 0.75), hovered ? 1.8 : 1.1);
  pen.setDashPattern({4, 3});
  f.p.setPen(pen);
  if (!r.isEmpty()) f.p.drawRoundedRect(r, r.height() / 2, r.height() / 2);
  if (f.view.scale < kTextScale) return;
  const double room = r.width() - 20;
  const TextCache::Lines& l = text_.lines(text_of_fold(f, i), room, 2);
  f.p.setPen(mixed(theme_.muted(), theme_.background(), on ? 0 : 0.6));
  text_.draw(f.p, {10, r.height() / 2}, l, 15, f.look.as_text);
}

void SearchTreePainter::candidate(Frame& f, int i, const QRectF& r, bool on) {
  const TreeItem& it = f.picture.items[i];
  const NodeState state = f.look.facts[it.node].state;
  const bool best = it.node == f.best, on_path = f.on_best_path(i);
  const bool pruned = group_of(state) == Group::Pruned;
  const bool selected = f.look.selection.now().node == it.node;
  const bool hovered = f.look.selection.hovered() == it.node || i == f.look.cursor;
  const QColor colour = strip(f, i, on);
  const QColor ground = theme_.surface();
  QColor edge = mixed(colour, ground, state == NodeState::Expanded ? 0.35 : 0.1);
  if (on_path && on) edge = theme_.accent();
  QPen pen(edge, best || on_path ? 1.8 : 1.0);
  if (state == NodeState::Duplicate) pen.setDashPattern({3, 2.5});
  if (selected) {
    f.p.setPen(QPen(theme_.text(), 2.2));
    f.p.setBrush(Qt::NoBrush);
    f.p.drawRoundedRect(r.adjusted(-3, -3, 3, 3), 6, 6);
  }
  f.p.setPen(pen);
  f.p.setBrush(hovered || selected ? theme_.selection()
               : best              ? mixed(ground, theme_.accent(), 0.16)
                                   : ground);
  f.p.drawRoundedRect(r, 4, 4);
  f.p.setPen(Qt::NoPen);
  f.p.setBrush(colour);
  f.p.drawRoundedRect(QRectF(0, 0, 18, r.height()), 4, 4);
  f.p.drawRect(QRectF(9, 0, 9, r.height()));
  if (f.view.scale < kTextScale) return;

  const auto measured = f.look.document.measured(it.node);
  const QString glyph = best                                  ? Theme::star()
                        : measured && measured->right.fails() ? different()
                        : measured                            ? QStringLiteral("\u25cf")
                                                              : Theme::glyph(state);
  const TextCache::Lines& g = bold_.lines(glyph, -1, 1);
  f.p.setPen(ink_on(colour));
  bold_.draw(f.p, {9 - g.width / 2, r.height() / 2}, g, 0, f.look.as_text);

  const double right = time_mark(f, i, r, r.width() - f.picture.toggle_box(i).width() - 6);
  const sched::SearchNode* n = f.look.document.node(it.node);
  const QString label = n ? QString::fromStdString(n->decision) : QString();
  const TextCache::Lines& l = text_.lines(label, right - kGlyphWidth - 2, 2);
  QColor ink = pruned ? theme_.muted() : theme_.text();
  f.p.setPen(on ? ink : mixed(ink, theme_.background(), 0.65));
  text_.draw(f.p, {kGlyphWidth + 1, r.height() / 2}, l, 14.5, f.look.as_text);
  toggle(f, i, r);
  marks(f, i, r);
}

// The time at the right end, with the roofline's marks: hollow predicted, filled measured, ringed
// when the outputs were right too. Returns where it begins.
double SearchTreePainter::time_mark(Frame& f, int i, const QRectF& r, double right) {
  const TreeItem& it = f.picture.items[i];
  const TreeFact& fact = f.look.facts[it.node];
  const bool closed = !it.open && it.below > 0;
  const double seconds = closed && it.best_below > 0 ? it.best_below : fact.seconds;
  if (seconds <= 0) return right;
  const QString text =
      (closed ? QStringLiteral("\u2265\u202f") : QString()) + seconds_text(seconds);
  const bool strong = it.node == f.best;
  TextCache& cache = strong ? bold_ : small_;
  const TextCache::Lines& l = cache.lines(text, -1, 1);
  const double left = right - l.width;
  f.p.setPen(lit(f, i) ? theme_.text() : mixed(theme_.text(), theme_.background(), 0.65));
  cache.draw(f.p, {left, r.height() / 2}, l, 0, f.look.as_text);
  if (closed) return left - 6;
  const QPointF at(left - 7, r.height() / 2);
  const auto measured = f.look.document.measured(it.node);
  const QColor colour = strip(f, i, lit(f, i));
  const bool wrong = measured && measured->right.fails();
  f.p.setPen(QPen(wrong ? theme_.bad() : colour, 1.3));
  f.p.setBrush(measured ? QBrush(wrong ? theme_.bad() : colour) : QBrush(Qt::NoBrush));
  f.p.drawEllipse(at, 2.6, 2.6);
  if (measured && measured->right.holds()) {
    f.p.setBrush(Qt::NoBrush);
    f.p.drawEllipse(at, 4.8, 4.8);
  }
  return left - 14;
}

void SearchTreePainter::toggle(Frame& f, int i, const QRectF& r) {
  const TreeItem& it = f.picture.items[i];
  const double w = f.picture.toggle_box(i).width();
  if (w <= 0) return;
  const double x = r.width() - w + 3, y = r.height() / 2;
  f.p.setPen(Qt::NoPen);
  f.p.setBrush(theme_.muted());
  if (it.open) {
    f.p.drawPolygon(QPolygonF{{x + 9, y - 3.5}, {x + 9, y + 3.5}, {x + 4.5, y}});
    return;
  }
  f.p.drawPolygon(QPolygonF{{x + 2, y - 4}, {x + 2, y + 4}, {x + 7, y}});
  f.p.setPen(theme_.muted());
  const TextCache::Lines& l = small_.lines(QString::number(it.below), -1, 1);
  small_.draw(f.p, {x + 9, y}, l, 0, f.look.as_text);
}

// A pin is a disc on the upper right corner, a note a folded one.
void SearchTreePainter::marks(Frame& f, int i, const QRectF& r) {
  const int node = f.picture.items[i].node;
  double x = r.right();
  if (!f.look.document.note(node).isEmpty()) {
    f.p.setPen(QPen(theme_.surface(), 1));
    f.p.setBrush(theme_.warning());
    f.p.drawPolygon(QPolygonF{{x - 11, -1}, {x + 1, -1}, {x + 1, 11}});
    x -= 15;
  }
  if (f.look.document.pinned(node)) {
    f.p.setPen(QPen(theme_.surface(), 1.4));
    f.p.setBrush(theme_.series(3));
    f.p.drawEllipse(QPointF(x - 5, 0), 4.6, 4.6);
  }
}

}  // namespace nautilus::gui
