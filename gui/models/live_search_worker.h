// The thread of a live search. Commands run in order between two parts of a run; any of them cuts a
// run short, which goes on afterwards as if nothing had been.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "gui/models/live_search.h"

namespace nautilus::gui {

// What changed since the last look, by the exploration's ids.
struct LiveSearch::Batch {
  std::vector<sched::SearchNode> added;
  std::map<int, sched::SearchNode> changed;
  std::optional<std::vector<int>> best;
  std::optional<std::vector<int>> pareto;
  sched::SearchResult figures;  // without nodes and lists
  bool progress = false;        // there are figures
};

// Every candidate costed for another machine, by the exploration's ids, until `arranged` as the
// document has them.
struct LiveSearch::Costing {
  std::vector<sched::SearchNode> nodes;
  std::vector<int> best, pareto;
  sched::SearchResult figures;  // without nodes and lists
  // `ids`: of the document, by the exploration's, all `count` of them. What the exploration made
  // since the document's last batch is left out.
  void arrange(const std::vector<int>& ids, size_t count);
};

class LiveSearch::Worker {
 public:
  // Called on the thread.
  struct Reports {
    std::function<void(sched::StopReason, std::string note)> ended;  // a run, by itself
    std::function<void(const Refusal&)> refused;  // something asked; or the search cannot begin
  };
  // `first_new`: the id of the first node that the exploration makes.
  Worker(std::string naut, sched::SearchOptions options, int first_new, Reports reports);
  ~Worker();  // ends what runs, and waits for the thread

  // What to go on from; without nodes the search begins. The thread waits for it.
  void go_on_from(sched::SearchResult so_far);
  // The command finds `exploration` null if the search could not begin.
  using Command = std::function<void(Worker&)>;
  void post(Command command) { enter({std::move(command)}); }
  // One that also cuts short what commands before it decide: a step. Not one that is whole.
  void post_urgently(Command command) { enter({.command = std::move(command), .urgent = true}); }
  // One that only `end` cuts short. What it changes arrives at once when it is over.
  void post_whole(Command command) { enter({.command = std::move(command), .whole = true}); }
  void end();  // as soon as it can
  bool ended() const { return ended_; }
  Batch take(size_t most);
  bool has_more();
  // Between a command that costs everything again and the document's taking it: there is nothing to
  // take meanwhile. `release` once for each such command that was not refused.
  bool held_back();
  void release();

  // For commands, on the thread.
  std::unique_ptr<sched::Exploration> exploration;
  void go(const Allowance& a);
  void rest() { going_ = false; }
  // Null: refused, which is told; the batch is as it was. Else held back.
  std::shared_ptr<Costing> use_machine(const sched::Machine& m);
  void answer_changed();
  bool ready();  // false: the search could not begin, which is told again
  const Reports& reports() const { return reports_; }

 private:
  struct Waiting {
    Command command;
    bool urgent = false, whole = false;
  };
  void enter(Waiting waiting);
  void run();
  void begin();
  bool next(Command& command);
  void part_of_run();
  void on_event(const sched::SearchEvent& e);
  void take_figures(sched::SearchResult& f) const;  // of the exploration
  std::string naut_;
  sched::SearchOptions options_;
  std::optional<sched::SearchResult> so_far_;
  const Reports reports_;
  std::optional<Refusal> cannot_begin_;
  std::vector<std::unique_ptr<sched::OpsProvider>> ops_;
  sched::Budget budget_;
  bool going_ = false;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Waiting> commands_;
  bool over_ = false, in_run_ = false;
  bool in_whole_ = false;  // what runs is not to be cut short
  std::atomic<bool> stop_{false}, ended_{false};

  std::mutex batch_mutex_;
  Batch batch_;
  int held_back_ = 0;       // by how many machines
  bool recosting_ = false;  // all candidates will be copied
  int first_added_ = 0;     // exploration's id of batch_.added[0]

  std::thread thread_;
};

}  // namespace nautilus::gui
