// The candidates as a table: a row each, sorted here (not by a proxy, which would compare 100,000
// rows through QVariants), and only those that pass the filters. Many rows take their order in
// slices, between other events; until then the table is as before, or empty after a new document.
#pragma once

#include <QAbstractTableModel>
#include <QTimer>
#include <vector>

#include "gui/models/row_order.h"
#include "gui/models/slices.h"
#include "gui/models/theme.h"

namespace nautilus::gui {

class CandidateTable : public QAbstractTableModel {
  Q_OBJECT
 public:
  using Show = RowOrder::Show;
  enum Role { NodeRole = Qt::UserRole, NumberRole, ColumnIdRole };
  CandidateTable(const Document& d, const FilterStack& f, const Theme& theme,
                 QObject* parent = nullptr);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation o, int role = Qt::DisplayRole) const override;
  // Rows without a value come last, whichever the order.
  void sort(int column, Qt::SortOrder order = Qt::AscendingOrder) override;
  // By a column that may not be there yet.
  void sort_by(const QString& id, Qt::SortOrder order);

  const std::vector<Column>& columns() const { return columns_; }
  int column(const QString& id) const;  // -1: none
  int node_at(int row) const { return rows_[size_t(row)]; }
  int row_of(int node) const;  // -1: not shown
  Show show() const { return show_; }
  int top() const { return top_; }
  void set_show(Show s, int top = 50);  // `top`: so many of the least predicted times
  int sort_column() const { return column(sorted_); }  // -1: by number
  const QString& sort_id() const { return sorted_; }
  Qt::SortOrder sort_order() const { return order_; }
  bool busy() const { return slices_.busy(); }

 Q_SIGNALS:
  void rows_changed();  // which are shown, or their order

 private:
  void reload();  // columns and rows
  void fill();    // rows, from the beginning
  void fill_again();
  bool fill_step();
  void filled();
  void grow(int first, int last);
  void add_knobs(size_t first, size_t end);
  bool reorder(std::vector<int>& now);
  void changed(const QList<int>& ids);
  void index_rows();

  const Document& document_;
  const FilterStack& filters_;
  const Theme& theme_;
  std::vector<Column> columns_;
  std::vector<int> rows_;    // nodes
  std::vector<int> row_of_;  // by node
  Show show_ = Show::All;
  int top_ = 50;
  QString sorted_ = QStringLiteral("predicted");  // id of a column
  Qt::SortOrder order_ = Qt::AscendingOrder;
  RowOrder row_order_;
  size_t knobs_known_ = 0;  // candidates whose knobs are columns
  bool ordering_ = false;   // knobs are known, rows are being put in order
  bool once_more_ = false;  // what is shown changed since the filling began
  bool told_ = false;       // of the rows since the last reload
  Slices slices_;
  QTimer later_;  // rows that arrive are put in order four times a second
};

}  // namespace nautilus::gui
