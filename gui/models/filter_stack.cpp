#include "gui/models/filter_stack.h"

#include <algorithm>
#include <utility>

namespace nautilus::gui {
namespace {

constexpr size_t kStep = 64;          // candidates
constexpr int kAtOnce = 32;           // steps: two thousand candidates answer at once
constexpr size_t kMostAgain = 2'000;  // candidates that are asked again in one go

}  // namespace

class FilterStack::Edit : public QUndoCommand {
 public:
  Edit(FilterStack& stack, std::vector<Filter> to, const QString& what)
      : QUndoCommand(what), stack_(stack), from_(stack.filters_), to_(std::move(to)) {}
  void undo() override { set(from_); }
  void redo() override { set(to_); }

 private:
  void set(const std::vector<Filter>& filters) {
    stack_.filters_ = filters;
    stack_.edited();
    stack_.ask_all();
  }
  FilterStack& stack_;
  const std::vector<Filter> from_, to_;
};

FilterStack::FilterStack(const Document& document, QObject* parent)
    : QObject(parent), document_(document) {
  connect(&document, &Document::reset, this, &FilterStack::document_reset);
  connect(&document, &Document::appended, this, &FilterStack::appended);
  connect(&document, &Document::changed, this,
          [this](const QList<int>& ids) { ask_again(std::vector<int>(ids.begin(), ids.end())); });
  connect(&document, &Document::options_changed, this, [this] {
    if (!filters_.empty()) ask_all();
  });
  connect(&document, &Document::answer_changed, this,
          [this] { ask_again(best_, document_.best()); });
  connect(&document, &Document::pins_changed, this, [this] { ask_again(pins_, document_.pins()); });
  for (const auto one : {&Document::notes_changed, &Document::measured_changed})
    connect(&document, one, this, [this](int id) { ask_again({id}); });
  document_reset();
}

bool FilterStack::passes(int node) const {
  return node >= 0 && node < static_cast<int>(passes_.size()) && passes_[node];
}

int FilterStack::passing() const { return passing_; }

void FilterStack::add(const Filter& f) {
  if (std::find(filters_.begin(), filters_.end(), f) != filters_.end()) return;
  std::vector<Filter> to = filters_;
  to.push_back(f);
  edit(std::move(to), tr("add filter %1").arg(to_string(f)));
}

void FilterStack::remove(size_t index) {
  if (index >= filters_.size()) return;
  std::vector<Filter> to = filters_;
  to.erase(to.begin() + static_cast<long>(index));
  edit(std::move(to), tr("remove filter %1").arg(to_string(filters_[index])));
}

void FilterStack::replace(size_t index, const Filter& f) {
  if (index >= filters_.size() || filters_[index] == f) return;
  std::vector<Filter> to = filters_;
  to[index] = f;
  edit(std::move(to), tr("change filter %1").arg(to_string(f)));
}

void FilterStack::clear() {
  if (!filters_.empty()) edit({}, tr("clear filters"));
}

void FilterStack::edit(std::vector<Filter> to, const QString& what) {
  undo_.push(new Edit(*this, std::move(to), what));
}

bool FilterStack::meets_all(int node) const {
  const sched::SearchNode& n = document_.nodes()[node];
  return std::all_of(filters_.begin(), filters_.end(),
                     [&](const Filter& f) { return meets(f, document_, n); });
}

void FilterStack::document_reset() {
  passes_.assign(document_.nodes().size(), true);
  passing_ = static_cast<int>(passes_.size());
  best_ = document_.best();
  pins_ = document_.pins();
  if (!filters_.empty()) ask_all();
}

// What was being asked before is dropped.
void FilterStack::ask_all() {
  once_more_ = false;
  answers_.clear();
  answers_.reserve(document_.nodes().size());
  asking_.start([this] { return ask_next(); }, [this] { answered(); }, kAtOnce);
}

bool FilterStack::ask_next() {
  const size_t count = document_.nodes().size();
  if (filters_.empty()) answers_.assign(count, true);
  const size_t end = std::min(count, answers_.size() + kStep);
  while (answers_.size() < end) answers_.push_back(meets_all(static_cast<int>(answers_.size())));
  return answers_.size() < count;
}

void FilterStack::answered() {
  passes_ = std::exchange(answers_, {});
  passing_ = static_cast<int>(std::count(passes_.begin(), passes_.end(), true));
  if (once_more_) ask_all();
  changed();
}

void FilterStack::appended() {
  while (passes_.size() < document_.nodes().size()) {
    passes_.push_back(meets_all(static_cast<int>(passes_.size())));
    passing_ += passes_.back();
  }
}

void FilterStack::ask_again(std::vector<int>& then, const std::vector<int>& now) {
  std::vector<int> ids = std::exchange(then, now);
  ids.insert(ids.end(), now.begin(), now.end());
  ask_again(ids);
}

void FilterStack::ask_again(const std::vector<int>& ids) {
  if (filters_.empty()) return;
  if (ids.size() > kMostAgain) {
    // Not from the beginning while all are asked: where changes keep coming it would never end.
    if (asking_.busy())
      once_more_ = true;
    else
      ask_all();
    return;
  }
  bool different = false;
  for (int id : ids) {
    if (id < 0 || static_cast<size_t>(id) >= passes_.size()) continue;
    const auto k = static_cast<size_t>(id);
    const bool now = meets_all(id);
    if (asking_.busy()) {
      if (k < answers_.size()) answers_[k] = now;
      continue;
    }
    different |= now != passes_[k];
    passing_ += int{now} - int{passes_[k]};
    passes_[k] = now;
  }
  if (different) changed();
}

}  // namespace nautilus::gui
