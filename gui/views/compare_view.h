// Pinned candidates beside each other: figures, scripts, code.
#pragma once

#include <QAbstractTableModel>
#include <QComboBox>
#include <QLabel>
#include <QTabWidget>
#include <QTableView>

#include "gui/models/compare_data.h"
#include "gui/views/code_pane.h"
#include "gui/views/view.h"

namespace nautilus::gui {

// Figures as rows, candidates as columns; the first candidate is what the others are measured by.
class MetricTable : public QAbstractTableModel {
  Q_OBJECT
 public:
  MetricTable(const Theme& theme, QObject* parent) : QAbstractTableModel(parent), theme_(theme) {}
  void set(std::vector<Metric> metrics, QStringList titles);
  const std::vector<Metric>& metrics() const { return metrics_; }
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation o, int role = Qt::DisplayRole) const override;
  QColor shade(int row, size_t candidate) const;  // of the delta; invalid: none

 private:
  const Theme& theme_;
  std::vector<Metric> metrics_;
  QStringList titles_;
};

// Two texts in step, with what differs.
class DiffPanes : public QWidget {
  Q_OBJECT
 public:
  DiffPanes(const Theme& theme, QWidget* parent);
  void set(const PlanStagesPtr& left_plan, const Stage& left, const PlanStagesPtr& right_plan,
           const Stage& right);
  void step(int direction);  // to the next or previous difference
  int differences() const { return int(starts_.size()); }
  CodePane* left() { return left_; }
  CodePane* right() { return right_; }

 private:
  CodePane *left_ = nullptr, *right_ = nullptr;
  std::vector<int> starts_;  // rows where a difference starts
};

class CompareView : public View {
  Q_OBJECT
 public:
  CompareView(Shared shared, QWidget* parent);
  void paint_picture(QPainter& p, const QRectF& page) override;
  QList<QJsonObject> export_rows() const override;
  QJsonObject viewport() const override;
  void set_viewport(const QJsonObject& v) override;
  bool busy() const override { return asked_; }
  const std::vector<Compared>& compared() const { return compared_; }
  MetricTable& metrics() { return *metrics_; }
  DiffPanes* script() { return script_; }
  DiffPanes* code() { return code_; }
  QTabWidget* tabs() { return tabs_; }
  void show_stage(const QString& id);

 protected:
  void showEvent(QShowEvent* e) override;
  void resizeEvent(QResizeEvent* e) override;

 private:
  void build();
  void ask();
  void answer(std::vector<Compared> c);
  void fill_diffs();
  void fit_columns();
  void show_help();
  std::vector<int> nodes() const;
  QString title_of(int node) const;

  std::vector<Compared> compared_;
  std::vector<PlanStagesPtr> plans_;
  std::vector<int> asked_for_;
  MetricTable* metrics_ = nullptr;
  QTableView* table_ = nullptr;
  QTabWidget* tabs_ = nullptr;
  QLabel *help_ = nullptr, *count_ = nullptr;
  QComboBox *left_ = nullptr, *right_ = nullptr, *stage_ = nullptr;
  DiffPanes *script_ = nullptr, *code_ = nullptr;
  bool asked_ = false, stale_ = true;
};

}  // namespace nautilus::gui
