// What is being explored: one operator at given sizes on a machine, the tree of candidates so far,
// measurements and notes. Lives on the interface thread and is the only owner of this data; views
// read it and keep no copies. Nodes are only ever appended or changed in place, so a node's id is
// its row.
#pragma once

#include <QObject>
#include <QString>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "autosched/search.h"

namespace nautilus::gui {

using Measured = sched::MeasuredPlan;

class Document : public QObject {
  Q_OBJECT
 public:
  explicit Document(QObject* parent = nullptr);

  bool empty() const { return session_.program_naut.empty(); }
  const sched::Session& session() const { return session_; }
  const std::vector<sched::SearchNode>& nodes() const { return session_.result.nodes; }
  const sched::SearchNode* node(int id) const;  // nullptr: no such node
  std::vector<int> children(int id) const;
  const std::vector<int>& best() const { return session_.result.best; }  // best first
  std::vector<int> path(int id) const;                                   // root first, id last
  int depth(int id) const;  // steps below the root, in constant time; 0: no such node
  bool on_best_path(int id) const;
  std::optional<Measured> measured(int id) const;
  QString note(int id) const;
  bool pinned(int id) const;
  const std::vector<int>& pins() const { return session_.pins; }  // in the order of pinning
  QString file() const { return file_; }                          // "" if never saved
  bool modified() const { return modified_; }
  unsigned revision() const { return revision_; }  // counts changes

  // Replaces everything.
  void set_session(sched::Session s, const QString& file);
  // Growth (a live search, a transform by hand): new nodes get the next ids, parents before
  // children.
  void append(std::vector<sched::SearchNode> more);
  void change(std::vector<sched::SearchNode> nodes);
  void set_answer(std::vector<int> best, std::vector<int> pareto);
  void set_progress(int plans, int structures, double seconds);
  void set_outcome(const sched::SearchResult& r);  // all of it but nodes, best and pareto
  void set_options(const sched::SearchOptions& o);
  // Every candidate costed again, and the options and the answer that belong to these costs: all of
  // it is there before anybody is told, as `options_changed` and then `answer_changed`. Takes a few
  // ms, however many there are. `nodes`: those of the document by id, below the same parents.
  // False: they are others, and nothing changed.
  bool set_costs(const sched::SearchOptions& o, std::vector<sched::SearchNode> nodes,
                 std::vector<int> best, std::vector<int> pareto);
  void set_note(int id, const QString& text);
  void set_pinned(int id, bool on);
  void set_measured(int id, Measured m);
  void set_measured(std::map<int, Measured> all);  // told as `changed`
  // What `revision` says is in the file; what came later is not.
  void set_saved(const QString& file, unsigned revision);
  // What is there was never saved under a name.
  void set_unsaved() { touch(true); }
  // All but the nodes, for who copies those in parts.
  sched::Session session_without_nodes();

 Q_SIGNALS:
  void reset();                        // everything changed
  void appended(int first, int last);  // ids, inclusive
  void changed(const QList<int>& ids);
  void answer_changed();  // best, pareto
  void progress(int plans, int structures, double seconds);
  void notes_changed(int id);
  void pins_changed();
  void measured_changed(int id);
  void options_changed();  // and with them, perhaps, every candidate's costs
  void modified_changed(bool modified);

 private:
  void touch(bool modified);
  bool put_answer(std::vector<int> best, std::vector<int> pareto);
  void find_best_path();
  void enter_in_family(const sched::SearchNode& n);
  void make_room();
  struct Family {
    int first_child = -1, last_child = -1, next_sibling = -1;
    int depth = 0;
  };
  sched::Session session_;
  std::vector<Family> families_;  // by node
  std::vector<bool> on_best_;
  QString file_;
  bool modified_ = false, making_room_ = false;
  unsigned revision_ = 0;
};

}  // namespace nautilus::gui
