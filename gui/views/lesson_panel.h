// What a step wants: a prediction, a transform, or just to go on.
#pragma once

#include <QButtonGroup>
#include <QGroupBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/models/lesson_run.h"
#include "gui/models/theme.h"

namespace nautilus::gui {

class LessonPanel : public QWidget {
  Q_OBJECT
 public:
  // `fill`: puts what was computed into texts that quote it.
  using Fill = std::function<QString(const std::string&)>;
  LessonPanel(const LessonRun& run, const Theme& theme, Fill fill, QWidget* parent);
  void refresh(const QString& hint);
  // What is typed or chosen now: a number's text, or the choice (-1: none).
  QString typed() const { return number_->text(); }
  int chosen() const { return group_->checkedId(); }
  void focus_first();

 Q_SIGNALS:
  void predict_wanted();
  void answer_wanted();
  void apply_wanted();
  void back_wanted();
  void next_wanted();

 protected:
  void resizeEvent(QResizeEvent* e) override;

 private:
  void fill_question();
  void fill_choices();
  void make_choices();
  const LessonRun& run_;
  const Theme& theme_;
  const Fill fill_;
  std::string question_of_;  // the lesson and step whose question is filled in
  QGroupBox *question_, *task_;
  QLabel *question_text_, *unit_, *judgement_, *task_text_, *hint_;
  QLineEdit* number_;
  QWidget* number_row_;
  QVBoxLayout* choices_;
  QButtonGroup* group_;
  QPushButton *predict_, *show_, *apply_, *back_, *next_;
};

// "tile S_C_acc: sizes [64, 64, 0]": a request in words.
QString transform_words(const LessonTransform& t);

}  // namespace nautilus::gui
