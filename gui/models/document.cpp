#include "gui/models/document.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "gui/models/background.h"

namespace nautilus::gui {
namespace {

using Nodes = std::vector<sched::SearchNode>;
constexpr size_t kLargeSession = 1000;  // nodes

}  // namespace

Document::Document(QObject* parent) : QObject(parent) {}

const sched::SearchNode* Document::node(int id) const {
  return id >= 0 && id < static_cast<int>(nodes().size()) ? &nodes()[id] : nullptr;
}

std::vector<int> Document::children(int id) const {
  std::vector<int> out;
  if (!node(id)) return out;
  for (int c = families_[id].first_child; c >= 0; c = families_[c].next_sibling) out.push_back(c);
  return out;
}

void Document::enter_in_family(const sched::SearchNode& n) {
  Family mine;
  if (n.parent >= 0) {
    Family& parent = families_.at(n.parent);
    mine.depth = parent.depth + 1;
    (parent.first_child < 0 ? parent.first_child : families_[parent.last_child].next_sibling) =
        n.id;
    parent.last_child = n.id;
  }
  families_.push_back(mine);
}

std::vector<int> Document::path(int id) const {
  std::vector<int> out;
  for (const sched::SearchNode* n = node(id); n; n = node(n->parent)) out.push_back(n->id);
  std::reverse(out.begin(), out.end());
  return out;
}

int Document::depth(int id) const {
  return node(id) ? families_[static_cast<size_t>(id)].depth : 0;
}

bool Document::on_best_path(int id) const {
  return id >= 0 && id < static_cast<int>(on_best_.size()) && on_best_[id];
}

std::optional<Measured> Document::measured(int id) const {
  const auto found = session_.measured.find(id);
  return found == session_.measured.end() ? std::nullopt : std::optional(found->second);
}

QString Document::note(int id) const {
  const auto found = session_.notes.find(id);
  return found == session_.notes.end() ? QString() : QString::fromStdString(found->second);
}

bool Document::pinned(int id) const {
  return std::find(session_.pins.begin(), session_.pins.end(), id) != session_.pins.end();
}

void Document::set_session(sched::Session s, const QString& file) {
  sched::Session old = std::exchange(session_, std::move(s));
  if (old.result.nodes.size() > kLargeSession) forget(std::move(old));
  families_.clear();
  families_.reserve(nodes().size());
  for (const sched::SearchNode& n : nodes()) enter_in_family(n);
  file_ = file;
  find_best_path();
  touch(false);
  reset();
  make_room();
}

// Ahead of need: to find memory for 100,000 nodes and move them there takes longer than an event
// may.
void Document::make_room() {
  const auto enough = [this](size_t capacity) {
    const size_t count = nodes().size();
    return count < kLargeSession || capacity - std::min(capacity, count) >= count / 4;
  };
  if (making_room_ || enough(nodes().capacity())) return;
  making_room_ = true;
  in_background<Expected<Nodes>>(
      this,
      [count = nodes().size()]() -> Expected<Nodes> {
        Nodes room;
        room.reserve(2 * count);
        room.resize(count);  // so that the memory is there
        room.clear();
        return Expected<Nodes>(std::move(room));
      },
      [this, enough](Expected<Nodes> room) {
        making_room_ = false;
        if (!room || enough(nodes().capacity())) return;
        if (!enough(room->capacity())) return make_room();
        Nodes& all = session_.result.nodes;
        room->insert(room->end(), std::make_move_iterator(all.begin()),
                     std::make_move_iterator(all.end()));
        all.swap(*room);
        forget(*std::move(room));
      });
}

void Document::append(std::vector<sched::SearchNode> more) {
  if (more.empty()) return;
  const int first = static_cast<int>(nodes().size());
  auto& all = session_.result.nodes;
  for (sched::SearchNode& n : more) {
    n.id = static_cast<int>(all.size());
    enter_in_family(n);
    all.push_back(std::move(n));
  }
  on_best_.resize(all.size(), false);
  touch(true);
  appended(first, static_cast<int>(all.size()) - 1);
  make_room();
}

void Document::change(std::vector<sched::SearchNode> nodes) {
  QList<int> ids;
  for (sched::SearchNode& n : nodes) {
    if (!node(n.id)) continue;
    ids.append(n.id);
    n.parent = session_.result.nodes[n.id].parent;
    session_.result.nodes[n.id] = std::move(n);
  }
  if (ids.empty()) return;
  touch(true);
  changed(ids);
}

// True: it was this already.
bool Document::put_answer(std::vector<int> best, std::vector<int> pareto) {
  const auto absent = [this](int id) { return !node(id); };
  std::erase_if(best, absent);
  std::erase_if(pareto, absent);
  sched::SearchResult& r = session_.result;
  if (r.best == best && r.pareto == pareto) return true;
  r.best = std::move(best);
  r.pareto = std::move(pareto);
  find_best_path();
  return false;
}

void Document::set_answer(std::vector<int> best, std::vector<int> pareto) {
  if (put_answer(std::move(best), std::move(pareto))) return;
  touch(true);
  answer_changed();
}

void Document::set_outcome(const sched::SearchResult& r) {
  sched::SearchResult& mine = session_.result;
  mine.duplicates = r.duplicates;
  mine.first_plan_seconds = r.first_plan_seconds;
  mine.stop_reason = r.stop_reason;
  mine.note = r.note;
  set_progress(r.plans_costed, r.structures_verified, r.seconds);
}

void Document::set_progress(int plans, int structures, double seconds) {
  session_.result.plans_costed = plans;
  session_.result.structures_verified = structures;
  session_.result.seconds = seconds;
  progress(plans, structures, seconds);
}

void Document::set_options(const sched::SearchOptions& o) {
  session_.options = o;
  session_.options.stop = nullptr;
  touch(true);
  options_changed();
}

bool Document::set_costs(const sched::SearchOptions& o, Nodes nodes, std::vector<int> best,
                         std::vector<int> pareto) {
  sched::SearchResult& r = session_.result;
  if (nodes.size() != r.nodes.size()) return false;
  r.nodes.swap(nodes);
  if (nodes.size() > kLargeSession) forget(std::move(nodes));
  session_.options = o;
  session_.options.stop = nullptr;
  const bool same = put_answer(std::move(best), std::move(pareto));
  touch(true);
  options_changed();
  if (!same) answer_changed();
  make_room();
  return true;
}

void Document::set_note(int id, const QString& text) {
  if (!node(id) || note(id) == text) return;
  if (text.isEmpty())
    session_.notes.erase(id);
  else
    session_.notes[id] = text.toStdString();
  touch(true);
  notes_changed(id);
}

void Document::set_pinned(int id, bool on) {
  if (!node(id) || pinned(id) == on) return;
  if (on)
    session_.pins.push_back(id);
  else
    std::erase(session_.pins, id);
  touch(true);
  pins_changed();
}

void Document::set_measured(int id, Measured m) {
  if (!node(id)) return;
  session_.measured[id] = std::move(m);
  touch(true);
  measured_changed(id);
}

void Document::set_measured(std::map<int, Measured> all) {
  std::erase_if(all, [this](const auto& m) { return !node(m.first); });
  if (all.empty()) return;
  QList<int> ids;
  for (auto& [id, m] : all) {
    ids << id;
    session_.measured[id] = std::move(m);
  }
  touch(true);
  changed(ids);
  for (int id : pins())
    if (all.contains(id)) measured_changed(id);
}

void Document::set_saved(const QString& file, unsigned revision) {
  const bool named = file_ != file;
  file_ = file;
  const bool later = revision != revision_;
  if (modified_ != later || named) {
    modified_ = later;
    modified_changed(later);
  }
}

sched::Session Document::session_without_nodes() {
  auto nodes = std::exchange(session_.result.nodes, {});
  sched::Session out = session_;
  session_.result.nodes = std::move(nodes);
  return out;
}

void Document::touch(bool modified) {
  revision_ += modified;
  if (modified_ == modified) return;
  modified_ = modified;
  modified_changed(modified);
}

void Document::find_best_path() {
  on_best_.assign(nodes().size(), false);
  if (!best().empty())
    for (int id : path(best().front())) on_best_[id] = true;
}

}  // namespace nautilus::gui
