#include "gui/models/filter_stack.h"

#include <algorithm>

namespace nautilus::gui {

class FilterStack::Edit : public QUndoCommand {
 public:
  Edit(FilterStack& stack, std::vector<Filter> to, const QString& what)
      : QUndoCommand(what), stack_(stack), from_(stack.filters_), to_(std::move(to)) {}
  void undo() override { set(from_); }
  void redo() override { set(to_); }

 private:
  void set(const std::vector<Filter>& filters) {
    stack_.filters_ = filters;
    stack_.recompute(0);
    stack_.changed();
  }
  FilterStack& stack_;
  const std::vector<Filter> from_, to_;
};

FilterStack::FilterStack(const Document& document, QObject* parent)
    : QObject(parent), document_(document) {
  const auto all = [this] {
    recompute(0);
    if (!filters_.empty()) changed();
  };
  connect(&document, &Document::reset, this, all);
  // Only where a condition asks for what changed: answers come ten times a second.
  const auto when = [this, all](bool (*asks)(const Filter&)) {
    return [this, all, asks] {
      if (std::any_of(filters_.begin(), filters_.end(), asks)) all();
    };
  };
  connect(&document, &Document::answer_changed, this,
          when([](const Filter& f) { return f.value == "best"; }));
  connect(&document, &Document::notes_changed, this, when([](const Filter& f) {
    return f.value == "noted" || f.field == Filter::Field::Text;
  }));
  connect(&document, &Document::pins_changed, this,
          when([](const Filter& f) { return f.value == "pinned"; }));
  connect(&document, &Document::measured_changed, this, when([](const Filter& f) {
    return f.value == "measured" || f.field == Filter::Field::Seconds;
  }));
  connect(&document, &Document::appended, this, [this](int first, int) { recompute(first); });
  connect(&document, &Document::changed, this, [this](const QList<int>& ids) {
    bool different = false;
    for (int id : ids) {
      const bool now = meets_all(id);
      different |= now != passes_[id];
      passing_ += int{now} - int{passes_[id]};
      passes_[id] = now;
    }
    if (different) changed();
  });
  recompute(0);
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

void FilterStack::recompute(size_t first) {
  const size_t count = document_.nodes().size();
  if (first == 0) passing_ = 0;
  passes_.resize(count);
  for (size_t id = first; id < count; ++id) {
    passes_[id] = meets_all(static_cast<int>(id));
    passing_ += passes_[id];
  }
}

}  // namespace nautilus::gui
