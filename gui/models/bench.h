// Where schedules are made for the views: one thread with an isl context of its own, because isl
// objects stay within their thread. A view asks for plain data (texts, trees of structs, points);
// nothing of isl leaves. An answer that came too late (a newer question by the same asker, or
// another document) is dropped.
#pragma once

#include <QObject>
#include <QPointer>
#include <any>
#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <stdexcept>

#include "autosched/search.h"
#include "polyhedral/dependence.h"
#include "polyhedral/expected.h"

namespace nautilus::gui {

// What a job sees, on the bench's thread.
struct Workpiece {
  poly::ProgramPtr program;  // sizes bound, instances demanded
  sched::SearchOptions options;
  std::string spec_path, spec_text, kernel;
  // Sizes as they are declared: read from the spec when first asked for; null if there is none.
  poly::ProgramPtr general() const;
  // Of `program`, computed when first asked for. Throws Refused if that takes too long.
  const poly::DependenceSet& dependences() const;
  // Schedules that jobs made, by the node they belong to: the most recent few are kept.
  Expected<sched::Plan> plan(const std::vector<sched::SearchNode>& path) const;

  mutable std::shared_ptr<const poly::DependenceSet> known_dependences;
  mutable std::optional<poly::ProgramPtr> known_general;
  struct KnownPlan {
    std::string script;
    sched::Plan plan;
  };
  mutable std::list<KnownPlan> known_plans;  // last used first
};

// What the schedule of a node depends on, of the node itself and of its path: while that stays, so
// does the schedule.
std::string made_of(const sched::SearchNode& n);
std::string made_of(const std::vector<sched::SearchNode>& path);

// Ends a job that cannot go on: the answer is Bench::failed.
struct Refused : std::runtime_error {
  explicit Refused(const Refusal& r) : std::runtime_error(r.text()) {}
};

class CancelToken {
 public:
  CancelToken() : flag_(std::make_shared<std::atomic<bool>>(false)) {}
  bool cancelled() const { return flag_->load(std::memory_order_relaxed); }
  void cancel() const { flag_->store(true, std::memory_order_relaxed); }
  std::atomic<bool>* flag() const { return flag_.get(); }  // for poly::DeadlineGuard

 private:
  std::shared_ptr<std::atomic<bool>> flag_;
};

class Bench : public QObject {
  Q_OBJECT
 public:
  explicit Bench(QObject* parent = nullptr);
  ~Bench() override;  // cancels, and waits for the thread

  // Another document: what is under way is cancelled. A program that cannot be read is told by
  // `failed`, and so is every job about it.
  void set_work(const sched::Session& s);
  // Another machine for the same program: what is asked from now on is about it.
  void set_options(const sched::SearchOptions& o);
  // The steps from the root to a node, copied, to hand to a job.
  static std::vector<sched::SearchNode> path_nodes(const sched::SearchResult& r, int node);

  // Runs `job` on the bench's thread and `done` with its result on this one, unless `asker` is gone
  // or has asked again on the same `channel` meanwhile. `T` must hold no isl object. A job that
  // throws (isl::exception, Refused) ends in `failed` instead.
  template <class T>
  CancelToken ask(QObject* asker, const QString& channel,
                  std::function<T(const Workpiece&, const CancelToken&)> job,
                  std::function<void(T)> done) {
    return post(
        asker, channel,
        [job = std::move(job)](const Workpiece& w, const CancelToken& c) {
          return std::make_any<std::shared_ptr<T>>(std::make_shared<T>(job(w, c)));
        },
        [done = std::move(done)](std::any a) {
          done(std::move(*std::any_cast<std::shared_ptr<T>>(a)));
        });
  }
  bool busy() const;

 Q_SIGNALS:
  void busy_changed(bool busy, const QString& what);  // `what`: the channel asked on
  void failed(QObject* asker, const QString& channel, const QString& why);

 private:
  using Job = std::function<std::any(const Workpiece&, const CancelToken&)>;
  CancelToken post(QObject* asker, const QString& channel, Job job,
                   std::function<void(std::any)> done);
  void start_next();
  void finished(int id, std::any result, const QString& why);

  struct Pending {
    QPointer<QObject> asker;
    QString channel;
    Job job;
    std::function<void(std::any)> done;
    CancelToken token;
  };
  class Thread;
  std::unique_ptr<Thread> thread_;
  std::map<int, Pending> waiting_;  // in the order of asking
  std::map<int, Pending> running_;  // at most one
  int next_ = 0;
};

}  // namespace nautilus::gui
