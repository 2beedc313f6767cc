// The parts of the comparison: the table of figures and the two texts in step.
#include <QHBoxLayout>
#include <QScrollBar>
#include <QSplitter>
#include <cmath>

#include "gui/views/compare_view.h"

namespace nautilus::gui {

void MetricTable::set(std::vector<Metric> metrics, QStringList titles) {
  beginResetModel();
  metrics_ = std::move(metrics);
  titles_ = std::move(titles);
  endResetModel();
}

int MetricTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : int(metrics_.size());
}
int MetricTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() || titles_.isEmpty() ? 0 : 2 + int(titles_.size());
}

// Better is one colour, worse the other, deeper the larger the ratio, up to a factor of two.
QColor MetricTable::shade(int row, size_t candidate) const {
  const Metric& m = metrics_[size_t(row)];
  const double d = m.delta(candidate);
  if (candidate == 0 || std::isnan(d) || d == 0) return {};
  const bool good = m.better == Better::Less ? d < 0 : d > 0;
  const QColor c = m.better == Better::Neither ? theme_.accent()
                   : good                      ? theme_.good()
                                               : theme_.bad();
  return faded(c, 0.10 + 0.45 * std::abs(d));
}

QVariant MetricTable::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount() || index.column() >= columnCount()) return {};
  const Metric& m = metrics_[size_t(index.row())];
  const int column = index.column();
  if (role == Qt::ToolTipRole && column >= 2) {
    const QString ratio = m.delta_text(size_t(column - 2));
    const bool times = ratio.startsWith(QStringLiteral("×"));
    return ratio.isEmpty() ? m.tip
                           : ratio + (times ? tr(" of the first candidate's") : QString()) +
                                 QLatin1Char('\n') + m.tip;
  }
  if (column < 2) {
    if (role == Qt::DisplayRole) {
      if (column == 1) return m.name;
      const bool repeated = index.row() > 0 && metrics_[size_t(index.row() - 1)].group == m.group;
      return repeated ? QString() : m.group;
    }
    if (role == Qt::ForegroundRole && column == 0) return theme_.muted();
    return {};
  }
  const size_t k = size_t(column - 2);
  switch (role) {
    case Qt::DisplayRole: {
      const QString value = metric_text(m.values[k], m.unit), ratio = m.delta_text(k);
      if (ratio.isEmpty()) return value;
      // Neither way where nothing that is shown tells them apart.
      const double d = ratio.contains(QStringLiteral("same")) ? 0 : m.delta(k);
      const QString arrow = d < 0 ? QStringLiteral("▼ ") : d > 0 ? QStringLiteral("▲ ") : QString();
      return value + QStringLiteral("   ") + arrow + ratio;
    }
    case Qt::TextAlignmentRole:
      return int(Qt::AlignRight | Qt::AlignVCenter);
    case Qt::BackgroundRole: {
      const QColor c = shade(index.row(), k);
      return c.isValid() ? QVariant(c) : QVariant();
    }
    default:
      return {};
  }
}

QVariant MetricTable::headerData(int section, Qt::Orientation o, int role) const {
  if (o != Qt::Horizontal || (role != Qt::DisplayRole && role != Qt::ToolTipRole)) return {};
  if (section < 2) return section == 0 ? tr("Group") : tr("Figure");
  return section - 2 < titles_.size() ? titles_[section - 2] : QString();
}

DiffPanes::DiffPanes(const Theme& theme, QWidget* parent) : QWidget(parent) {
  auto* all = new QHBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  auto* splitter = new QSplitter(Qt::Horizontal);
  splitter->setChildrenCollapsible(false);
  left_ = new CodePane(theme, this);
  right_ = new CodePane(theme, this);
  splitter->addWidget(left_);
  splitter->addWidget(right_);
  all->addWidget(splitter);
  for (const auto& [a, b] : {std::pair{left_, right_}, std::pair{right_, left_}}) {
    connect(a->verticalScrollBar(), &QScrollBar::valueChanged, b->verticalScrollBar(),
            &QScrollBar::setValue);
    connect(a->horizontalScrollBar(), &QScrollBar::valueChanged, b->horizontalScrollBar(),
            &QScrollBar::setValue);
  }
}

void DiffPanes::set(const PlanStagesPtr& left_plan, const Stage& left,
                    const PlanStagesPtr& right_plan, const Stage& right) {
  left_->set_stage(left_plan, left);
  right_->set_stage(right_plan, right);
  starts_.clear();
  if (left.refusal || right.refusal) return;
  std::vector<PaneRow> l, r;
  bool inside = false;
  for (const DiffRow& d : diff_lines(left.lines, right.lines)) {
    DiffSpan span;
    if (d.kind == DiffKind::Changed) span = diff_span(left.lines[d.left], right.lines[d.right]);
    const auto side = [](int line, DiffKind kind, int from, int to) {
      return PaneRow{
          line < 0 ? PaneRow::Kind::Filler : PaneRow::Kind::Line, line, kind, from, to, 0};
    };
    const bool same = d.kind == DiffKind::Same;
    if (!same && !inside) starts_.push_back(int(l.size()));
    inside = !same;
    l.push_back(
        side(d.left, same ? DiffKind::Same : DiffKind::Removed, span.left_begin, span.left_end));
    r.push_back(
        side(d.right, same ? DiffKind::Same : DiffKind::Added, span.right_begin, span.right_end));
  }
  left_->set_rows(std::move(l));
  right_->set_rows(std::move(r));
}

void DiffPanes::step(int direction) {
  if (starts_.empty()) return;
  const int now = left_->current_row();
  int to = direction > 0 ? starts_.front() : starts_.back();
  if (direction > 0) {
    for (auto s = starts_.rbegin(); s != starts_.rend(); ++s)
      if (*s > now) to = *s;
  } else {
    for (int s : starts_)
      if (s < now) to = s;
  }
  left_->set_current(to);
  right_->set_current(to);
}

}  // namespace nautilus::gui
