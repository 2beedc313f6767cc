#include "gui/models/candidate_table.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

namespace nautilus::gui {

CandidateTable::CandidateTable(const Document& d, const FilterStack& f, const Theme& theme,
                               QObject* parent)
    : QAbstractTableModel(parent), document_(d), filters_(f), theme_(theme) {
  later_.setSingleShot(true);
  later_.setInterval(250);
  connect(&later_, &QTimer::timeout, this, &CandidateTable::resort);
  connect(&d, &Document::reset, this, &CandidateTable::reload);
  connect(&d, &Document::options_changed, this, &CandidateTable::reload);  // levels are columns
  connect(&d, &Document::appended, this, &CandidateTable::grow);
  connect(&d, &Document::changed, this, &CandidateTable::changed);
  connect(&d, &Document::measured_changed, this, [this](int id) { changed({id}); });
  connect(&d, &Document::answer_changed, this, [this] {
    if (show_ == Show::Pareto) filter();
  });
  connect(&f, &FilterStack::changed, this, &CandidateTable::filter);
  reload();
}

int CandidateTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : int(rows_.size());
}
int CandidateTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : int(columns_.size());
}

QVariant CandidateTable::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount() || index.column() >= columnCount()) return {};
  const sched::SearchNode* n = document_.node(node_at(index.row()));
  if (!n) return {};
  const Column& c = columns_[size_t(index.column())];
  switch (role) {
    case Qt::DisplayRole:
      return shown(document_, *n, c);
    case Qt::TextAlignmentRole:
      return int((c.numeric() ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case Qt::ForegroundRole:
      if (c.what == Column::What::State) return theme_.state(n->state);
      if (c.what == Column::What::Ratio) {
        const double r = number_of(document_, *n, c);
        if (std::isnan(r)) return {};
        return r > 1.25 ? theme_.bad() : r < 0.8 ? theme_.warning() : theme_.good();
      }
      return {};
    case Qt::ToolTipRole: {
      QString tip = shown(document_, *n, c);
      if (!n->reason.empty()) tip += QLatin1Char('\n') + QString::fromStdString(n->reason);
      return tip;
    }
    case NodeRole:
      return n->id;
    case NumberRole:
      return number_of(document_, *n, c);
    default:
      return {};
  }
}

QVariant CandidateTable::headerData(int section, Qt::Orientation o, int role) const {
  if (o != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
  const Column& c = columns_[size_t(section)];
  if (role == Qt::DisplayRole) return c.title();
  if (role == Qt::ToolTipRole) return c.tip();
  if (role == Qt::TextAlignmentRole)
    return int((c.numeric() ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  if (role == ColumnIdRole) return c.id();
  return {};
}

int CandidateTable::column(const QString& id) const {
  for (size_t c = 0; c < columns_.size(); ++c)
    if (columns_[c].id() == id) return int(c);
  return -1;
}

int CandidateTable::row_of(int node) const {
  return node >= 0 && size_t(node) < row_of_.size() ? row_of_[size_t(node)] : -1;
}

void CandidateTable::set_show(Show s, int top) {
  if (s == show_ && top == top_) return;
  show_ = s, top_ = top;
  filter();
}

std::vector<int> CandidateTable::wanted() const {
  std::vector<int> out;
  if (show_ == Show::Pareto) {
    for (int n : document_.session().result.pareto)
      if (document_.node(n) && filters_.passes(n)) out.push_back(n);
    return out;
  }
  for (const sched::SearchNode& n : document_.nodes())
    if (filters_.passes(n.id) && (show_ == Show::All || n.seconds > 0)) out.push_back(n.id);
  if (show_ == Show::Top && out.size() > size_t(top_)) {
    const auto faster = [&](int a, int b) {
      const double x = document_.node(a)->seconds, y = document_.node(b)->seconds;
      return x != y ? x < y : a < b;
    };
    std::nth_element(out.begin(), out.begin() + top_, out.end(), faster);
    out.resize(size_t(top_));
    std::sort(out.begin(), out.end());
  }
  return out;
}

// A number a node that orders it: the value, or the rank of its text.
std::vector<double> CandidateTable::keys(const std::vector<int>& nodes) const {
  const Column& c = columns_[size_t(sort_column_)];
  if (c.numeric()) return numbers_of(document_, nodes, c);
  // Texts repeat: each is looked up once, and ranked among those that there are.
  std::unordered_map<std::string_view, size_t> numbers;
  std::vector<std::string_view> texts;
  std::vector<size_t> number;
  number.reserve(nodes.size());
  for (int n : nodes) {
    const auto [at, fresh] = numbers.try_emplace(text_of(*document_.node(n), c), texts.size());
    if (fresh) texts.push_back(at->first);
    number.push_back(at->second);
  }
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return texts[a] < texts[b]; });
  std::vector<double> rank(texts.size());
  for (size_t r = 0; r < order.size(); ++r)
    rank[order[r]] = texts[order[r]].empty() ? std::nan("") : double(r);
  std::vector<double> out;
  out.reserve(nodes.size());
  for (size_t n : number) out.push_back(rank[n]);
  return out;
}

void CandidateTable::order(std::vector<int>& nodes) const {
  if (sort_column_ < 0 || sort_column_ >= columnCount()) return;
  const std::vector<double> key = keys(nodes);
  std::vector<std::pair<double, int>> all;
  std::vector<int> without;
  for (size_t n = 0; n < nodes.size(); ++n)
    if (std::isnan(key[n]))
      without.push_back(nodes[n]);
    else
      all.emplace_back(order_ == Qt::AscendingOrder ? key[n] : -key[n], nodes[n]);
  std::sort(all.begin(), all.end());
  std::sort(without.begin(), without.end());
  nodes.clear();
  for (const auto& [k, n] : all) nodes.push_back(n);
  nodes.insert(nodes.end(), without.begin(), without.end());
}

void CandidateTable::index_rows() {
  row_of_.assign(document_.nodes().size(), -1);
  for (size_t r = 0; r < rows_.size(); ++r) row_of_[size_t(rows_[r])] = int(r);
}

void CandidateTable::reload() {
  beginResetModel();
  const QString sorted = sort_column_ >= 0 && sort_column_ < columnCount()
                             ? columns_[size_t(sort_column_)].id()
                             : QStringLiteral("predicted");
  columns_ = columns_of(document_);
  sort_column_ = column(sorted);
  rows_ = wanted();
  order(rows_);
  index_rows();
  endResetModel();
  rows_changed();
}

void CandidateTable::filter() {
  std::vector<int> now = wanted();
  order(now);
  show_rows(std::move(now));
}

void CandidateTable::show_rows(std::vector<int> now) {
  beginResetModel();
  rows_ = std::move(now);
  index_rows();
  endResetModel();
  rows_changed();
}

void CandidateTable::grow(int first, int last) {
  const std::vector<Column> more = new_knobs(document_, first, columns_);
  if (!more.empty()) {
    beginInsertColumns({}, columnCount(), columnCount() + int(more.size()) - 1);
    columns_.insert(columns_.end(), more.begin(), more.end());
    endInsertColumns();
  }
  if (show_ != Show::All) return later_.isActive() ? void() : later_.start();
  std::vector<int> fresh;
  for (int n = first; n <= last; ++n)
    if (row_of(n) < 0 && document_.node(n) && filters_.passes(n)) fresh.push_back(n);
  row_of_.resize(document_.nodes().size(), -1);
  if (fresh.empty()) return;
  order(fresh);
  beginInsertRows({}, rowCount(), rowCount() + int(fresh.size()) - 1);
  for (int n : fresh) {
    row_of_[size_t(n)] = int(rows_.size());
    rows_.push_back(n);
  }
  endInsertRows();
  if (!later_.isActive()) later_.start();
}

void CandidateTable::changed(const QList<int>& ids) {
  if (ids.isEmpty()) return;
  for (int id : ids)
    if (const int row = row_of(id); row >= 0)
      dataChanged(index(row, 0), index(row, columnCount() - 1));
  if (!later_.isActive()) later_.start();
}

void CandidateTable::sort(int column, Qt::SortOrder o) {
  if (column >= columnCount()) return;
  sort_column_ = column, order_ = o;
  resort();
}

// Values may have changed, and with them what passes: then rows come and go.
void CandidateTable::resort() {
  later_.stop();
  std::vector<int> now = wanted();
  order(now);
  if (now == rows_) return;
  const auto shown_now = [this](int n) { return row_of(n) >= 0; };
  if (now.size() != rows_.size() || !std::all_of(now.begin(), now.end(), shown_now))
    return show_rows(std::move(now));
  layoutAboutToBeChanged({}, QAbstractItemModel::VerticalSortHint);
  const QModelIndexList from = persistentIndexList();
  std::vector<int> nodes;
  for (const QModelIndex& i : from) nodes.push_back(node_at(i.row()));
  rows_ = std::move(now);
  index_rows();
  QModelIndexList to;
  for (qsizetype i = 0; i < from.size(); ++i)
    to.push_back(index(row_of(nodes[size_t(i)]), from[i].column()));
  changePersistentIndexList(from, to);
  layoutChanged({}, QAbstractItemModel::VerticalSortHint);
  rows_changed();
}

}  // namespace nautilus::gui
