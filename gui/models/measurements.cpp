#include "gui/models/measurements.h"

#include <cmath>

#include "gui/models/measurement_rows.h"

namespace nautilus::gui {
namespace {

constexpr int kNamed = 3;  // rows left out, each with its reason

using Row = MeasurementRow;

constexpr int kSeveral = -2;

std::string knobs_key(const std::map<std::string, std::string>& knobs) {
  std::string key;
  for (const auto& [name, value] : knobs) key += name + "=" + value + " ";
  return key;
}

// Candidates by their knobs; kSeveral where they do not tell which.
std::map<std::string, int> by_knobs(const std::vector<sched::SearchNode>& nodes) {
  std::map<std::string, int> out;
  for (const sched::SearchNode& n : nodes) {
    if (n.knobs.empty() || n.state == sched::NodeState::Duplicate) continue;
    std::map<std::string, std::string> knobs;
    for (const auto& [name, value] : n.knobs) knobs[name] = std::to_string(value);
    const auto [at, fresh] = out.emplace(knobs_key(knobs), n.id);
    if (!fresh) at->second = kSeveral;
  }
  return out;
}

// As programs and spreadsheets write it; an empty cell: nobody compared. Absent: something else.
std::optional<sched::Comparison> comparison(const std::string& text) {
  const QString t = QString::fromStdString(text).trimmed().toLower();
  if (t.isEmpty()) return sched::Comparison();
  for (const char* yes : {"true", "1", "yes", "t", "y"})
    if (t == QLatin1String(yes)) return sched::Comparison(true);
  for (const char* no : {"false", "0", "no", "f", "n"})
    if (t == QLatin1String(no)) return sched::Comparison(false);
  return std::nullopt;
}

// Why a candidate can have no time, or "". One over capacity may: the model may be wrong there.
std::string not_a_kernel(const sched::SearchNode& n) {
  using State = sched::NodeState;
  if (n.state != State::Illegal && n.state != State::Unknown && n.state != State::Failed) return "";
  return "candidate " + std::to_string(n.id) + " is " + std::string(sched::state_name(n.state)) +
         ", of which there is no kernel";
}

// Why a row is of no use here, or "".
std::string match(const Row& row, const sched::Session& s, const std::map<std::string, int>& known,
                  MeasuredRow& out) {
  if (const auto* k = field(row, {"kernel", "operator"}); k && *k != s.kernel)
    return "it is of " + *k + ", not of " + s.kernel;
  if (const auto* text = field(row, {"sizes"})) {
    const auto sizes = sizes_of(*text);
    if (!sizes) return sizes.error().asked + ": " + sizes.error().why;
    for (const auto& [name, value] : *sizes)
      if (const auto at = s.options.sizes.find(name);
          at != s.options.sizes.end() && at->second != value)
        return "it was measured at " + name + "=" + std::to_string(value);
  }
  const auto time = time_of(row);
  if (!time) return time.error().why;
  out.measured.seconds = *time;
  if (const auto* r = field(row, {"right", "correct", "verified"})) {
    const auto said = comparison(*r);
    if (!said) return "'" + *r + "' does not say whether the outputs were right";
    out.measured.right = *said;
  }
  if (const auto* from = field(row, {"source", "machine", "device"})) out.measured.source = *from;
  const auto& nodes = s.result.nodes;
  if (const auto* id = field(row, {"node", "id", "candidate"})) {
    const auto n = finite_number(*id);
    if (!n || *n < 0 || *n >= static_cast<double>(nodes.size()) || *n != std::floor(*n))
      return "there is no candidate " + *id;
    out.node = static_cast<int>(*n);
    return not_a_kernel(nodes[out.node]);
  }
  const auto* knobs = field(row, {"knobs"});
  if (!knobs) return "it names neither node nor knobs";
  const auto at = known.find(knobs_key(named_values(*knobs)));
  if (at == known.end()) return "no candidate has the knobs " + *knobs;
  if (at->second == kSeveral)
    return "several candidates have the knobs " + *knobs + "; a column node says which";
  out.node = at->second;
  return not_a_kernel(nodes[out.node]);
}

}  // namespace

Expected<Import> read_measurements(const std::string& text, const sched::Session& session,
                                   const std::string& origin) {
  const auto rows = measurement_rows(text);
  if (!rows) return rows.error();
  const std::map<std::string, int> known = by_knobs(session.result.nodes);
  Import out;
  for (size_t k = 0; k < rows->size(); ++k) {
    MeasuredRow r;
    r.measured.source = origin;
    const std::string why = match((*rows)[k], session, known, r);
    if (why.empty()) {
      out.rows.push_back(std::move(r));
    } else if (++out.left_out <= kNamed) {
      out.why += (out.why.isEmpty() ? "row " : "; row ") + QString::number(k + 1) + ": " +
                 QString::fromStdString(why);
    }
  }
  if (out.left_out > kNamed) out.why += QObject::tr("; and %1 more").arg(out.left_out - kNamed);
  return out;
}

}  // namespace nautilus::gui
