#include "gui/models/selection.h"

namespace nautilus::gui {

Selection::Selection(QObject* parent) : QObject(parent) {}

void Selection::select(int node) {
  if (node == now_.node) return;
  show(node);
  if (node < 0) return;
  history_.resize(history_.empty() ? 0 : at_ + 1);
  history_.push_back(node);
  at_ = history_.size() - 1;
  history_changed();
}

void Selection::toggle(int node) {
  if (node < 0) return;
  if (!now_.isolated.erase(node)) now_.isolated.insert(node);
  mark(Isolated);
}

void Selection::isolate(std::set<int> nodes) {
  if (nodes == now_.isolated) return;
  now_.isolated = std::move(nodes);
  mark(Isolated);
}

void Selection::select_tree_node(int id) {
  if (id == now_.tree_node) return;
  now_.tree_node = id;
  mark(TreeNode);
}

void Selection::select_statement(const QString& name) {
  if (name == now_.statement) return;
  now_.statement = name;
  mark(Statement);
}

void Selection::hover(int node) {
  if (node == hovered_) return;
  hovered_ = node;
  mark(Hover);
}

void Selection::hover_tree(int tree_node, const QString& statement) {
  if (tree_node == hovered_tree_ && statement == hovered_stmt_) return;
  hovered_tree_ = tree_node;
  hovered_stmt_ = statement;
  mark(Hover);
}

void Selection::clear() {
  hover(-1);
  hover_tree(-1, {});
  isolate({});
  show(-1);
  history_.clear();
  at_ = 0;
  history_changed();
}

bool Selection::can_go_back() const { return at_ > 0; }
bool Selection::can_go_forward() const { return at_ + 1 < history_.size(); }

void Selection::back() {
  if (!can_go_back()) return;
  show(history_[--at_]);
  history_changed();
}

void Selection::forward() {
  if (!can_go_forward()) return;
  show(history_[++at_]);
  history_changed();
}

void Selection::show(int node) {
  if (now_.node != node) now_.node = node, mark(Node);
  select_tree_node(-1);
  select_statement({});
}

void Selection::mark(unsigned part) {
  if (!pending_)
    QMetaObject::invokeMethod(
        this, [this] { changed(std::exchange(pending_, 0u)); }, Qt::QueuedConnection);
  pending_ |= part;
}

}  // namespace nautilus::gui
