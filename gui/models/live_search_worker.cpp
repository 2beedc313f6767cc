#include "gui/models/live_search_worker.h"

#include <algorithm>
#include <limits>

#include "compiler/driver/searching.h"
#include "compiler/profile/profile.h"
#include "gui/models/background.h"

namespace nautilus::gui {

void LiveSearch::Costing::arrange(const std::vector<int>& ids, size_t count) {
  const auto in_document = [&](int id) {
    return id >= 0 && id < static_cast<int>(ids.size()) ? ids[id] : -1;
  };
  std::vector<sched::SearchNode> out;
  out.reserve(count + count / 2);  // it goes on growing
  out.resize(count);
  for (size_t k = 0; k < std::min(ids.size(), nodes.size()); ++k) {
    sched::SearchNode& n = out.at(ids[k]) = std::move(nodes[k]);
    n.id = ids[k];
    n.parent = in_document(n.parent);
    n.duplicate_of = in_document(n.duplicate_of);
  }
  nodes = std::move(out);
  for (std::vector<int>* list : {&best, &pareto}) {
    for (int& id : *list) id = in_document(id);
    std::erase(*list, -1);
  }
}

LiveSearch::Worker::Worker(std::string naut, sched::SearchOptions options, int first_new,
                           Reports reports)
    : naut_(std::move(naut)),
      options_(std::move(options)),
      reports_(std::move(reports)),
      first_added_(first_new) {
  options_.stop = &stop_;
  thread_ = std::thread([this] { run(); });
}

LiveSearch::Worker::~Worker() {
  end();
  thread_.join();
}

void LiveSearch::Worker::end() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    stop_ = true;
  }
  wake_.notify_all();
}

void LiveSearch::Worker::enter(Waiting waiting) {
  {
    const std::lock_guard lock(mutex_);
    if (in_run_ || (waiting.urgent && !in_whole_)) stop_ = true;
    commands_.push_back(std::move(waiting));
  }
  wake_.notify_all();
}

void LiveSearch::Worker::go_on_from(sched::SearchResult so_far) {
  {
    const std::lock_guard lock(batch_mutex_);
    first_added_ = static_cast<int>(so_far.nodes.size());
  }
  {
    const std::lock_guard lock(mutex_);
    so_far_ = std::move(so_far);
  }
  wake_.notify_all();
}

void LiveSearch::Worker::begin() {
  sched::SearchResult so_far;
  {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return over_ || so_far_; });
    if (over_) return;
    so_far = *std::exchange(so_far_, std::nullopt);
  }
  auto p = poly::parse_naut(poly::make_context(), naut_, "program");
  if (!p) return void(cannot_begin_ = p.error());
  auto program = std::make_shared<const poly::Program>(*std::move(p));
  const auto numerics = tile::numerics_from_name(options_.numerics);
  if (!numerics)
    return void(cannot_begin_ =
                    Refusal{"search", "", "there are no numerics '" + options_.numerics + "'", ""});
  ops_.push_back(profile::tile_ops_provider(*numerics, driver::op_costs(options_.machine)));
  const auto sink = [this](const sched::SearchEvent& e) { on_event(e); };
  auto made =
      so_far.nodes.empty()
          ? sched::Exploration::start(program, options_, *ops_.back(), sink)
          : sched::Exploration::resume(program, options_, std::move(so_far), *ops_.back(), sink);
  if (!made) return void(cannot_begin_ = made.error());
  exploration = *std::move(made);
}

bool LiveSearch::Worker::ready() {
  if (!exploration && cannot_begin_) reports_.refused(*cannot_begin_);
  return exploration != nullptr;
}

// Costs of two machines are never seen beside each other: all arrive, or none does.
std::shared_ptr<LiveSearch::Costing> LiveSearch::Worker::use_machine(const sched::Machine& m) {
  if (!ready()) return nullptr;
  Batch before;
  {
    const std::lock_guard lock(batch_mutex_);
    ++held_back_;
    recosting_ = true;
    before = batch_;
  }
  // Wherever it is given up, large as it is.
  std::shared_ptr<Costing> all(new Costing,
                               [](Costing* c) { background_pool().start([c] { delete c; }); });
  std::optional<Refusal> bad;
  try {
    const auto numerics = tile::numerics_from_name(options_.numerics);
    ops_.push_back(profile::tile_ops_provider(*numerics, driver::op_costs(m)));
    bad = exploration->set_machine(m, *ops_.back());
    if (!bad) {
      answer_changed();
      const sched::SearchResult& r = exploration->result();
      all->nodes = r.nodes;
      all->best = r.best;
      all->pareto = r.pareto;
      take_figures(all->figures);
    }
  } catch (const std::exception& e) {
    bad = Refusal{"change the machine", m.id, e.what(), "go on with the machine before"};
  }
  {
    const std::lock_guard lock(batch_mutex_);
    recosting_ = false;
    if (bad) {
      --held_back_;
      batch_ = std::move(before);
    } else {
      batch_.changed.clear();                           // they are among all
      for (size_t k = 0; k < batch_.added.size(); ++k)  // with what no event told
        batch_.added[k] = all->nodes.at(static_cast<size_t>(first_added_) + k);
    }
  }
  if (!bad) return all;
  reports_.refused(*bad);
  return nullptr;
}

