// Where schedules are made for the views: one thread with an isl context of its own, because isl
// objects stay within their thread. A view asks for plain data (texts, trees of structs, points);
// nothing of isl leaves. An answer that came too late (a newer question by the same asker, or
// another document) is dropped.
#pragma once

#include <QObject>
#include <any>
#include <atomic>
#include <functional>
#include <memory>

#include "autosched/search.h"
#include "polyhedral/dependence.h"
#include "polyhedral/expected.h"

namespace nautilus::gui {

// What a job sees, on the bench's thread.
struct Workpiece {
  poly::ProgramPtr program;  // sizes bound, instances demanded
  poly::ProgramPtr general;  // sizes as they are declared; null if the session has none
  sched::SearchOptions options;
  const poly::DependenceSet& dependences() const;  // of `program`, computed when first asked for
  // Schedules that jobs made, by the node they belong to: the most recent few are kept.
  Expected<sched::Plan> plan(const std::vector<sched::SearchNode>& path) const;

  mutable std::shared_ptr<poly::DependenceSet> known_dependences;
  mutable std::map<int, std::shared_ptr<const sched::Plan>> known_plans;
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

  // Another document: what is under way is cancelled.
  void set_work(const sched::Session& s);
  // The steps from the root to a node, copied, to hand to a job.
  static std::vector<sched::SearchNode> path_nodes(const sched::SearchResult& r, int node);

  // Runs `job` on the bench's thread and `done` with its result on this one, unless `asker` is gone
  // or has asked again on the same `channel` meanwhile. `T` must hold no isl object.
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

 signals:
  void busy_changed(bool busy, const QString& what);

 private:
  using Job = std::function<std::any(const Workpiece&, const CancelToken&)>;
  CancelToken post(QObject* asker, const QString& channel, Job job,
                   std::function<void(std::any)> done);
  struct Thread;
  std::unique_ptr<Thread> thread_;
};

}  // namespace nautilus::gui
