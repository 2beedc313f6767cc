// The search behind the window: sched::Exploration on a thread and an isl context of its own. What
// it finds arrives at the document in batches, ten times a second; nothing here waits for the
// thread.
#pragma once

#include <QObject>
#include <QTimer>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "autosched/exploration.h"
#include "gui/models/document.h"

namespace nautilus::gui {

// Budgets of one press of Explore; 0: none.
struct Allowance {
  double seconds = 10;
  int plans = 20'000, nodes = 100'000;
};

class LiveSearch : public QObject {
  Q_OBJECT
 public:
  enum class Phase : uint8_t {
    Off,      // there is no exploration
    Running,  // it decides
    Paused,   // it waits: somebody asked, its budget is spent, or there is nothing left to try
  };
  explicit LiveSearch(Document& document, QObject* parent = nullptr);
  ~LiveSearch() override;

  Phase phase() const { return phase_; }
  bool alive() const { return phase_ != Phase::Off; }
  int root() const { return root_; }  // what lies below this candidate is explored; 0: everything

  void explore(const Allowance& allowance);  // starts, or goes on, with this much more
  void pause();
  void step();  // one decision
  void stop();  // what is open is given up; the exploration ends
  // Another document: at once, and nothing arrives any more.
  void drop();
  void explore_below(int node);
  // All costs and the document's machine change together once everything is costed again; what was
  // asked after it (a pause, a stop, a step, a candidate by hand) is answered afterwards. Refused
  // or dropped before, the old machine and its costs stay.
  void set_machine(const sched::Machine& m);
  // A candidate made by hand; `done` has its id, or -1 and why.
  void add_by_hand(int parent, const std::vector<poly::TransformStep>& steps,
                   std::function<void(int node, const QString& why)> done);

 Q_SIGNALS:
  void phase_changed();
  // A run ended by itself: a budget, or nothing left.
  void ended(sched::StopReason reason, const QString& note);
  void root_changed(int node);
  void refused(const QString& why);

 private:
  class Worker;
  struct Batch;
  struct Costing;
  bool knows_all() const;  // every node of the document
  void ensure();           // an exploration that knows every node of the document
  // Made on the interface thread, called on the other: runs what it is given on the interface
  // thread, unless the exploration that it was made for was dropped meanwhile.
  using Teller = std::function<void(std::function<void()>)>;
  Teller teller();
  void drain(bool everything);
  // With all that the exploration has made in the document: not while costs are held back.
  void when_drained(std::function<void()> f);
  void answer_waiting();
  void post_machine(const sched::Machine& m);
  void arranged(const sched::Machine& m, Costing& all);
  void drop_but_machine();  // one that is still to come is asked of the next exploration
  void take(Batch batch);
  void set_phase(Phase p);
  int to_document(int id) const;
  int to_exploration(int id) const;  // -1: it does not know it

  Document& document_;
  std::unique_ptr<Worker> worker_;
  std::vector<std::unique_ptr<Worker>> ending_;  // told to end, not yet there
  QTimer timer_;
  Phase phase_ = Phase::Off;
  std::vector<int> ids_;  // of the document, by the exploration's
  int root_ = 0;
  int life_ = 0;                          // of explorations: counts up
  std::vector<sched::Machine> machines_;  // asked for, not yet there
  std::deque<std::function<void()>> when_drained_;
  std::optional<Allowance> running_;  // of the run that goes on
  bool stopping_ = false;
  std::map<int, std::function<void(int, const QString&)>> by_hand_;  // who waits for an answer
  int next_by_hand_ = 0;
};

}  // namespace nautilus::gui
