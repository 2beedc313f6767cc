// The schedule tree of the selected candidate, and transforms by hand.
#pragma once

#include <QMenu>

#include "gui/models/hand_steps.h"
#include "gui/models/sched_jobs.h"
#include "gui/views/view.h"

class QLabel;
class QSplitter;
class QToolButton;

namespace nautilus::gui {

class ScheduleCanvas;
class StepEditor;

class ScheduleView : public View {
  Q_OBJECT
 public:
  ScheduleView(Shared shared, QWidget* parent);
  void paint_picture(QPainter& p, const QRectF& page) override;
  QSizeF picture_size() const override;
  QList<QJsonObject> export_rows() const override;
  bool busy() const override { return waiting_tree_ || waiting_verdict_ || hand_->busy(); }

  // For those who steer a live search: it adds the nodes itself.
  HandSteps& hand_steps() { return *hand_; }
  ScheduleCanvas& canvas() { return *canvas_; }
  StepEditor& editor() { return *editor_; }
  QMenu* transform_menu() { return menu_; }

  void begin_transform(const QString& name);
  bool load_script(const QString& file);  // and replays it; says why not in the message line
  bool save_script(const QString& file);

 Q_SIGNALS:
  // A person wants this step below this candidate; its verdict is known (illegal ones too).
  void apply_requested(int node, const poly::TransformStep& step, const VerdictStory& verdict);
  void message(const QString& text);  // for a status line

 protected:
  void showEvent(QShowEvent*) override { ask_tree(); }
  // Undo and redo are shortcuts of the window, too: what is focused here takes the keys itself.
  bool event(QEvent* e) override;
  void keyPressEvent(QKeyEvent* e) override;

 private:
  QAction* own_action(const QKeyEvent& e) const;
  void make_actions();
  void make_undo_actions();
  void fill_menu();
  void ask_tree();
  void show_tree(const TreeAnswer& a);
  void on_selection(unsigned parts);
  void on_chosen(int id);
  void ask_verdict(const poly::TransformStep& step);
  void apply(const poly::TransformStep& step);
  void show_preview(bool on);
  void close_editor();
  void say(const QString& text, bool bad);
  int node() const { return shared_.selection.now().node; }

  HandSteps* hand_;
  ScheduleCanvas* canvas_;
  StepEditor* editor_;
  QSplitter* splitter_;
  QLabel* note_;
  QToolButton* transform_button_;
  QMenu* menu_;
  QAction *undo_, *redo_, *save_, *load_;
  TreePicture tree_;
  int shown_ = -2;       // the candidate whose tree is here
  std::string made_of_;  // of the candidate that is shown
  int told_ = -1;        // the candidate that the remark is about
  bool waiting_tree_ = false, waiting_verdict_ = false;
};

}  // namespace nautilus::gui
