#include "gui/views/table_view.h"

#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QJsonArray>
#include <QMenu>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <cmath>

namespace nautilus::gui {

namespace {

// Dims what is not among the isolated candidates, stars the best, underlines nothing.
class CandidateDelegate : public QStyledItemDelegate {
 public:
  CandidateDelegate(const Shared& shared, QObject* parent)
      : QStyledItemDelegate(parent), shared_(shared) {}
  void paint(QPainter* p, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    QStyleOptionViewItem o = option;
    const int node = index.data(CandidateTable::NodeRole).toInt();
    const Selected& now = shared_.selection.now();
    const bool dim = !now.isolated.empty() && !now.isolated.count(node);
    if (dim) p->setOpacity(0.35);
    if (node == shared_.selection.hovered())
      p->fillRect(o.rect, faded(shared_.theme.warning(), 0.2));
    QStyledItemDelegate::paint(p, o, index);
    p->setOpacity(1);
  }
  void initStyleOption(QStyleOptionViewItem* o, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(o, index);
    const int node = index.data(CandidateTable::NodeRole).toInt();
    const std::vector<int>& best = shared_.document.best();
    if (index.column() != 0) return;
    if (!best.empty() && best[0] == node) o->text = Theme::star() + QLatin1Char(' ') + o->text;
    if (shared_.document.pinned(node)) o->text = QStringLiteral("⚑ ") + o->text;
  }

