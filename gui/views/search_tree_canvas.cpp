#include "gui/views/search_tree_canvas.h"

#include <QJsonArray>
#include <cmath>

#include "gui/models/quantity.h"

namespace nautilus::gui {
namespace {

constexpr double kReadable = 0.72;  // the smallest scale that `home` chooses
constexpr size_t kRead = 256;       // candidates in a step
constexpr int kAtOnce = 16;         // steps

}  // namespace

SearchTreeCanvas::SearchTreeCanvas(Shared shared, QWidget* parent)
    : PictureCanvas(parent), shared_(shared), painter_(shared.theme) {
  setObjectName(QStringLiteral("search_tree_canvas"));
  setAccessibleName(tr("Search tree"));
  viewport_.least = 0.004;
  viewport_.most = 4;
  connect(&shared_.document, &Document::reset, this, &SearchTreeCanvas::document_reset);
  connect(&shared_.document, &Document::appended, this, &SearchTreeCanvas::document_appended);
  connect(&shared_.document, &Document::changed, this, [this](const QList<int>& ids) {
    for (int id : ids) refresh(id);
    request(false);
  });
  connect(&shared_.document, &Document::options_changed, this, &SearchTreeCanvas::read_again);
  connect(&shared_.document, &Document::answer_changed, this, [this] { request(false); });
  connect(&shared_.document, &Document::measured_changed, this, [this](int id) {
    refresh(id);
    request(false);
  });
  connect(&shared_.document, &Document::pins_changed, this, [this] { request(false); });
  connect(&shared_.document, &Document::notes_changed, this, [this] { request(false); });
  connect(&shared_.selection, &Selection::changed, this, &SearchTreeCanvas::selection_changed);
  connect(&shared_.filters, &FilterStack::changed, this, qOverload<>(&QWidget::update));
  connect(&shared_.theme, &Theme::changed, this, [this] {
    painter_.theme_changed();
    update();
  });
  document_reset();
}

void SearchTreeCanvas::document_reset() {
  const bool everything = question_.everything;
  question_ = {};
  question_.everything = everything;
  question_.facts.reserve(shared_.document.nodes().size());
  limit_ = -1;
  cursor_ = {-1, Group::None};
  hovered_item_ = to_reveal_ = -1;
  first_ = true;
  set_moved_by_hand(false);
  picture_ = {};
  job_.drop();
  reading_.start([this] { return read_some(question_.facts); }, [this] { request(true); }, kAtOnce);
  root_changed(0);
}

// Beside what is shown, which stays whole until then.
void SearchTreeCanvas::read_again() {
  again_.clear();
  again_.reserve(shared_.document.nodes().size());
  reading_.start([this] { return read_some(again_); },
                 [this] {
                   question_.facts = std::exchange(again_, {});
                   request(true);
                 });
}

TreeFact SearchTreeCanvas::fact(const sched::SearchNode& n) const {
  const auto m = shared_.document.measured(n.id);
  return fact_of(n, m && !m->right.fails() ? m->seconds : 0);
}

bool SearchTreeCanvas::read_some(std::vector<TreeFact>& facts) const {
  const auto& nodes = shared_.document.nodes();
  const size_t end = std::min(nodes.size(), facts.size() + kRead);
  while (facts.size() < end) facts.push_back(fact(nodes[facts.size()]));
  return end < nodes.size();
}

void SearchTreeCanvas::document_appended() {
  if (reading_.busy()) return;  // which gets there
  while (read_some(question_.facts)) {
  }
  request(false);
}

void SearchTreeCanvas::refresh(int id) {
  const sched::SearchNode* n = shared_.document.node(id);
  if (!n) return;
  for (std::vector<TreeFact>* facts : {&question_.facts, &again_})
    if (id < static_cast<int>(facts->size())) (*facts)[id] = fact(*n);
}

void SearchTreeCanvas::request(bool supersede) {
  if (reading_.busy()) return;  // asks at its end
  TreeQuestion q = question_;
  q.best = shared_.document.best();
  for (int id : shared_.document.pins()) q.shown.insert(id);
  for (auto& [id, note] : shared_.document.session().notes) q.shown.insert(id);
  const int selected = shared_.selection.now().node;
  if (selected >= 0 && selected < static_cast<int>(q.facts.size())) q.shown.insert(selected);
  job_.start([q = std::move(q)] { return make_tree_picture(q); },
             [this](SearchTreePicture p) { picture_arrived(std::move(p)); }, supersede);
}

// The candidate that people look at stays where it is on the screen: the selected one, else the one
// in the middle of the view.
void SearchTreeCanvas::picture_arrived(SearchTreePicture p) {
  int anchor = -1;
  if (picture_.size() > 0 && picture_.root == p.root) {
    const QRectF visible = viewport_.visible();
    const int selected = shared_.selection.now().node;
    if (selected >= 0 && selected < static_cast<int>(picture_.item_of.size())) {
      const int i = picture_.item_of[selected];
      if (i >= 0 && picture_.box(i).intersects(visible)) anchor = selected;
    }
    double nearest = 1e300;
    for (int level = 0; anchor < 0 && level < picture_.tree.levels(); ++level) {
      auto [i, end] = picture_.range(level, visible.top(), visible.bottom());
      for (; i < end; i += 1 + (end - i) / 64) {
        const double d = QPointF(picture_.box(i).center() - visible.center()).manhattanLength();
        if (d < nearest && picture_.items[i].fold == Group::None)
          nearest = d, anchor = picture_.items[i].node;
      }
    }
    if (!moved_by_hand()) anchor = picture_.root;
  }
  const QPointF before = anchor >= 0
                             ? viewport_.to_screen(picture_.box(picture_.item_of[anchor]).topLeft())
                             : QPointF();
  const bool rerooted = picture_.size() > 0 && picture_.root != p.root;
  const bool outgrew = !viewport_.visible().contains(p.bounds);
  picture_ = std::move(p);
  painter_.picture_changed();
  hovered_item_ = -1;
  if ((first_ || rerooted) && !moved_by_hand()) {
    home();
  } else if (anchor >= 0 && picture_.item_of[anchor] >= 0) {
    const QPointF after = viewport_.to_screen(picture_.box(picture_.item_of[anchor]).topLeft());
    viewport_.pan(before - after);
    if (!moved_by_hand() && outgrew && viewport_.scale > kReadable) home();
  }
  first_ = first_ && picture_.size() == 0;
  if (to_reveal_ >= 0 && to_reveal_ < static_cast<int>(picture_.item_of.size()) &&
      picture_.item_of[to_reveal_] >= 0) {
    viewport_.reveal(picture_.box(picture_.item_of[to_reveal_]), 24);
    to_reveal_ = -1;
  }
  update();
  picture_changed();
}

void SearchTreeCanvas::home() {
  at_home_ = true;
  viewport_.area = area_in(size());
  const QRectF all = picture_.bounds;
  viewport_.fit(all, fit_margins(), fit_scale());
  set_moved_by_hand(false);
  if (viewport_.scale < kReadable && picture_.size() > 0) {
    viewport_.scale = kReadable;
    const QSizeF room = viewport_.area.size() / kReadable;
    const int b = best();
    const int item =
        b >= 0 && b < static_cast<int>(picture_.item_of.size()) ? picture_.item_of[b] : -1;
    double y = item >= 0 ? (picture_.y[item] + picture_.y[0]) / 2 : picture_.y[0];
    const double half = room.height() / 2 - 24 / kReadable;
    if (all.height() > 2 * half)
      y = std::clamp(y, all.top() + half, all.bottom() - half);
    else
      y = all.center().y();
    viewport_.centre = {std::min(all.center().x(), room.width() / 2 - 16 / kReadable), y};
    if (all.width() > room.width() - 40) viewport_.centre.setX(room.width() / 2 - 16 / kReadable);
  }
  update();
  viewport_changed();
}

void SearchTreeCanvas::fit() {
  at_home_ = false;
  Canvas::fit();
  const int b = best();
  if (viewport_.scale > 0.01 || b < 0) return;
  viewport_.scale = 0.01;
  viewport_.centre.setY(picture_.y[std::max(0, picture_.item_of[b])]);
}

QRectF SearchTreeCanvas::area_in(QSize size) const {
  const double bottom = legend_ ? std::max(28.0, legend_height_) : 0;
  return {0, 0, double(size.width()), std::max(40.0, size.height() - bottom)};
}

TreeLook SearchTreeCanvas::look() const {
  int item = -1;
  if (cursor_.second != Group::None) item = cursor();
  return {picture_, question_.facts, shared_.document, shared_.filters, shared_.selection, limit(),
          item};
}

void SearchTreeCanvas::paint_canvas(QPainter& p) {
  p.fillRect(rect(), shared_.theme.background());
  const TreeLook l = look();
  if (legend_) {
    const double h = painter_.paint_legend(p, rect(), l);
    if (h != legend_height_) {
      legend_height_ = h;
      area_changed();
    }
  }
  painter_.paint(p, viewport_, l);
  if (hovered_item_ >= 0) paint_hover(p);
  if (hasFocus()) {
    p.setPen(QPen(shared_.theme.accent(), 1));
    p.setBrush(Qt::NoBrush);
    p.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
  }
}

void SearchTreeCanvas::paint_on(QPainter& p, const QRectF& page) {
  p.fillRect(page, shared_.theme.background());
  TreeLook l = look();
  l.as_text = true;
  const double zoom = page.width() / std::max(1, width());
  p.save();
  p.translate(page.topLeft());
  p.scale(zoom, zoom);
  const QRectF area(0, 0, page.width() / zoom, page.height() / zoom);
  Viewport v = viewport_;
  const double h = painter_.paint_legend(p, area, l);
  v.area = area.adjusted(0, 0, 0, -h);
  painter_.paint(p, v, l);
  painter_.paint_legend(p, area, l);  // over what SVG does not clip
  p.restore();
}

int SearchTreeCanvas::limit() const {
  const int n = static_cast<int>(question_.facts.size());
  return limit_ < 0 ? n : std::min(limit_, n);
}

void SearchTreeCanvas::set_limit(int limit) {
  limit_ = limit >= static_cast<int>(question_.facts.size()) ? -1 : limit;
  update();
  picture_changed();
}

void SearchTreeCanvas::set_root(int node) {
  if (node == question_.root || !shared_.document.node(node)) return;
  question_.root = node;
  set_moved_by_hand(false);
  request(true);
  root_changed(node);
}

void SearchTreeCanvas::set_everything(bool on) {
  question_.everything = on;
  request(true);
}

void SearchTreeCanvas::set_legend(bool on) {
  legend_ = on;
  area_changed();
}

void SearchTreeCanvas::set_open(int node, bool open) {
  question_.open[node] = open;
  request(true);
}

void SearchTreeCanvas::set_unfolded(int parent, Group g, bool unfolded) {
  if (unfolded)
    question_.unfolded.insert(fold_key(parent, g));
  else
    question_.unfolded.erase(fold_key(parent, g));
  request(true);
}

void SearchTreeCanvas::fold_all() {
  question_.open.clear();
  question_.unfolded.clear();
  question_.shown.clear();
  question_.everything = false;
  request(true);
}

QRectF SearchTreeCanvas::screen_box(int node) const {
  if (node < 0 || node >= static_cast<int>(picture_.item_of.size())) return {};
  const int i = picture_.item_of[node];
  return i < 0 ? QRectF() : viewport_.to_screen(picture_.box(i));
}

QJsonObject SearchTreeCanvas::state() const {
  QJsonObject j = viewport_.to_json();
  QJsonArray opened, closed, unfolded;
  for (auto& [id, open] : question_.open) (open ? opened : closed).append(id);
  for (int id : question_.unfolded) unfolded.append(id);
  j["root"] = question_.root;
  j["everything"] = question_.everything;
  j["opened"] = opened;
  j["closed"] = closed;
  j["unfolded"] = unfolded;
  if (limit_ >= 0) j["replay"] = limit_;
  return j;
}

void SearchTreeCanvas::set_state(const QJsonObject& j) {
  for (const auto& [key, open] : {std::pair("opened", true), std::pair("closed", false)})
    for (const QJsonValue& id : j[QLatin1String(key)].toArray())
      question_.open[id.toInt(-1)] = open;
  for (const QJsonValue& id : j["unfolded"].toArray()) question_.unfolded.insert(id.toInt(-1));
  const int root = j["root"].toInt(0);
  if (shared_.document.node(root)) question_.root = root;
  question_.everything = j["everything"].toBool();
  limit_ = j["replay"].toInt(-1);
  viewport_.from_json(j);
  picture_ = {};  // what is looked at is told, not kept
  set_moved_by_hand(j.contains("scale"));
  request(true);
  root_changed(question_.root);
}

}  // namespace nautilus::gui
