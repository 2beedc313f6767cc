#include "gui/models/live_search.h"

#include "gui/models/background.h"
#include "gui/models/live_search_worker.h"
#include "gui/models/snapshot.h"

namespace nautilus::gui {
namespace {

constexpr int kEvery = 100;          // ms between batches
constexpr size_t kMostNodes = 2000;  // of a batch: what views take in well under a frame's patience

QString text(const std::string& s) { return QString::fromStdString(s); }

}  // namespace

LiveSearch::LiveSearch(Document& document, QObject* parent) : QObject(parent), document_(document) {
  timer_.setInterval(kEvery);
  connect(&timer_, &QTimer::timeout, this, [this] {
    std::erase_if(ending_, [](const auto& w) { return w->ended(); });
    if (worker_) drain(false);
    if (!worker_ && ending_.empty()) timer_.stop();
  });
}

LiveSearch::~LiveSearch() { drop(); }

void LiveSearch::drop() {
  ++life_;
  if (!worker_) return;
  worker_->end();
  ending_.push_back(std::move(worker_));
  ids_.clear();
  machines_.clear();
  stopping_ = false;
  when_drained_.clear();
  for (auto& [k, done] : std::exchange(by_hand_, {})) done(-1, tr("the search was ended"));
  set_phase(Phase::Off);
  if (std::exchange(root_, 0) != 0) root_changed(0);
}

LiveSearch::Teller LiveSearch::teller() {
  return [this, life = life_](std::function<void()> f) {
    QMetaObject::invokeMethod(this, [this, life, f = std::move(f)] {
      if (life == life_) f();
    });
  };
}

// What opening a spec leaves: the program as it was written, which a search begins with.
static bool only_the_program(const Document& d) {
  return d.nodes().size() == 1 && d.nodes().front().steps.empty();
}

bool LiveSearch::knows_all() const {
  return ids_.size() == document_.nodes().size() || (ids_.empty() && only_the_program(document_));
}

void LiveSearch::ensure() {
  if (worker_) drain(true);
  if (worker_ && knows_all()) return;
  const int root = root_;
  const auto machines = machines_;
  drop();
  const sched::Session& s = document_.session();
  const bool begins = only_the_program(document_);
  ids_.resize(begins ? 0 : document_.nodes().size());
  for (size_t k = 0; k < ids_.size(); ++k) ids_[k] = static_cast<int>(k);
  const Teller tell = teller();
  const auto ended_by_itself = [this, tell](sched::StopReason reason, const std::string& note) {
    tell([this, reason, note] {
      when_drained([this, reason, note] {
        set_phase(Phase::Paused);
        ended(reason, text(note));
      });
    });
  };
  const auto was_refused = [this, tell](const Refusal& r) {
    tell([this, why = text(r.text())] {
      if (phase_ == Phase::Running) set_phase(Phase::Paused);
      refused(why);
    });
  };
  worker_ = std::make_unique<Worker>(s.program_naut, s.options, static_cast<int>(ids_.size()),
                                     Worker::Reports{ended_by_itself, was_refused});
  if (begins)
    worker_->go_on_from({});
  else
    new Snapshot(
        document_,
        [this, life = life_](std::shared_ptr<sched::Session> copy) {
          if (!copy || life != life_) return;
          // The document may have grown while it was copied.
          for (size_t k = ids_.size(); k < copy->result.nodes.size(); ++k)
            ids_.push_back(static_cast<int>(k));
          worker_->go_on_from(std::move(copy->result));
        },
        this);
  timer_.start();
  set_phase(Phase::Paused);
  if (root > 0) explore_below(root);
  if (!machines.empty()) post_machine(machines.back());
}

void LiveSearch::explore(const Allowance& allowance) {
  ensure();
  worker_->post([allowance](Worker& w) { w.go(allowance); });
  running_ = allowance;
  set_phase(Phase::Running);
}

void LiveSearch::pause() {
  if (phase_ != Phase::Running) return;
  worker_->post_urgently([this, tell = teller()](Worker& w) {
    w.rest();
    tell([this] { when_drained([this] { set_phase(Phase::Paused); }); });
  });
}

void LiveSearch::step() {
  ensure();
  worker_->post([this, tell = teller()](Worker& w) {
    w.rest();
    if (!w.ready()) return;
    const sched::StopReason reason = w.exploration->step();
    w.answer_changed();
    tell([this, reason, left = !w.exploration->exhausted()] {
      when_drained([this, reason, left] {
        set_phase(Phase::Paused);
        if (!left) ended(reason, {});
      });
    });
  });
  set_phase(Phase::Running);
}

void LiveSearch::stop() {
  if (!worker_) return;
  stopping_ = true;
  worker_->post_urgently([this, tell = teller()](Worker& w) {
    w.rest();
    if (w.exploration) {
      w.exploration->close();
      w.answer_changed();
    }
    tell([this] { when_drained([this] { drop_but_machine(); }); });
  });
}

void LiveSearch::explore_below(int node) {
  ensure();
  const int below = to_exploration(node);
  if (below < 0) return;
  worker_->post([this, tell = teller(), node, below](Worker& w) {
    if (!w.exploration) return;
    if (auto bad = w.exploration->explore_below(below)) return w.reports().refused(*bad);
    tell([this, node] {
      root_ = node;
      root_changed(node);
    });
  });
}

void LiveSearch::set_machine(const sched::Machine& m) {
  if (!alive() && document_.nodes().size() <= 1) {
    sched::SearchOptions o = document_.session().options;
    o.machine = m;
    return document_.set_options(o);
  }
  ensure();
  post_machine(m);
}

// Costs of 100,000 candidates take longer to put in order than an event may: elsewhere, and the
// document takes all of them at once.
void LiveSearch::post_machine(const sched::Machine& m) {
  machines_.push_back(m);
  worker_->post_whole([this, m, tell = teller()](Worker& w) {
    const auto all = w.use_machine(m);
    if (!all)
      return tell([this] {
        when_drained([this] {
          machines_.erase(machines_.begin());
          // What the exploration holds may be of both; the next one begins with the document's.
          drop_but_machine();
        });
      });
    tell([this, m, all] {
      const bool first = ids_.empty();  // what the document begins with is the exploration's, too
      in_background<Expected<bool>>(
          this,
          [all, ids = first ? std::vector{0} : ids_,
           count = document_.nodes().size()]() -> Expected<bool> {
            all->arrange(ids, count);
            return true;
          },
          [this, m, all, life = life_](Expected<bool> done) {
            if (life != life_) return;
            if (done) return arranged(m, *all);
            refused(text(done.error().text()));
            machines_.erase(machines_.begin());
            drop_but_machine();
          });
    });
  });
}

void LiveSearch::arranged(const sched::Machine& m, Costing& all) {
  // Somebody else made a candidate meanwhile, for the old machine: all of them once more.
  if (!knows_all()) {
    const auto running = running_;
    const bool stopping = stopping_;
    ensure();
    if (running) explore(*running);
    if (stopping) stop();
    return;
  }
  sched::SearchOptions o = document_.session().options;
  o.machine = m;
  machines_.erase(machines_.begin());
  const int life = life_;
  document_.set_costs(o, std::move(all.nodes), std::move(all.best), std::move(all.pareto));
  if (life != life_) return;
  document_.set_outcome(all.figures);
  worker_->release();
  answer_waiting();
}

void LiveSearch::drop_but_machine() {
  const auto machines = machines_;
  drop();
  if (!machines.empty()) set_machine(machines.back());
}

void LiveSearch::add_by_hand(int parent, const std::vector<poly::TransformStep>& steps,
                             std::function<void(int, const QString&)> done) {
  ensure();
  const int below = to_exploration(parent);
  if (below < 0) return done(-1, tr("the candidate is gone"));
  const int asked = next_by_hand_++;
  by_hand_[asked] = std::move(done);
  const auto answer = [this, tell = teller(), asked](int id, const QString& why) {
    tell([this, asked, id, why] {
      when_drained([this, asked, id, why] {
        if (const auto waiting = by_hand_.extract(asked)) waiting.mapped()(to_document(id), why);
      });
    });
  };
  worker_->post([steps, answer, below](Worker& w) {
    if (!w.exploration) return answer(-1, tr("the search could not begin"));
    try {
      const Expected<int> made = w.exploration->add_by_hand(below, steps);
      w.answer_changed();
      answer(made ? *made : -1, made ? QString() : text(made.error().text()));
    } catch (const std::exception& e) {  // whoever asked waits for an answer
      answer(-1, text(e.what()));
    }
  });
}

void LiveSearch::when_drained(std::function<void()> f) {
  when_drained_.push_back(std::move(f));
  answer_waiting();
}

void LiveSearch::answer_waiting() {
  while (worker_ && !when_drained_.empty() && !worker_->held_back()) {
    drain(true);
    const auto f = std::move(when_drained_.front());
    when_drained_.pop_front();
    f();
  }
}

void LiveSearch::drain(bool everything) {
  do {
    if (!worker_ || !worker_->has_more()) return;
    take(worker_->take(everything ? SIZE_MAX : kMostNodes));
  } while (everything);
}

void LiveSearch::take(Batch b) {
  if (ids_.empty() && !b.added.empty() && only_the_program(document_)) {
    ids_.push_back(0);
    document_.change({std::move(b.added.front())});
    b.added.erase(b.added.begin());
  }
  const int old = static_cast<int>(ids_.size());
  const int first = static_cast<int>(document_.nodes().size());
  for (size_t k = 0; k < b.added.size(); ++k) ids_.push_back(first + static_cast<int>(k));
  const auto renumber = [&](sched::SearchNode& n) {
    n.id = to_document(n.id);
    n.parent = to_document(n.parent);
    n.duplicate_of = to_document(n.duplicate_of);
  };
  std::vector<sched::SearchNode> changed;
  for (auto& [id, n] : b.changed)
    if (id < old) {
      renumber(n);
      changed.push_back(std::move(n));
    }
  for (sched::SearchNode& n : b.added) renumber(n);
  document_.append(std::move(b.added));
  document_.change(std::move(changed));
  if (b.best || b.pareto) {
    const auto renumbered = [&](std::vector<int> ids) {
      for (int& id : ids) id = to_document(id);
      return ids;
    };
    const sched::SearchResult& r = document_.session().result;
    document_.set_answer(b.best ? renumbered(*b.best) : r.best,
                         b.pareto ? renumbered(*b.pareto) : r.pareto);
  }
  if (b.progress) document_.set_outcome(b.figures);
}

void LiveSearch::set_phase(Phase p) {
  if (p != Phase::Running) running_.reset();
  if (phase_ == p) return;
  phase_ = p;
  phase_changed();
}

int LiveSearch::to_exploration(int id) const {
  if (ids_.empty() && id == 0) return 0;
  const auto at = std::find(ids_.begin(), ids_.end(), id);
  return at == ids_.end() ? -1 : static_cast<int>(at - ids_.begin());
}

int LiveSearch::to_document(int id) const {
  return id >= 0 && id < static_cast<int>(ids_.size()) ? ids_[id] : -1;
}

}  // namespace nautilus::gui
