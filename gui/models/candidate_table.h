// The candidates as a table: a row each, sorted here (not by a proxy, which would compare 100,000
// rows through QVariants), and only those that pass the filters.
#pragma once

#include <QAbstractTableModel>
#include <QTimer>
#include <vector>

#include "gui/models/candidate_columns.h"
#include "gui/models/theme.h"

namespace nautilus::gui {

class CandidateTable : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum class Show : uint8_t { All, Top, Pareto };
  enum Role { NodeRole = Qt::UserRole, NumberRole, ColumnIdRole };
  CandidateTable(const Document& d, const FilterStack& f, const Theme& theme,
                 QObject* parent = nullptr);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation o, int role = Qt::DisplayRole) const override;
  // Rows without a value come last, whichever the order.
  void sort(int column, Qt::SortOrder order = Qt::AscendingOrder) override;

  const std::vector<Column>& columns() const { return columns_; }
  int column(const QString& id) const;  // -1: none
  int node_at(int row) const { return rows_[size_t(row)]; }
  int row_of(int node) const;  // -1: not shown
  Show show() const { return show_; }
  int top() const { return top_; }
  void set_show(Show s, int top = 50);  // `top`: so many of the least predicted times
  int sort_column() const { return sort_column_; }
  Qt::SortOrder sort_order() const { return order_; }

 Q_SIGNALS:
  void rows_changed();  // which are shown, or their order

 private:
  void reload();  // columns and rows
  void filter();  // rows
  void grow(int first, int last);
  void resort();
  void show_rows(std::vector<int> now);
  void changed(const QList<int>& ids);
  void index_rows();
  std::vector<int> wanted() const;
  std::vector<double> keys(const std::vector<int>& nodes) const;
  void order(std::vector<int>& nodes) const;

  const Document& document_;
  const FilterStack& filters_;
  const Theme& theme_;
  std::vector<Column> columns_;
  std::vector<int> rows_;    // nodes
  std::vector<int> row_of_;  // by node
  Show show_ = Show::All;
  int top_ = 50;
  int sort_column_ = -1;
  Qt::SortOrder order_ = Qt::AscendingOrder;
  QTimer later_;  // rows that arrive are put in order four times a second
};

}  // namespace nautilus::gui
