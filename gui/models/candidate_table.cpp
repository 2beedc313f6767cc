#include "gui/models/candidate_table.h"

#include <algorithm>
#include <cmath>

namespace nautilus::gui {
namespace {

constexpr size_t kKnobStep = 256;  // candidates
constexpr int kAtOnce = 64;        // steps: some thousand rows are there at once

}  // namespace

CandidateTable::CandidateTable(const Document& d, const FilterStack& f, const Theme& theme,
                               QObject* parent)
    : QAbstractTableModel(parent), document_(d), filters_(f), theme_(theme), row_order_(d, f) {
  later_.setSingleShot(true);
  later_.setInterval(250);
  connect(&later_, &QTimer::timeout, this, [this] {
    if (slices_.busy()) return later_.start();  // what was asked a moment ago is shown first
    fill();
  });
  connect(&d, &Document::reset, this, &CandidateTable::reload);
  connect(&d, &Document::options_changed, this, &CandidateTable::reload);  // levels are columns
  connect(&d, &Document::appended, this, &CandidateTable::grow);
  connect(&d, &Document::changed, this, &CandidateTable::changed);
  connect(&d, &Document::measured_changed, this, [this](int id) { changed({id}); });
  connect(&d, &Document::answer_changed, this, [this] {
    if (show_ == Show::Pareto) fill_again();
  });
  connect(&f, &FilterStack::changed, this, &CandidateTable::fill_again);
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
  fill();
}

void CandidateTable::index_rows() {
  row_of_.assign(document_.nodes().size(), -1);
  for (size_t r = 0; r < rows_.size(); ++r) row_of_[size_t(rows_[r])] = int(r);
}

void CandidateTable::reload() {
  beginResetModel();
  columns_ = columns_without_knobs(document_);
  rows_.clear();
  index_rows();
  endResetModel();
  knobs_known_ = 0;
  told_ = false;
  fill();
}

void CandidateTable::fill() {
  later_.stop();
  ordering_ = once_more_ = false;
  slices_.start([this] { return fill_step(); }, [this] { filled(); }, kAtOnce);
}

// What is under way is shown first: where changes keep coming it would else never be.
void CandidateTable::fill_again() {
  if (slices_.busy())
    once_more_ = true;
  else
    fill();
}

bool CandidateTable::fill_step() {
  if (ordering_) return row_order_.step();
  const size_t count = document_.nodes().size();
  if (knobs_known_ < count) {
    const size_t end = std::min(count, knobs_known_ + kKnobStep);
    add_knobs(knobs_known_, end);
    knobs_known_ = end;
    return true;
  }
  RowOrder::Wish wish{show_, top_, std::nullopt, order_ == Qt::DescendingOrder};
  if (const int c = sort_column(); c >= 0) wish.by = columns_[size_t(c)];
  row_order_.begin(wish);
  ordering_ = true;
  return true;
}

void CandidateTable::add_knobs(size_t first, size_t end) {
  const std::vector<Column> more = new_knobs(document_, first, end, columns_);
  if (more.empty()) return;
  beginInsertColumns({}, columnCount(), columnCount() + int(more.size()) - 1);
  columns_.insert(columns_.end(), more.begin(), more.end());
  endInsertColumns();
}

void CandidateTable::filled() {
  std::vector<int> now = row_order_.take();
  const size_t count = document_.nodes().size();
  for (size_t n = row_order_.seen(); show_ == Show::All && n < count; ++n)
    if (filters_.passes(int(n))) now.push_back(int(n));  // until they are put in order, soon
  const bool again = std::exchange(once_more_, false);
  if (reorder(now) || !std::exchange(told_, true)) rows_changed();
  if (again) fill_again();
}

// False: the rows are as they were. The same rows in another order keep what refers to them.
bool CandidateTable::reorder(std::vector<int>& now) {
  if (now == rows_) return false;
  const auto shown_now = [this](int n) { return row_of(n) >= 0; };
  if (now.size() != rows_.size() || !std::all_of(now.begin(), now.end(), shown_now)) {
    beginResetModel();
    rows_ = std::move(now);
    index_rows();
    endResetModel();
    return true;
  }
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
  return true;
}

// At the end, until they are put in order.
void CandidateTable::grow(int first, int last) {
  const size_t count = document_.nodes().size();
  if (knobs_known_ == size_t(first)) {
    add_knobs(knobs_known_, count);
    knobs_known_ = count;
  }
  row_of_.resize(count, -1);
  std::vector<int> fresh;
  for (int n = first; show_ == Show::All && n <= last; ++n)
    if (filters_.passes(n)) fresh.push_back(n);
  if (!fresh.empty()) {
    beginInsertRows({}, rowCount(), rowCount() + int(fresh.size()) - 1);
    for (int n : fresh) {
      row_of_[size_t(n)] = int(rows_.size());
      rows_.push_back(n);
    }
    endInsertRows();
  }
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
  if (column < columnCount()) sort_by(column < 0 ? QString() : columns_[size_t(column)].id(), o);
}

void CandidateTable::sort_by(const QString& id, Qt::SortOrder o) {
  sorted_ = id, order_ = o;
  fill();
}

}  // namespace nautilus::gui