bool LiveSearch::Worker::held_back() {
  const std::lock_guard lock(batch_mutex_);
  return held_back_ > 0;
}

void LiveSearch::Worker::release() {
  const std::lock_guard lock(batch_mutex_);
  --held_back_;
}

void LiveSearch::Worker::go(const Allowance& a) {
  if (!ready()) return;
  const sched::SearchResult& r = exploration->result();
  const auto more = []<class T>(T have, T add) -> T {  // what a file says may be anything
    const double sum = static_cast<double>(have) + static_cast<double>(add);
    const double most = static_cast<double>(std::numeric_limits<T>::max());
    return add > 0 ? static_cast<T>(std::min(sum, most)) : T{};
  };
  budget_ = {};
  budget_.seconds = more(r.seconds, a.seconds);
  budget_.nodes = more(static_cast<int>(r.nodes.size()), a.nodes);
  budget_.plans = more(r.plans_costed, a.plans);
  going_ = true;
}

// False: the thread ends. No command: the run goes on.
bool LiveSearch::Worker::next(Command& command) {
  std::unique_lock lock(mutex_);
  in_run_ = in_whole_ = false;
  wake_.wait(lock, [&] { return over_ || going_ || !commands_.empty(); });
  if (over_) return false;
  if (commands_.empty()) {
    stop_ = false;
    return in_run_ = true;
  }
  command = std::move(commands_.front().command);
  in_whole_ = commands_.front().whole;
  commands_.pop_front();
  stop_ = !in_whole_ && std::any_of(commands_.begin(), commands_.end(),
                                    [](const Waiting& w) { return w.urgent; });
  return true;
}

// Until its budget is spent, or a command waits.
void LiveSearch::Worker::part_of_run() {
  const sched::StopReason reason = exploration->run(budget_);
  answer_changed();
  {
    const std::lock_guard lock(mutex_);
    if (!commands_.empty() || over_) return;
  }
  going_ = false;
  reports_.ended(reason, exploration->result().note);
}

void LiveSearch::Worker::run() {
  try {
    begin();
  } catch (const std::exception& e) {
    cannot_begin_ = Refusal{"search", "", e.what(), "smaller sizes"};
  }
  for (Command command; next(command); command = nullptr) {
    try {
      if (command)
        command(*this);
      else
        part_of_run();
    } catch (const std::exception& e) {  // out of operations, or a number too large for its type
      going_ = false;
      reports_.refused({"search", "", e.what(), "go on from here, or with smaller sizes"});
    }
  }
  exploration.reset();
  ops_.clear();
  ended_ = true;
}

void LiveSearch::Worker::answer_changed() {
  const sched::SearchResult& r = exploration->result();
  const std::lock_guard lock(batch_mutex_);
  batch_.best = r.best;
  batch_.pareto = r.pareto;
  take_figures(batch_.figures);
  batch_.progress = true;
}

void LiveSearch::Worker::take_figures(sched::SearchResult& f) const {
  const sched::SearchResult& r = exploration->result();
  f.plans_costed = r.plans_costed;
  f.structures_verified = r.structures_verified;
  f.duplicates = r.duplicates;
  f.seconds = r.seconds;
  f.first_plan_seconds = r.first_plan_seconds;
  f.stop_reason = r.stop_reason;
  f.note = r.note;
}

void LiveSearch::Worker::on_event(const sched::SearchEvent& e) {
  const std::lock_guard lock(batch_mutex_);
  if (exploration) take_figures(batch_.figures);
  sched::SearchResult& f = batch_.figures;
  f.plans_costed = e.plans_costed;
  f.structures_verified = e.structures_verified;
  f.seconds = e.elapsed;
  // Whoever goes on from here has to look whether the structure in hand has all its plans.
  f.stop_reason = sched::StopReason::Interrupted;
  batch_.progress = true;
  if (!e.node) return;
  const int id = e.node->id;
  const int at = id - first_added_;
  const int waiting = static_cast<int>(batch_.added.size());
  if (at == waiting)
    batch_.added.push_back(*e.node);
  else if (at >= 0 && at < waiting)
    batch_.added[at] = *e.node;
  else if (at < 0 && !recosting_)
    batch_.changed[id] = *e.node;
  if (e.kind == sched::SearchEvent::Kind::Best) batch_.best = std::vector{id};
}

LiveSearch::Batch LiveSearch::Worker::take(size_t most) {
  const std::lock_guard lock(batch_mutex_);
  Batch out;
  if (held_back_ > 0) return out;
  std::swap(out, batch_);
  first_added_ += static_cast<int>(std::min(out.added.size(), most));
  if (out.added.size() > most) {
    batch_.added.assign(std::make_move_iterator(out.added.begin() + static_cast<long>(most)),
                        std::make_move_iterator(out.added.end()));
    batch_.best = std::exchange(out.best, {});
    batch_.pareto = std::exchange(out.pareto, {});
    out.added.resize(most);
  }
  while (out.changed.size() > most) batch_.changed.insert(out.changed.extract(--out.changed.end()));
  return out;
}

bool LiveSearch::Worker::has_more() {
  const std::lock_guard lock(batch_mutex_);
  if (held_back_ > 0) return false;
  return !batch_.added.empty() || !batch_.changed.empty() || batch_.best || batch_.progress;
}

}  // namespace nautilus::gui
