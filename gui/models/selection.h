// What is selected, the same in all views: a candidate, nodes of its schedule tree, a statement.
// Changes within one turn of the event loop reach the views as one signal.
#pragma once

#include <QObject>
#include <QString>
#include <set>
#include <utility>
#include <vector>

namespace nautilus::gui {

struct Selected {
  int node = -1;           // of the search tree: shown by every view; -1: none
  std::set<int> isolated;  // candidates that stay lit, the rest is dimmed; empty: all; {-1}: none
  int tree_node = -1;      // of the selected candidate's schedule tree (poly::NodeId); -1: none
  QString statement;       // "" if none
  bool operator==(const Selected&) const = default;
};

class Selection : public QObject {
  Q_OBJECT
 public:
  enum Part : unsigned { Node = 1, Isolated = 2, TreeNode = 4, Statement = 8, Hover = 16 };
  explicit Selection(QObject* parent = nullptr);

  const Selected& now() const { return now_; }
  int hovered() const { return hovered_; }                 // a candidate under the mouse, or -1
  int hovered_tree_node() const { return hovered_tree_; }  // likewise of the schedule tree
  QString hovered_statement() const { return hovered_stmt_; }

  void select(int node);  // enters the history; forgets tree node and statement
  void toggle(int node);  // Ctrl-click: in or out of `isolated`
  void isolate(std::set<int> nodes);
  void select_tree_node(int id);
  void select_statement(const QString& name);
  void hover(int node);
  void hover_tree(int tree_node, const QString& statement);
  void clear();

  // Alt+Left, Alt+Right.
  bool can_go_back() const;
  bool can_go_forward() const;
  void back();
  void forward();

 Q_SIGNALS:
  void changed(unsigned parts);  // what differs since the last signal, bits of Part
  void history_changed();

 private:
  void mark(unsigned part);
  void show(int node);
  Selected now_;
  int hovered_ = -1, hovered_tree_ = -1;
  QString hovered_stmt_;
  std::vector<int> history_;
  size_t at_ = 0;
  unsigned pending_ = 0;
};

}  // namespace nautilus::gui
