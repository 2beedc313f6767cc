#include "gui/views/roofline_canvas.h"

#include <QJsonArray>
#include <algorithm>
#include <cmath>

#include "gui/views/roofline_program.h"

namespace nautilus::gui {

RooflineCanvas::RooflineCanvas(Shared shared, QWidget* parent)
    : PictureCanvas(parent), shared_(shared), painter_(shared.theme) {
  setObjectName(QStringLiteral("roofline_canvas"));
  setAccessibleName(tr("Roofline"));
  viewport_.least = 8;
  viewport_.most = 20000;
  later_.setSingleShot(true);
  later_.setInterval(250);
  connect(&later_, &QTimer::timeout, this, &RooflineCanvas::grown);
  connect(&shared_.document, &Document::reset, this, &RooflineCanvas::document_reset);
  connect(&shared_.document, &Document::options_changed, this, [this] {  // other roofs and levels
    hovered_ = hovered_roof_ = -1;
    cloud_.begin(shared_.document);
    fresh_ = true;
    find_roofs();
    grow();
  });
  connect(&shared_.document, &Document::appended, this, [this] {
    if (!grow_.busy()) grow();
  });
  connect(&shared_.document, &Document::changed, this, [this](const QList<int>& ids) {
    for (int id : ids) cloud_.refresh(shared_.document, id);
    if (!later_.isActive()) later_.start();
    light();
  });
  connect(&shared_.document, &Document::measured_changed, this, [this](int id) {
    cloud_.refresh(shared_.document, id);
    light();
  });
  connect(&shared_.document, &Document::answer_changed, this, [this] {
    find_path();
    update();
  });
  connect(&shared_.document, &Document::pins_changed, this, qOverload<>(&QWidget::update));
  connect(&shared_.filters, &FilterStack::changed, this, &RooflineCanvas::light);
  connect(&shared_.selection, &Selection::changed, this, [this](unsigned parts) {
    if (parts & Selection::Isolated) light();
    if (parts & Selection::Node) {
      find_path();
      auto [begin, end] = cloud_.of(shared_.selection.now().node);
      if (begin != end)
        setAccessibleDescription(describe(static_cast<int>(begin - cloud_.points.data())));
    }
    update();
  });
  connect(&shared_.bench, &Bench::failed, this, [this](QObject* asker) {
    if (asker == this || !asker) waits_for_program_ = false;
  });
  connect(&shared_.theme, &Theme::changed, this, [this] {
    painter_.theme_changed();
    redraw();
  });
  document_reset();
}

void RooflineCanvas::document_reset() {
  hovered_ = hovered_roof_ = -1;
  use_ = {};
  chosen_.clear();
  cloud_.begin(shared_.document);
  path_.clear();
  fresh_ = true;
  set_moved_by_hand(false);
  find_roofs();
  grow();
  waits_for_program_ = !shared_.document.empty();
  // Not at once: the bench may be told of the new document after this view.
  if (waits_for_program_) QTimer::singleShot(0, this, &RooflineCanvas::ask_for_program);
}

void RooflineCanvas::ask_for_program() {
  shared_.bench.ask<ProgramUse>(
      this, QStringLiteral("roofs"),
      [](const Workpiece& w, const CancelToken&) { return program_use(w); },
      [this](ProgramUse use) {
        waits_for_program_ = false;
        use_ = std::move(use);
        find_roofs();
      });
}

void RooflineCanvas::grow() {
  grow_.start(
      [this] {
        const size_t first = cloud_.points.size();
        const bool more = cloud_.advance(shared_.document, 200);
        light_from(first);
        return more;
      },
      [this] {
        if (std::exchange(fresh_, false)) return grown();
        if (!later_.isActive()) later_.start();
      });
}

void RooflineCanvas::grown() {
  cloud_.find_families(shared_.document);
  find_path();
  redraw();
}

void RooflineCanvas::redraw() {
  base_kept_ = false;
  painter_.points_changed();
  update();
}

void RooflineCanvas::find_roofs() {
  if (std::ranges::find(cloud_.levels, level_.toStdString()) == cloud_.levels.end()) level_.clear();
  roofs_ = roofs_of(shared_.document.session().options.machine, use_);
  for (Roof& r : roofs_) {
    if (auto it = chosen_.find(r.name + r.value_text()); it != chosen_.end()) r.shown = it->second;
    if (r.level == QStringLiteral("register") && level_ == r.level) r.shown = true;
  }
  frame_ = machine_frame(roofs_);
  if (frozen()) fit();
  roofs_changed();
  redraw();
}

void RooflineCanvas::light_from(size_t first) {
  const auto& isolated = shared_.selection.now().isolated;
  std::vector<bool> chosen;
  if (!isolated.empty()) chosen.resize(shared_.document.nodes().size());
  for (int node : isolated)
    if (node >= 0 && static_cast<size_t>(node) < chosen.size()) chosen[node] = true;
  for (size_t i = first; i < cloud_.points.size(); ++i) {
    CloudPoint& c = cloud_.points[i];
    c.lit = shared_.filters.passes(c.node) && (isolated.empty() || chosen[c.node]);
  }
  redraw();
}

// While a search has no answer yet, the fastest plan so far.
int RooflineCanvas::best() const {
  const auto& best = shared_.document.best();
  if (!best.empty()) return best.front();
  const Family* fastest = nullptr;
  for (const Family& f : cloud_.families)
    if (f.best_seconds > 0 && (!fastest || f.best_seconds < fastest->best_seconds)) fastest = &f;
  return fastest ? fastest->best : -1;
}

void RooflineCanvas::find_path() {
  path_.clear();
  if (!path_shown_) return;
  const int selected = shared_.selection.now().node;
  const int to = selected >= 0 ? selected : best();
  if (shared_.document.node(to)) path_ = path_stops(shared_.document, to);
}

uint32_t RooflineCanvas::levels_shown() const {
  uint32_t mask = 0;
  for (size_t k = 0; k < cloud_.levels.size(); ++k) {
    const QString name = QString::fromStdString(cloud_.levels[k]);
    if (level_.isEmpty() ? name != QStringLiteral("register") : name == level_) mask |= 1U << k;
  }
  return mask;
}

void RooflineCanvas::set_level(const QString& name) {
  level_ = name;
  find_roofs();
  settings_changed();
}

void RooflineCanvas::set_colour(ColourBy c) {
  colour_ = c;
  redraw();
  settings_changed();
}

void RooflineCanvas::set_path_shown(bool on) {
  path_shown_ = on;
  find_path();
  update();
  settings_changed();
}

void RooflineCanvas::set_roof_shown(size_t k, bool on) {
  chosen_[roofs_[k].name + roofs_[k].value_text()] = on;
  find_roofs();
}

QRectF RooflineCanvas::plot_area(QSizeF size, const QMarginsF& legend) {
  const QRectF room = QRectF(QPointF(0, 0), size) - (QMarginsF(66, 10, 16, 46) + legend);
  return {room.topLeft(), room.size().expandedTo({60, 60})};
}

QRectF RooflineCanvas::area_in(QSize size) const { return plot_area(size, legend_); }

QRectF RooflineCanvas::plot() const {
  return frozen() ? viewport_.to_screen(world()) & viewport_.area : viewport_.area;
}

void RooflineCanvas::fit_data() {
  QRectF all = cloud_.bounds(levels_shown());
  for (const Ridge& r : ridges_of(roofs_)) all |= QRectF(r.world, QSizeF(0.01, 0.01));
  if (all.isNull()) return;
  viewport_.area = area_in(size());
  viewport_.fit(all.adjusted(-0.15, -0.15, 0.15, 0.15), {}, viewport_.most);
  set_moved_by_hand(true);
  update();
  viewport_changed();
}

RooflineLook RooflineCanvas::look() const {
  RooflineLook l{cloud_, roofs_, shared_.document, shared_.selection, plot(), ~0U};
  l.levels = levels_shown();
  l.colour = colour_;
  l.best = best();
  l.path = path_;
  l.hovered = hovered_;
  l.hovered_roof = hovered_roof_;
  return l;
}

// What the selection and the mouse change is painted over a picture of all the rest, which is kept
// until something else changes.
void RooflineCanvas::paint_canvas(QPainter& p) {
  const double dpr = p.device()->devicePixelRatioF();
  const QSize size = (QSizeF(this->size()) * dpr).toSize();
  if (base_.size() != size) base_ = QImage(size, QImage::Format_RGB32), base_kept_ = false;
  if (!base_kept_ || base_.devicePixelRatio() != dpr || base_view_ != viewport_) {
    base_.setDevicePixelRatio(dpr);
    QPainter q(&base_);
    paint_base(q);
    base_kept_ = true;
  }
  p.drawImage(QPointF(0, 0), base_);
  painter_.paint_marks(p, viewport_, look());
  if (hovered_ >= 0 && hovered_ < static_cast<int>(cloud_.points.size())) {
    const CloudPoint& c = cloud_.points[hovered_];
    const QPointF at = viewport_.to_screen(QPointF(c.x, c.y));
    paint_card(p, card_of(hovered_), QRectF(at - QPointF(12, 12), QSizeF(24, 24)), rect(),
               shared_.theme);
  } else if (hovered_roof_ >= 0 && hovered_roof_ < static_cast<int>(roofs_.size())) {
    InfoCard c{roofs_[hovered_roof_].label(),
               shared_.theme.accent(),
               {{{}, roofs_[hovered_roof_].explanation()}}};
    const QPointF at = mapFromGlobal(QCursor::pos());
    paint_card(p, c, QRectF(at - QPointF(6, 6), QSizeF(12, 12)), rect(), shared_.theme);
  }
  if (hasFocus()) {
    p.setPen(QPen(shared_.theme.accent(), 1));
    p.setBrush(Qt::NoBrush);
    p.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
  }
}

// A view that only moved keeps its legend.
void RooflineCanvas::paint_base(QPainter& p) {
  if (!base_kept_) {
    const QMarginsF taken = painter_.paint_legend(p, rect(), look());
    if (taken != legend_) {
      legend_ = taken;
      area_changed();
    }
  }
  p.setClipRect(QRectF(rect()) - legend_);
  p.fillRect(rect(), shared_.theme.background());
  base_view_ = viewport_;
  painter_.paint_base(p, viewport_, look());
}

// Laid out for the page: its shape may be another than the widget's.
void RooflineCanvas::paint_on(QPainter& p, const QRectF& page) {
  p.fillRect(page, shared_.theme.background());
  const double zoom = page.width() / std::max(1, width());
  p.save();
  p.translate(page.topLeft());
  p.scale(zoom, zoom);
  RooflineLook l = look();
  l.as_text = true;
  l.hovered = l.hovered_roof = -1;
  const QRectF all(QPointF(0, 0), page.size() / zoom);
  Viewport v = viewport_;
  v.area = plot_area(all.size(), painter_.paint_legend(p, all, l));
  l.plot = v.area;
  if (frozen()) {
    const QRectF frame = frame_for(frame_, v.area.size());
    v.fit(frame, {}, v.most);
    l.plot = v.to_screen(frame) & v.area;
  }
  painter_.paint(p, v, l);
  redraw();  // what the painter says is outside is the widget's
  p.restore();
}

QPointF RooflineCanvas::screen_point(int node) const {
  const uint32_t shown = levels_shown();
  auto [begin, end] = cloud_.of(node);
  for (const CloudPoint* c = begin; c != end; ++c)
    if (shown >> c->level & 1) return viewport_.to_screen(QPointF(c->x, c->y));
  return {NAN, NAN};
}

QJsonObject RooflineCanvas::state() const {
  QJsonObject j;
  if (!frozen()) j = viewport_.to_json();
  j["level"] = level_;
  j["colour"] = colour_ == ColourBy::State ? "state" : "family";
  j["path"] = path_shown_;
  QJsonObject roofs;
  for (auto& [name, on] : chosen_) roofs[name] = on;
  j["roofs"] = roofs;
  return j;
}

void RooflineCanvas::set_state(const QJsonObject& j) {
  level_ = j["level"].toString();
  colour_ = j["colour"].toString() == QStringLiteral("state") ? ColourBy::State : ColourBy::Family;
  path_shown_ = j["path"].toBool(true);
  const QJsonObject roofs = j["roofs"].toObject();
  for (auto it = roofs.begin(); it != roofs.end(); ++it) chosen_[it.key()] = it.value().toBool();
  if (j.contains("scale")) {
    viewport_.from_json(j);
    set_moved_by_hand(true);
  } else {
    set_moved_by_hand(false);
  }
  find_roofs();
  find_path();
  settings_changed();
}

}  // namespace nautilus::gui