 private:
  const Shared shared_;
};

}  // namespace

TableView::TableView(Shared shared, QWidget* parent)
    : View(shared, QStringLiteral("table"), tr("Table"), parent),
      model_(shared.document, shared.filters, shared.theme) {
  build();
  make_actions();
  connect(&model_, &CandidateTable::rows_changed, this, [this] {
    from_selection(Selection::Node | Selection::Isolated);
    count();
  });
  connect(&model_, &QAbstractItemModel::rowsInserted, this, &TableView::count);
  connect(&model_, &QAbstractItemModel::columnsInserted, this, &TableView::widths);
  connect(&shared_.document, &Document::reset, this, &TableView::widths);
  connect(&shared_.document, &Document::options_changed, this, &TableView::widths);
  connect(&shared_.document, &Document::pins_changed, table_->viewport(),
          QOverload<>::of(&QWidget::update));
  connect(&shared_.document, &Document::answer_changed, table_->viewport(),
          QOverload<>::of(&QWidget::update));
  connect(&shared_.selection, &Selection::changed, this, &TableView::from_selection);
  connect(&shared_.theme, &Theme::changed, table_->viewport(), QOverload<>::of(&QWidget::update));
  widths();
  count();
}

void TableView::build() {
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->setSpacing(2);
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(4, 2, 4, 0);
  show_ = new QComboBox;
  show_->addItems({tr("All candidates"), tr("Fastest"), tr("Pareto front")});
  show_->setAccessibleName(tr("Which candidates"));
  show_->setToolTip(
      tr("All that pass the filters, those with the least predicted time, or those "
         "that no other beats in time, shared memory and registers"));
  top_ = new QSpinBox;
  top_->setRange(1, 100'000);
  top_->setValue(50);
  top_->setEnabled(false);
  top_->setAccessibleName(tr("How many of the fastest"));
  top_->setToolTip(tr("How many of the fastest"));
  count_ = new QLabel;
  bar->addWidget(show_);
  bar->addWidget(top_);
  bar->addStretch(1);
  bar->addWidget(count_);
  all->addLayout(bar);
  table_ = new QTableView;
  table_->setModel(&model_);
  table_->setItemDelegate(new CandidateDelegate(shared_, table_));
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setTabKeyNavigation(false);  // Tab goes on to the next control
  table_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  table_->setAlternatingRowColors(true);
  table_->setShowGrid(false);
  table_->setWordWrap(false);
  table_->setSortingEnabled(false);  // the header asks below: nothing is sorted twice
  table_->setContextMenuPolicy(Qt::CustomContextMenu);
  table_->setMouseTracking(true);
  table_->setAccessibleName(tr("Candidates"));
  table_->setVerticalScrollMode(QAbstractItemView::ScrollPerItem);
  table_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  QHeaderView* rows = table_->verticalHeader();
  rows->hide();
  rows->setSectionResizeMode(QHeaderView::Fixed);
  rows->setDefaultSectionSize(QFontMetrics(table_->font()).height() + 6);
  QHeaderView* head = table_->horizontalHeader();
  head->setSectionsMovable(true);
  head->setSectionsClickable(true);
  head->setSortIndicatorShown(true);
  head->setHighlightSections(false);
  head->setContextMenuPolicy(Qt::CustomContextMenu);
  all->addWidget(table_, 1);
  connect(head, &QHeaderView::sectionClicked, this, [this, head](int column) {
    const bool same = model_.sort_column() == column;
    const bool down = same && model_.sort_order() == Qt::AscendingOrder;
    const Qt::SortOrder order = down ? Qt::DescendingOrder : Qt::AscendingOrder;
    model_.sort(column, order);
    head->setSortIndicator(column, order);
  });
  connect(head, &QHeaderView::customContextMenuRequested, this, &TableView::header_menu);
  connect(table_, &QTableView::customContextMenuRequested, this, &TableView::menu);
  connect(table_, &QTableView::entered, this,
          [this](const QModelIndex& i) { shared_.selection.hover(model_.node_at(i.row())); });
  connect(table_->selectionModel(), &QItemSelectionModel::selectionChanged, this,
          &TableView::from_table);
  const auto chosen = [this] {
    top_->setEnabled(show_->currentIndex() == 1);
    model_.set_show(CandidateTable::Show(show_->currentIndex()), top_->value());
  };
  connect(show_, &QComboBox::currentIndexChanged, this, chosen);
  connect(top_, &QSpinBox::valueChanged, this, chosen);
}

void TableView::make_actions() {
  add_command(tr("Copy rows"), QKeySequence::Copy, tr("The selected rows as text with tabs"),
              [this] { copy(); });
  add_command(tr("Filter by this value"), Qt::Key_F, tr("Only candidates like the current cell"),
              [this] { filter_by(table_->currentIndex(), false); });
  add_command(tr("Pin"), Qt::Key_P, tr("Pins the current candidate, or takes the pin away"),
              [this] {
                const QModelIndex i = table_->currentIndex();
                if (!i.isValid()) return;
                const int node = model_.node_at(i.row());
                shared_.document.set_pinned(node, !shared_.document.pinned(node));
              });
  add_command(tr("Show all again"), Qt::Key_Escape, tr("Ends the isolation of rows"),
              [this] { shared_.selection.isolate({}); });
}

void TableView::widths() {
  const QFontMetrics m(table_->font());
  const int digit = m.horizontalAdvance(QLatin1Char('0'));
  for (int c = 0; c < model_.columnCount(); ++c) {
    const Column& column = model_.columns()[size_t(c)];
    int chars = 11;
    if (column.what == Column::What::Decision) chars = 44;
    if (column.what == Column::What::Limiter) chars = 34;
    if (column.what == Column::What::State) chars = 17;
    if (column.what == Column::What::Id || column.what == Column::What::Depth) chars = 9;
    const int head = m.horizontalAdvance(column.title()) + 26;
    table_->setColumnWidth(c, std::max(head, chars * digit));
    table_->setColumnHidden(c, hidden_.contains(column.id()));
  }
  table_->horizontalHeader()->setSortIndicator(model_.sort_column(), model_.sort_order());
}

void TableView::count() {
  const int all = int(shared_.document.nodes().size());
  count_->setText(tr("%1 of %2 candidates").arg(model_.rowCount()).arg(all));
}

// One row is the selection of all views; several are isolated.
void TableView::from_table() {
  if (following_) return;
  std::set<int> nodes;
  const QItemSelection chosen = table_->selectionModel()->selection();
  for (const QItemSelectionRange& r : chosen)
    for (int row = r.top(); row <= r.bottom(); ++row) nodes.insert(model_.node_at(row));
  if (nodes.empty()) return;
  const QModelIndex current = table_->currentIndex();
  if (nodes.size() == 1) {
    if (!shared_.selection.now().isolated.empty()) shared_.selection.isolate({});
    shared_.selection.select(*nodes.begin());
    return;
  }
  if (current.isValid()) shared_.selection.select(model_.node_at(current.row()));
  shared_.selection.isolate(std::move(nodes));
}

void TableView::from_selection(unsigned parts) {
  if (parts & (Selection::Isolated | Selection::Hover)) table_->viewport()->update();
  if (!(parts & Selection::Node)) return;
  const int node = shared_.selection.now().node, row = model_.row_of(node);
  const QModelIndex current = table_->currentIndex();
  if (row < 0 ||
      (current.isValid() && current.row() == row && table_->selectionModel()->isRowSelected(row)))
    return;
  if (!shared_.selection.now().isolated.empty() && table_->selectionModel()->isRowSelected(row))
    return;
  following_ = true;
  const QModelIndex to = model_.index(row, std::max(0, current.column()));
  table_->selectionModel()->setCurrentIndex(
      to, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
  table_->scrollTo(to);
  following_ = false;
}

void TableView::filter_by(const QModelIndex& cell, bool without) {
  if (!cell.isValid()) return;
  const sched::SearchNode* n = shared_.document.node(model_.node_at(cell.row()));
  auto f =
      n ? filter_like(shared_.document, *n, model_.columns()[size_t(cell.column())]) : std::nullopt;
  if (!f) return;
  if (without && f->op == Filter::Op::Equal) f->op = Filter::Op::NotEqual;
  if (without && f->op == Filter::Op::LessEqual) f->op = Filter::Op::Greater;
  shared_.filters.add(*f);
}

void TableView::menu(const QPoint& at) {
  const QModelIndex cell = table_->indexAt(at);
  if (!cell.isValid()) return;
  const int node = model_.node_at(cell.row());
  const sched::SearchNode* n = shared_.document.node(node);
  QMenu menu(this);
  const Column& c = model_.columns()[size_t(cell.column())];
  if (const auto f = n ? filter_like(shared_.document, *n, c) : std::nullopt) {
    menu.addAction(tr("Filter: %1").arg(to_string(*f)), this,
                   [this, cell = QPersistentModelIndex(cell)] { filter_by(cell, false); });
    if (f->op == Filter::Op::Equal || f->op == Filter::Op::LessEqual)
      menu.addAction(tr("Filter: all but these"), this,
                     [this, cell = QPersistentModelIndex(cell)] { filter_by(cell, true); });
    menu.addSeparator();
  }
  menu.addAction(
      shared_.document.pinned(node) ? tr("Take the pin away") : tr("Pin for comparison"), this,
      [this, node] { shared_.document.set_pinned(node, !shared_.document.pinned(node)); });
  menu.addAction(tr("Copy rows"), this, &TableView::copy);
  if (!shared_.selection.now().isolated.empty())
    menu.addAction(tr("Show all again"), this, [this] { shared_.selection.isolate({}); });
  menu.exec(table_->viewport()->mapToGlobal(at));
}

void TableView::header_menu(const QPoint& at) {
  QMenu menu(this);
  for (int c = 0; c < model_.columnCount(); ++c) {
    QAction* a = menu.addAction(model_.columns()[size_t(c)].title());
    a->setCheckable(true);
    a->setChecked(!table_->isColumnHidden(c));
    connect(a, &QAction::toggled, this, [this, c](bool on) {
      table_->setColumnHidden(c, !on);
      const QString id = model_.columns()[size_t(c)].id();
      if (on)
        hidden_.removeAll(id);
      else
        hidden_ << id;
    });
  }
  menu.exec(table_->horizontalHeader()->mapToGlobal(at));
}

void TableView::copy() {
  QStringList lines, head;
  for (const Column& c : model_.columns()) head << c.title();
  lines << head.join(QLatin1Char('\t'));
  const QModelIndexList rows = table_->selectionModel()->selectedRows();
  for (const QModelIndex& i : rows) {
    QStringList cells;
    for (int c = 0; c < model_.columnCount(); ++c) cells << i.siblingAtColumn(c).data().toString();
    lines << cells.join(QLatin1Char('\t'));
  }
  QApplication::clipboard()->setText(lines.join(QLatin1Char('\n')));
}

QList<QJsonObject> TableView::export_rows() const {
  QList<QJsonObject> out;
  for (int r = 0; r < model_.rowCount(); ++r) {
    const sched::SearchNode* n = shared_.document.node(model_.node_at(r));
    QJsonObject row;
    for (const Column& c : model_.columns()) {
      if (c.numeric()) {
        const double v = number_of(shared_.document, *n, c);
        row[c.id()] = std::isnan(v) ? QJsonValue() : QJsonValue(v);
      } else {
        const std::string_view t = text_of(*n, c);
        row[c.id()] = QString::fromUtf8(t.data(), qsizetype(t.size()));
      }
    }
    out << row;
  }
  return out;
}

void TableView::paint_picture(QPainter& p, const QRectF& page) {
  const Theme& theme = shared_.theme;
  p.fillRect(page, theme.background());
  p.setFont(theme.ui());
  const double height = QFontMetricsF(theme.ui()).height() + 6;
  QHeaderView* head = table_->horizontalHeader();
  double x = page.left();
  for (int v = 0; v < head->count() && x < page.right(); ++v) {
    const int c = head->logicalIndex(v);
    if (head->isSectionHidden(c)) continue;
    const double width = std::min<double>(head->sectionSize(c), page.right() - x);
    const auto cell = [&](double y, const QString& text, const QColor& colour, int align) {
      p.setPen(colour);
      p.drawText(QRectF(x + 4, y, width - 8, height), align | Qt::AlignVCenter,
                 QFontMetricsF(theme.ui()).elidedText(text, Qt::ElideRight, width - 8));
    };
    const int align = model_.columns()[size_t(c)].numeric() ? Qt::AlignRight : Qt::AlignLeft;
    cell(page.top(), model_.columns()[size_t(c)].title(), theme.muted(), align);
    double y = page.top() + height;
    for (int r = std::max(0, table_->rowAt(0));
         r < model_.rowCount() && y + height <= page.bottom(); ++r, y += height) {
      const QModelIndex i = model_.index(r, c);
      const QVariant colour = i.data(Qt::ForegroundRole);
      cell(y, i.data().toString(), colour.isValid() ? colour.value<QColor>() : theme.text(), align);
    }
    x += width;
  }
  p.setPen(theme.line());
  p.drawLine(QPointF(page.left(), page.top() + height), QPointF(page.right(), page.top() + height));
}

QJsonObject TableView::viewport() const {
  return {{"sort", model_.sort_id()},
          {"descending", model_.sort_order() == Qt::DescendingOrder},
          {"show", show_->currentIndex()},
          {"top", top_->value()},
          {"hidden", QJsonArray::fromStringList(hidden_)}};
}

void TableView::set_viewport(const QJsonObject& v) {
  hidden_.clear();
  for (const QJsonValue& h : v["hidden"].toArray()) hidden_ << h.toString();
  top_->setValue(v["top"].toInt(50));
  show_->setCurrentIndex(std::clamp(v["show"].toInt(), 0, 2));
  if (v.contains("sort"))
    model_.sort_by(v["sort"].toString(),
                   v["descending"].toBool() ? Qt::DescendingOrder : Qt::AscendingOrder);
  widths();
}

View* make_table_view(Shared shared, QWidget* parent) { return new TableView(shared, parent); }

}  // namespace nautilus::gui
