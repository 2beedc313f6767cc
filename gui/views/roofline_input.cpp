// Mouse and keys of the roofline, and what is said of the point under the mouse.
#include <QKeyEvent>
#include <algorithm>
#include <cmath>

#include "gui/models/quantity.h"
#include "gui/views/roofline_canvas.h"

namespace nautilus::gui {
namespace {

constexpr double kReach = 10;  // pixels from a marker's middle

QString intensity_text(double v) {
  return QString::number(v, 'g', 3) + QStringLiteral("\u00a0FLOP/B");
}

}  // namespace

InfoCard RooflineCanvas::card_of(int point) const {
  const CloudPoint& c = cloud_.points[point];
  const sched::SearchNode* n = shared_.document.node(c.node);
  if (!n) return {};
  const std::string& level = cloud_.levels[c.level];
  auto p =
      std::find_if(n->points.begin(), n->points.end(), [&](auto& q) { return q.level == level; });
  InfoCard card{QStringLiteral("#%1  %2").arg(n->id).arg(QString::fromStdString(n->decision)),
                painter_.colour(look(), c),
                {}};
  auto line = [&](const QString& name, const QString& value) {
    if (!value.isEmpty()) card.lines.push_back({name, value});
  };
  line(tr("level"), QString::fromStdString(level));
  const double achieved = world_flops({c.x, c.y});
  line(tr("intensity"), intensity_text(world_intensity({c.x, c.y})));
  line(tr("achieved"), si(achieved, QStringLiteral("FLOP/s")) +
                           (c.measured && !c.wrong ? tr(", measured") : tr(", predicted")));
  if (p != n->points.end() && p->roof > 0) {
    const Roof* memory = nullptr;
    for (const Roof& r : roofs_)
      if (r.kind == Roof::Kind::Memory && r.level == QString::fromStdString(level)) memory = &r;
    const bool by_memory = memory && memory->value * p->intensity <= p->roof * 1.001;
    line(tr("roof"), si(p->roof, QStringLiteral("FLOP/s")) +
                         (by_memory ? tr(", bandwidth of %1").arg(memory->name)
                                    : tr(", arithmetic at this plan's mix of units")));
    line(tr("of roof"), percent_text(achieved / p->roof));
  }
  line(tr("limited by"), QString::fromStdString(n->limiter));
  line(tr("predicted"), seconds_text(n->seconds));
  if (const auto m = shared_.document.measured(n->id))
    line(tr("measured"),
         seconds_text(m->seconds) + said_of(m->right) +
             (m->source.empty() ? QString()
                                : QStringLiteral(", ") + QString::fromStdString(m->source)));
  if (const sched::SearchNode* parent = shared_.document.node(n->parent))
    line(tr("structure"),
         QStringLiteral("#%1  %2").arg(parent->id).arg(QString::fromStdString(parent->decision)));
  if (n->state != sched::NodeState::Complete)
    line(tr("state"),
         Theme::glyph(n->state) + u' ' + Theme::state_words(n->state) +
             (n->reason.empty() ? QString()
                                : QStringLiteral(", ") + QString::fromStdString(n->reason)));
  if (c.suspicious)
    line(tr("suspicious"),
         tr("It lies above a roof of the machine. That is no win: units, the count of "
            "operations or bytes, or a cached input are wrong."));
  return card;
}

int RooflineCanvas::point_at(QPointF screen) const {
  if (!plot().adjusted(-3, -3, 3, 3).contains(screen)) return -1;
  return cloud_.nearest(viewport_.to_world(screen), kReach / viewport_.scale, levels_shown());
}

int RooflineCanvas::roof_at(QPointF screen) const {
  if (!plot().contains(screen)) return -1;
  const QRectF visible = viewport_.visible();
  double nearest = 6;
  int found = -1;
  for (size_t k = 0; k < roofs_.size(); ++k) {
    const QLineF w = roof_line(roofs_, k, visible);
    if (!roofs_[k].shown || w.isNull()) continue;
    const QPointF a = viewport_.to_screen(w.p1()), d = viewport_.to_screen(w.p2()) - a;
    const double length = QPointF::dotProduct(d, d);
    const double t = std::clamp(QPointF::dotProduct(screen - a, d) / length, 0.0, 1.0);
    const double away = QLineF(a + d * t, screen).length();
    if (away < nearest) nearest = away, found = static_cast<int>(k);
  }
  return found;
}

void RooflineCanvas::hover_at(QPointF at) {
  const int point = point_at(at), roof = point < 0 ? roof_at(at) : -1;
  if (point == hovered_ && roof == hovered_roof_) return;
  hovered_ = point;
  hovered_roof_ = roof;
  shared_.selection.hover(point < 0 ? -1 : cloud_.points[point].node);
  setCursor(point >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
  update();
}

void RooflineCanvas::leave() {
  hovered_ = hovered_roof_ = -1;
  shared_.selection.hover(-1);
  update();
}

void RooflineCanvas::choose(int point, bool isolate) {
  const int node = cloud_.points[point].node;
  shared_.selection.select(node);
  if (isolate) shared_.selection.isolate({node});
}

// A badge at an edge shows the points outside it, and the one of suspicious points those.
bool RooflineCanvas::click_badge(QPointF at) {
  const QRectF visible(viewport_.to_world(plot().topLeft()),
                       viewport_.to_world(plot().bottomRight()));
  for (char side : {'l', 'r', 'a', 'b', '!'}) {
    if (!painter_.badge(side).contains(at)) continue;
    QRectF shown = side == '!' ? QRectF() : visible;
    std::set<int> suspicious;
    for (const CloudPoint& c : cloud_.points) {
      if (!c.lit || !(levels_shown() >> c.level & 1)) continue;
      const bool out = side == 'l'   ? c.x < visible.left()
                       : side == 'r' ? c.x > visible.right()
                       : side == 'a' ? c.y < visible.top()
                       : side == 'b' ? c.y > visible.bottom()
                                     : c.suspicious;
      if (!out) continue;
      const QRectF here(c.x - 0.15, c.y - 0.15, 0.3, 0.3);
      shown = shown.isNull() ? here : shown | here;
      if (side == '!') suspicious.insert(c.node);
    }
    if (side == '!') {
      shared_.selection.isolate(suspicious);
      shown |= visible;
    }
    viewport_.fit(shown, {}, viewport_.most);
    set_moved_by_hand(true);
    update();
    viewport_changed();
    return true;
  }
  return false;
}

void RooflineCanvas::click_at(QPointF at, Qt::KeyboardModifiers modifiers) {
  if (click_badge(at)) return;
  const int point = point_at(at);
  if (point < 0) return shared_.selection.isolate({});
  if (modifiers & Qt::ControlModifier)
    shared_.selection.toggle(cloud_.points[point].node);
  else
    choose(point, true);
}

void RooflineCanvas::double_click_at(QPointF at) {
  if (point_at(at) < 0) fit();
}

// The candidate nearest in the direction of an arrow, within 45 degrees of it.
int RooflineCanvas::next_in_direction(int key) const {
  const QPointF from = screen_point(shared_.selection.now().node);
  const uint32_t shown = levels_shown();
  if (std::isnan(from.x())) {
    const QPointF b = screen_point(best());
    return std::isnan(b.x()) ? -1 : cloud_.nearest(viewport_.to_world(b), 1, shown);
  }
  double nearest = 1e300;
  int found = -1, last = -1;
  for (size_t i = 0; i < cloud_.points.size(); ++i) {
    const CloudPoint& c = cloud_.points[i];
    if (!(shown >> c.level & 1) || c.node == last) continue;
    last = c.node;
    if (!c.lit && shared_.selection.now().isolated.empty()) continue;
    const QPointF d = viewport_.to_screen(QPointF(c.x, c.y)) - from;
    const double along = key == Qt::Key_Left    ? -d.x()
                         : key == Qt::Key_Right ? d.x()
                         : key == Qt::Key_Up    ? -d.y()
                                                : d.y();
    const double across =
        key == Qt::Key_Left || key == Qt::Key_Right ? std::abs(d.y()) : std::abs(d.x());
    if (along < 0.01 || across > along) continue;
    const double far = along + 2 * across;
    if (far < nearest) nearest = far, found = static_cast<int>(i);
  }
  return found;
}

bool RooflineCanvas::key(QKeyEvent* e) {
  const bool control = e->modifiers() & Qt::ControlModifier;
  const bool plain = e->modifiers() == Qt::NoModifier;
  const int selected = shared_.selection.now().node;
  switch (e->key()) {
    case Qt::Key_Left:
    case Qt::Key_Right:
    case Qt::Key_Up:
    case Qt::Key_Down:
      if (!control) return false;
      if (const int next = next_in_direction(e->key()); next >= 0) {
        choose(next, false);
        const CloudPoint& c = cloud_.points[next];
        if (!plot().contains(viewport_.to_screen(QPointF(c.x, c.y)))) {
          viewport_.reveal(QRectF(c.x, c.y, 0, 0), 40);
          set_moved_by_hand(true);
          viewport_changed();
        }
      }
      return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (selected < 0) return false;
      if (control)
        shared_.selection.toggle(selected);
      else
        shared_.selection.isolate({selected});
      return true;
    case Qt::Key_Escape:
      if (shared_.selection.now().isolated.empty()) return false;
      return shared_.selection.isolate({}), true;
    case Qt::Key_F:
      if (!plain) return false;
      return fit_data(), true;
    case Qt::Key_L: {
      if (!plain) return false;
      QStringList names{QString()};
      for (const std::string& l : cloud_.levels) names << QString::fromStdString(l);
      return set_level(names[(names.indexOf(level_) + 1) % names.size()]), true;
    }
    case Qt::Key_C:
      if (!plain) return false;
      return set_colour(colour_ == ColourBy::Family ? ColourBy::State : ColourBy::Family), true;
  }
  return false;
}

}  // namespace nautilus::gui
