// Mouse and keys of the search tree's canvas.
#include <QAccessible>
#include <QKeyEvent>

#include "gui/models/quantity.h"
#include "gui/models/verdict_data.h"
#include "gui/views/search_tree_canvas.h"

namespace nautilus::gui {
namespace {

QString steps_text(const std::vector<poly::TransformStep>& steps) {
  QStringList lines;
  for (const auto& s : steps) {
    if (lines.size() == 4 && steps.size() > 5) {
      lines << QStringLiteral("and %1 more").arg(steps.size() - 4);
      break;
    }
    lines << QString::fromStdString(step_text(s));
  }
  return lines.join(u'\n');
}

}  // namespace

InfoCard SearchTreeCanvas::card_of(int item) const {
  const TreeItem& it = picture_.items[item];
  const Theme& theme = shared_.theme;
  if (it.fold != Group::None) {
    InfoCard c{fold_text(picture_, question_.facts, item, limit()), theme.muted(), {}};
    c.lines.push_back({{},
                       it.open ? tr("Click or Enter folds them again.")
                               : tr("Click or Enter shows them one by one.")});
    return c;
  }
  const sched::SearchNode* n = shared_.document.node(it.node);
  if (!n) return {};
  InfoCard c{QStringLiteral("#%1  %2").arg(n->id).arg(QString::fromStdString(n->decision)),
             theme.state(n->state),
             {}};
  auto line = [&](const QString& name, const QString& value) {
    if (!value.isEmpty()) c.lines.push_back({name, value});
  };
  line(tr("state"), Theme::glyph(n->state) + u' ' + Theme::state_words(n->state));
  if (n->seconds > 0) line(tr("predicted"), seconds_text(n->seconds));
  if (const auto m = shared_.document.measured(n->id))
    line(tr("measured"),
         seconds_text(m->seconds) + said_of(m->right) +
             (m->source.empty() ? QString()
                                : QStringLiteral(", ") + QString::fromStdString(m->source)));
  if (n->lower_bound > 0) line(tr("no less than"), seconds_text(n->lower_bound));
  line(tr("limited by"), QString::fromStdString(n->limiter));
  QStringList knobs;
  for (auto& [k, v] : n->knobs) knobs << QString::fromStdString(k) + u'=' + QString::number(v);
  line(tr("knobs"), knobs.join(QStringLiteral("  ")));
  line(tr("steps"), steps_text(n->steps));
  if (n->duplicate_of >= 0) line(tr("equals"), QStringLiteral("#%1").arg(n->duplicate_of));
  QString reason = QString::fromStdString(n->reason);
  if (reason.size() > 420) reason = reason.left(420) + u'\u2026';
  line(tr("why"), reason);
  if (!it.open && it.below > 0) {
    QString below = tr("%1 candidates").arg(count_text(it.below));
    if (it.best_below > 0) below += tr(", the fastest %1").arg(seconds_text(it.best_below));
    line(tr("below"), below);
  }
  line(tr("note"), shared_.document.note(n->id));
  return c;
}

void SearchTreeCanvas::paint_hover(QPainter& p) {
  paint_card(p, card_of(hovered_item_), viewport_.to_screen(picture_.box(hovered_item_)),
             viewport_.area, shared_.theme);
}

void SearchTreeCanvas::hover_at(QPointF at) {
  const int item = viewport_.area.contains(at) ? picture_.at(viewport_.to_world(at)) : -1;
  if (item == hovered_item_) return;
  hovered_item_ = item;
  setCursor(item >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
  const bool candidate = item >= 0 && picture_.items[item].fold == Group::None;
  shared_.selection.hover(candidate ? picture_.items[item].node : -1);
  update();
}

void SearchTreeCanvas::leave() {
  if (hovered_item_ < 0) return;
  hovered_item_ = -1;
  shared_.selection.hover(-1);
  update();
}

void SearchTreeCanvas::activate(int item) {
  const TreeItem& it = picture_.items[item];
  if (it.fold != Group::None)
    set_unfolded(it.node, it.fold, !it.open);
  else if (it.open || it.below > 0)
    set_open(it.node, !it.open);
}

void SearchTreeCanvas::click_at(QPointF at, Qt::KeyboardModifiers modifiers) {
  const QPointF w = viewport_.to_world(at);
  const int item = picture_.at(w);
  if (item < 0) {
    if (!shared_.selection.now().isolated.empty()) shared_.selection.isolate({});
    return;
  }
  const TreeItem& it = picture_.items[item];
  cursor_ = {it.node, it.fold};
  if (it.fold != Group::None || picture_.toggle_box(item).contains(w)) return activate(item);
  if (modifiers & Qt::ControlModifier)
    shared_.selection.toggle(it.node);
  else
    shared_.selection.select(it.node);
}

void SearchTreeCanvas::double_click_at(QPointF at) {
  const int item = picture_.at(viewport_.to_world(at));
  if (item >= 0 && picture_.items[item].fold == Group::None) set_root(picture_.items[item].node);
}

int SearchTreeCanvas::cursor() const {
  const auto [node, fold] = cursor_;
  if (node < 0 || node >= static_cast<int>(picture_.item_of.size())) return -1;
  if (fold == Group::None) return picture_.item_of[node];
  const int parent = picture_.item_of[node];
  if (parent < 0 || picture_.items[parent].node != node) return -1;
  const LevelTree& t = picture_.tree;
  for (int k = 0; k < t.children[parent]; ++k)
    if (picture_.items[t.first_child[parent] + k].fold == fold) return t.first_child[parent] + k;
  return parent;
}

void SearchTreeCanvas::move_cursor(int item) {
  if (item < 0 || item >= picture_.size()) return;
  const TreeItem& it = picture_.items[item];
  cursor_ = {it.node, it.fold};
  viewport_.reveal(picture_.box(item), 24);
  if (it.fold == Group::None) shared_.selection.select(it.node);
  describe();
  update();
  viewport_changed();
}

// Up and down go along a level, so from the last child of one parent to the first of the next.
int SearchTreeCanvas::neighbour(int item, int key) const {
  const LevelTree& t = picture_.tree;
  const int level = t.level_of(item);
  switch (key) {
    case Qt::Key_Up:
      return item > t.level_begin[level] ? item - 1 : item;
    case Qt::Key_Down:
      return item + 1 < t.level_begin[level + 1] ? item + 1 : item;
    case Qt::Key_Left:
      return t.parent[item] >= 0 ? t.parent[item] : item;
    case Qt::Key_Right: {
      if (t.children[item] == 0) return item;
      int best = t.first_child[item];
      float seconds = 0;
      for (int c = best; c < t.first_child[item] + t.children[item]; ++c) {
        const float s = picture_.items[c].fold == Group::None ? picture_.items[c].best_below : 0;
        if (s > 0 && (seconds == 0 || s < seconds)) best = c, seconds = s;
      }
      return best;
    }
  }
  return item;
}

bool SearchTreeCanvas::key(QKeyEvent* e) {
  if (picture_.size() == 0) return false;
  const int at = cursor();
  const bool plain = e->modifiers() == Qt::NoModifier || e->modifiers() == Qt::KeypadModifier;
  switch (e->key()) {
    case Qt::Key_Up:
    case Qt::Key_Down:
    case Qt::Key_Left:
    case Qt::Key_Right: {
      if (!plain) return false;
      if (at < 0) return move_cursor(0), true;
      const TreeItem& it = picture_.items[at];
      if (e->key() == Qt::Key_Right && it.fold == Group::None && !it.open && it.below > 0)
        return set_open(it.node, true), true;
      return move_cursor(neighbour(at, e->key())), true;
    }
    case Qt::Key_Home:
      return move_cursor(0), true;
    case Qt::Key_End:
    case Qt::Key_B:
      if (!plain || best() < 0) return false;
      return go_to(best()), true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (at < 0) return false;
      if (e->modifiers() & Qt::ControlModifier)
        shared_.selection.toggle(picture_.items[at].node);
      else if (e->modifiers() & Qt::ShiftModifier)
        set_root(picture_.items[at].node);
      else
        activate(at);
      return true;
    case Qt::Key_Backspace:
    case Qt::Key_Escape:
      if (!shared_.selection.now().isolated.empty()) return shared_.selection.isolate({}), true;
      if (question_.root == 0) return false;
      set_root(e->key() == Qt::Key_Escape ? 0 : shared_.document.node(question_.root)->parent);
      return true;
  }
  return false;
}

void SearchTreeCanvas::go_to(int node) {
  if (!shared_.document.node(node)) return;
  shared_.selection.select(node);
  cursor_ = {node, Group::None};
  to_reveal_ = node;
  unhide(node);
  request(true);
}

void SearchTreeCanvas::unhide(int node) {
  question_.shown.insert(node);
  for (int up : shared_.document.path(node))
    if (auto it = question_.open.find(up); up != node && it != question_.open.end() && !it->second)
      question_.open.erase(it);
}

// A candidate that is selected anywhere is unfolded here and comes into view.
void SearchTreeCanvas::selection_changed(unsigned parts) {
  if (parts & Selection::Node) {
    const int node = shared_.selection.now().node;
    if (shared_.document.node(node)) {
      cursor_ = {node, Group::None};
      const bool known = node < static_cast<int>(picture_.item_of.size());
      const int item = known ? picture_.item_of[node] : -1;
      if (item >= 0 && picture_.items[item].node == node &&
          picture_.items[item].fold == Group::None) {
        viewport_.reveal(picture_.box(item), 24);
        viewport_changed();
        question_.shown.insert(node);
      } else {
        to_reveal_ = node;
        unhide(node);
        request(false);
      }
    }
    describe();
  }
  update();
}

// For screen readers: what the cursor is at.
void SearchTreeCanvas::describe() {
  const int item = cursor();
  if (item < 0) return;
  setAccessibleDescription(card_of(item).plain_text());
  QAccessibleEvent changed(this, QAccessible::DescriptionChanged);
  QAccessible::updateAccessibility(&changed);
}

}  // namespace nautilus::gui
