#include "gui/models/bench.h"

#include <condition_variable>
#include <deque>
#include <thread>

#include "gui/models/why_data.h"
#include "polyhedral/deadline.h"

#ifdef NAUTILUS_HAVE_CLANG
#include "compiler/spec/reader.h"
#endif

namespace nautilus::gui {
namespace {

constexpr size_t kMostPlans = 16;

}  // namespace

std::string made_of(const sched::SearchNode& n) {
  std::string out = was_refused(n) ? "refused" : "";
  for (const poly::TransformStep& s : n.steps) out += "\n" + s.name + s.params;
  for (const auto& [name, value] : n.knobs) out += "\n" + name + "=" + std::to_string(value);
  return out;
}

std::string made_of(const std::vector<sched::SearchNode>& path) {
  std::string out;
  for (const sched::SearchNode& n : path) out += made_of(n) + "\n";
  return out;
}

const poly::DependenceSet& Workpiece::dependences() const {
  if (!known_dependences) {
    auto found = poly::dependences(*program);
    if (!found) throw Refused(found.error());
    known_dependences = std::make_shared<const poly::DependenceSet>(*std::move(found));
  }
  return *known_dependences;
}

poly::ProgramPtr Workpiece::general() const {
  if (known_general) return *known_general;
  known_general.emplace(nullptr);
  if (spec_text.empty()) return nullptr;
  if (spec_path.ends_with(".naut")) {
    if (auto p = poly::parse_naut(program->context, spec_text, spec_path))
      known_general = std::make_shared<const poly::Program>(*std::move(p));
    return *known_general;
  }
#ifdef NAUTILUS_HAVE_CLANG
  const spec::SpecResult read = spec::read_spec_text(program->context, spec_text, spec_path);
  for (const poly::Program& p : read.kernels)
    if (p.name == kernel) known_general = std::make_shared<const poly::Program>(p);
#endif
  return *known_general;
}

Expected<sched::Plan> Workpiece::plan(const std::vector<sched::SearchNode>& path) const {
  const std::string key = made_of(path);
  for (auto at = known_plans.begin(); at != known_plans.end(); ++at)
    if (at->script == key) {
      known_plans.splice(known_plans.begin(), known_plans, at);
      return at->plan;
    }
  sched::SearchResult along;
  along.nodes = path;
  for (size_t k = 0; k < path.size(); ++k) {
    along.nodes[k].id = static_cast<int>(k);
    along.nodes[k].parent = static_cast<int>(k) - 1;
  }
  auto made = sched::plan_of(program, along, static_cast<int>(path.size()) - 1);
  if (!made) return made;
  made->numerics = options.numerics;
  known_plans.push_front({key, *made});
  if (known_plans.size() > kMostPlans) known_plans.pop_back();
  return made;
}

// Runs one task after the other; everything of isl is made and dropped here.
class Bench::Thread {
 public:
  using Task = std::function<void(Workpiece&)>;
  Thread() : thread_([this] { run(); }) {}
  ~Thread() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  void add(Task t) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(t));
    }
    wake_.notify_all();
  }

 private:
  void run() {
    Workpiece work;
    for (;;) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return over_ || !tasks_.empty(); });
      if (over_) return;
      Task t = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      t(work);
    }
  }
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  bool over_ = false;
  std::thread thread_;
};

Bench::Bench(QObject* parent) : QObject(parent), thread_(std::make_unique<Thread>()) {}

Bench::~Bench() {
  for (auto& [id, p] : running_) p.token.cancel();
  thread_.reset();
}

void Bench::set_work(const sched::Session& s) {
  for (auto& [id, p] : running_) p.token.cancel();
  waiting_.clear();
  auto given = std::make_shared<sched::Session>();
  given->program_naut = s.program_naut;
  given->spec_path = s.spec_path, given->spec_text = s.spec_text, given->kernel = s.kernel;
  given->options = s.options;
  thread_->add([this, given](Workpiece& w) {
    w = Workpiece();
    w.options = given->options;
    w.spec_path = given->spec_path, w.spec_text = given->spec_text, w.kernel = given->kernel;
    if (given->program_naut.empty()) return;
    auto p = poly::parse_naut(poly::make_context(), given->program_naut, "program");
    if (p) {
      w.program = std::make_shared<const poly::Program>(*std::move(p));
    } else {
      const QString why = QString::fromStdString(p.error().text());
      QMetaObject::invokeMethod(this, [this, why] { failed(nullptr, "program", why); });
    }
  });
}

void Bench::set_options(const sched::SearchOptions& o) {
  thread_->add([o](Workpiece& w) { w.options = o; });
}

std::vector<sched::SearchNode> Bench::path_nodes(const sched::SearchResult& r, int node) {
  std::vector<sched::SearchNode> out;
  const int count = static_cast<int>(r.nodes.size());
  for (int id = node; id >= 0 && id < count; id = r.nodes[id].parent) out.push_back(r.nodes[id]);
  std::reverse(out.begin(), out.end());
  return out;
}

bool Bench::busy() const { return !waiting_.empty() || !running_.empty(); }

CancelToken Bench::post(QObject* asker, const QString& channel, Job job,
                        std::function<void(std::any)> done) {
  const auto same = [&](const Pending& p) { return p.asker == asker && p.channel == channel; };
  std::erase_if(waiting_, [&](const auto& p) { return same(p.second); });
  for (auto& [id, p] : running_)
    if (same(p)) p.token.cancel();
  Pending p{asker, channel, std::move(job), std::move(done), {}};
  const CancelToken token = p.token;
  waiting_.emplace(next_++, std::move(p));
  if (running_.empty()) start_next();
  return token;
}

void Bench::start_next() {
  while (!waiting_.empty()) {
    auto first = waiting_.extract(waiting_.begin());
    if (!first.mapped().asker || first.mapped().token.cancelled()) continue;
    const int id = first.key();
    const Job job = std::move(first.mapped().job);
    const CancelToken token = first.mapped().token;
    busy_changed(true, first.mapped().channel);
    running_.insert(std::move(first));
    thread_->add([this, id, job, token](Workpiece& w) {
      std::any result;
      QString why;
      if (!w.program) {
        why = tr("there is no program");
      } else if (!token.cancelled()) {
        try {
          poly::DeadlineGuard guard(w.program->context->get(),
                                    poly::DeadlineGuard::Clock::time_point::max(), token.flag());
          result = job(w, token);
        } catch (const std::exception& e) {
          why = e.what();
        }
      }
      QMetaObject::invokeMethod(this, [this, id, result, why] { finished(id, result, why); });
    });
    return;
  }
  busy_changed(false, {});
}

void Bench::finished(int id, std::any result, const QString& why) {
  auto mine = running_.extract(id);
  start_next();
  if (mine.empty() || mine.mapped().token.cancelled() || !mine.mapped().asker) return;
  const Pending& p = mine.mapped();
  if (!why.isEmpty())
    failed(p.asker, p.channel, why);
  else
    p.done(std::move(result));
}

}  // namespace nautilus::gui
