// The code of the selected candidate at every stage, panes side by side.
#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QSplitter>
#include <QToolButton>
#include <memory>
#include <set>

#include "gui/views/code_pane.h"
#include "gui/views/view.h"

namespace nautilus::gui {

class CodeView : public View {
  Q_OBJECT
 public:
  CodeView(Shared shared, QWidget* parent);
  void paint_picture(QPainter& p, const QRectF& page) override;
  QList<QJsonObject> export_rows() const override;
  QJsonObject viewport() const override;
  void set_viewport(const QJsonObject& v) override;
  bool busy() const override { return asked_ || !making_.empty(); }
  void give_up() override;  // what the CUDA toolkit is at

  const PlanStages* plan() const { return plan_.get(); }
  int pane_count() const { return int(panes_.size()); }
  CodePane* pane(int n) const { return panes_[size_t(n)].text; }
  int active() const { return active_; }
  void show_stage(int pane, const QString& id);
  void add_pane(const QString& id);
  void close_pane(int n);
  void step_pass(int direction);  // the active pane to the next or previous pass
  void set_diff(bool on);         // of the active pane

 protected:
  void showEvent(QShowEvent* e) override;
  void resizeEvent(QResizeEvent* e) override;

 private:
  struct Pane {
    QWidget* box = nullptr;
    QLabel* head = nullptr;
    QToolButton *diff = nullptr, *close = nullptr;
    CodePane* text = nullptr;
    QString stage;
    bool changes = false;
  };
  void build();
  void make_actions();
  void ask();
  void answer(PlanStagesPtr made);
  void fill(Pane& p);
  void fill_list();
  void size_list();
  void fill_notes();
  void make_on_demand(const Stage& s);
  static QString given_up_text();
  const Stage* before(const Stage& s) const;
  void set_active(int n);
  void light();
  void find(bool forward);

  PlanStagesPtr plan_;
  std::vector<Pane> panes_;
  int active_ = 0;
  bool asked_ = false, stale_ = true;
  std::set<std::pair<int, QString>> making_;  // stages, each with the count of plans_
  std::shared_ptr<std::atomic<bool>> stop_;   // of what is being made
  bool waived_ = false;  // assembly is not wanted until a stage is chosen or another plan asked for
  int plans_ = 0;        // counts them: what was made for another comes too late
  Focus hovered_;
  QListWidget* list_ = nullptr;
  QSplitter *outer_ = nullptr, *splitter_ = nullptr;
  bool sized_by_hand_ = false;
  QLineEdit* find_ = nullptr;
  QLabel *found_ = nullptr, *notes_ = nullptr, *changed_ = nullptr;
};

}  // namespace nautilus::gui
