// All candidates as a table.
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QSpinBox>
#include <QTableView>

#include "gui/models/candidate_table.h"
#include "gui/views/view.h"

namespace nautilus::gui {

class TableView : public View {
  Q_OBJECT
 public:
  TableView(Shared shared, QWidget* parent);
  void paint_picture(QPainter& p, const QRectF& page) override;
  QList<QJsonObject> export_rows() const override;
  QJsonObject viewport() const override;
  void set_viewport(const QJsonObject& v) override;
  bool busy() const override { return model_.busy(); }

  CandidateTable& model() { return model_; }
  QTableView* table() { return table_; }
  // What the context menu of a cell does.
  void filter_by(const QModelIndex& cell, bool without);

 private:
  void build();
  void make_actions();
  void widths();
  void menu(const QPoint& at);
  void header_menu(const QPoint& at);
  void from_table();
  void from_selection(unsigned parts);
  void count();
  void copy();

  CandidateTable model_;
  QTableView* table_ = nullptr;
  QComboBox* show_ = nullptr;
  QSpinBox* top_ = nullptr;
  QLabel* count_ = nullptr;
  bool following_ = false;  // the selection changes the table, not the reverse
  QStringList hidden_;      // columns
};

}  // namespace nautilus::gui
