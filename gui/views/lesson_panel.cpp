#include "gui/views/lesson_panel.h"

#include <QHBoxLayout>
#include <QRadioButton>
#include <QStyle>

namespace nautilus::gui {
namespace {

QLabel* wrapped(QWidget* parent) {
  auto* l = new QLabel(parent);
  l->setWordWrap(true);
  l->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return l;
}

QPushButton* button(const QString& text, const QString& tip, QWidget* parent) {
  auto* b = new QPushButton(text, parent);
  b->setToolTip(tip);
  b->setAccessibleDescription(tip);
  b->setAutoDefault(false);
  return b;
}

// Buttons do not wrap by themselves.
QString in_lines(const QString& text, const QFontMetrics& m, int width) {
  QString out, line;
  for (const QString& word : text.split(u' ')) {
    const QString longer = line.isEmpty() ? word : line + u' ' + word;
    if (!line.isEmpty() && m.horizontalAdvance(longer) > width) {
      out += line + u'\n';
      line = word;
    } else {
      line = longer;
    }
  }
  return out + line;
}

// A verdict's reason, as far as there is room for it.
QString shortened(const std::string& reason) {
  constexpr qsizetype kRoom = 220;
  const QString all = QString::fromStdString(reason);
  if (all.size() <= kRoom) return all;
  const qsizetype end = all.lastIndexOf(' ', kRoom);
  return all.left(end < 0 ? kRoom : end) + QObject::tr(" … (all of it in Why)");
}

}  // namespace

QString transform_words(const LessonTransform& t) {
  QString out = QString::fromStdString(t.name), rest;
  for (auto& [key, value] : t.params.items()) {
    const QString v =
        QString::fromStdString(value.is_string() ? value.get<std::string>() : value.dump());
    if (key == "node")
      out += " " + (v == "root" ? QObject::tr("the whole program") : QObject::tr("the %1").arg(v));
    else
      rest += (rest.isEmpty() ? ": " : ", ") + QString::fromStdString(key) + " " + v;
  }
  return out + rest;
}

LessonPanel::LessonPanel(const LessonRun& run, const Theme& theme, Fill fill, QWidget* parent)
    : QWidget(parent), run_(run), theme_(theme), fill_(std::move(fill)) {
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);

  question_ = new QGroupBox(tr("Predict"), this);
  auto* q = new QVBoxLayout(question_);
  question_text_ = wrapped(question_);
  q->addWidget(question_text_);
  choices_ = new QVBoxLayout;
  q->addLayout(choices_);
  group_ = new QButtonGroup(this);
  number_row_ = new QWidget(question_);
  auto* row = new QHBoxLayout(number_row_);
  row->setContentsMargins(0, 0, 0, 0);
  number_ = new QLineEdit(number_row_);
  number_->setObjectName("lesson-number");
  number_->setPlaceholderText(tr("64, 1.5e6, 12 k, 3/4"));
  number_->setToolTip(tr("Your prediction; Enter says it"));
  number_->setAccessibleName(tr("Your prediction"));
  unit_ = new QLabel(number_row_);
  row->addWidget(number_, 1);
  row->addWidget(unit_);
  q->addWidget(number_row_);
  auto* buttons = new QHBoxLayout;
  predict_ = button(tr("&Predict"), tr("Say your prediction; then the program answers"), this);
  predict_->setObjectName("lesson-predict");
  show_ = button(tr("&Show me"), tr("See the answer without a prediction"), this);
  show_->setObjectName("lesson-show");
  buttons->addWidget(predict_);
  buttons->addWidget(show_);
  buttons->addStretch(1);
  q->addLayout(buttons);
  judgement_ = wrapped(question_);
  judgement_->setAccessibleName(tr("Answer"));
  q->addWidget(judgement_);
  all->addWidget(question_);

  task_ = new QGroupBox(tr("Do"), this);
  auto* t = new QVBoxLayout(task_);
  task_text_ = wrapped(task_);
  t->addWidget(task_text_);
  apply_ = button(tr("&Do it for me"),
                  tr("Apply this transform; you can also do it in the schedule view"), this);
  apply_->setObjectName("lesson-apply");
  t->addWidget(apply_, 0, Qt::AlignLeft);
  all->addWidget(task_);

  hint_ = wrapped(this);
  hint_->setObjectName("lesson-hint");
  hint_->setAccessibleName(tr("Hint"));
  all->addWidget(hint_);

  auto* foot = new QHBoxLayout;
  back_ = button(tr("‹ &Back"), tr("The step before"), this);
  back_->setObjectName("lesson-back");
  next_ = button(tr("&Next ›"), tr("The next step (Ctrl+Return)"), this);
  next_->setObjectName("lesson-next");
  foot->addWidget(back_);
  foot->addStretch(1);
  foot->addWidget(next_);
  all->addLayout(foot);

  connect(predict_, &QPushButton::clicked, this, &LessonPanel::predict_wanted);
  connect(number_, &QLineEdit::returnPressed, this, &LessonPanel::predict_wanted);
  connect(show_, &QPushButton::clicked, this, &LessonPanel::answer_wanted);
  connect(apply_, &QPushButton::clicked, this, &LessonPanel::apply_wanted);
  connect(back_, &QPushButton::clicked, this, &LessonPanel::back_wanted);
  connect(next_, &QPushButton::clicked, this, &LessonPanel::next_wanted);
}

// The choices of the step in hand; what is typed stays while the step does.
void LessonPanel::fill_question() {
  const auto& q = run_.step().question;
  if (q) {
    question_text_->setText(fill_(q->text));
    unit_->setText(QString::fromStdString(q->unit));
    number_row_->setVisible(q->kind == LessonQuestion::Kind::Number);
  }
  const std::string now = run_.lesson().name + "/" + run_.step().id;
  if (question_of_ != now) make_choices();
  question_of_ = now;
  fill_choices();
}

void LessonPanel::fill_choices() {
  const QStyle& s = *style();
  const int taken = s.pixelMetric(QStyle::PM_ExclusiveIndicatorWidth) +
                    s.pixelMetric(QStyle::PM_RadioButtonLabelSpacing) +
                    4 * s.pixelMetric(QStyle::PM_LayoutLeftMargin);
  for (QAbstractButton* b : group_->buttons()) {
    const int k = group_->id(b);
    const QString text = fill_(run_.step().question->choices[static_cast<size_t>(k)].text);
    b->setText(in_lines(QString("&%1  %2").arg(k + 1).arg(QString(text).replace("&", "&&")),
                        b->fontMetrics(), width() - taken));
    b->setAccessibleName(text);
  }
}

void LessonPanel::resizeEvent(QResizeEvent* e) {
  QWidget::resizeEvent(e);
  // Buttons of the step before are filled anew when it is shown.
  if (run_.playing() && question_of_ == run_.lesson().name + "/" + run_.step().id) fill_choices();
}

void LessonPanel::make_choices() {
  number_->clear();
  for (QAbstractButton* b : group_->buttons()) {
    group_->removeButton(b);
    delete b;
  }
  const auto& q = run_.step().question;
  if (!q || q->kind == LessonQuestion::Kind::Number) return;
  for (int k = 0; k < static_cast<int>(q->choices.size()); ++k) {
    auto* b = new QRadioButton(question_);
    b->setToolTip(tr("Choose this (Alt+%1)").arg(k + 1));
    group_->addButton(b, k);
    choices_->addWidget(b);
  }
}

void LessonPanel::refresh(const QString& hint) {
  using Phase = LessonRun::Phase;
  if (!run_.playing()) return;
  fill_question();
  const LessonStep& s = run_.step();
  const Phase phase = run_.phase();
  const LessonRun::Progress& p = run_.progress(run_.at());
  question_->setVisible(s.question.has_value());
  const bool open = phase == Phase::Predict;
  number_->setEnabled(open);
  for (QAbstractButton* b : group_->buttons()) b->setEnabled(open);
  if (!open && p.guess && s.question && s.question->kind != LessonQuestion::Kind::Number)
    if (QAbstractButton* b = group_->button(static_cast<int>(*p.guess))) b->setChecked(true);
  if (!open && !p.guess && p.answer && (!s.transform || p.node >= 0))
    if (QAbstractButton* b = group_->button(p.answer->choice)) b->setChecked(true);
  predict_->setVisible(open);
  show_->setVisible(open);
  // A verdict is revealed by doing it.
  const bool revealed = s.question && p.answer && !open && (!s.transform || p.node >= 0);
  judgement_->setVisible(revealed || phase == Phase::Wait);
  if (revealed) {
    const bool right = run_.right(run_.at());
    const QString glyph = right        ? QStringLiteral("✓")
                          : p.given_up ? QStringLiteral("→")
                                       : QStringLiteral("✗");
    const QColor c = right ? theme_.good() : p.given_up ? theme_.accent() : theme_.bad();
    QString more;
    for (size_t k = 0; k < p.answer->said.size() && s.question->choices.size() > k; ++k)
      more += QString("<br>&nbsp;&nbsp;%1: %2")
                  .arg(fill_(s.question->choices[k].text).toHtmlEscaped(),
                       QString::fromStdString(p.answer->said[k]).toHtmlEscaped());
    judgement_->setText(QString("<span style='color:%1'><b>%2</b> %3</span>%4")
                            .arg(c.name(), glyph,
                                 fill_(run_.judgement(run_.at()).toStdString()).toHtmlEscaped(),
                                 more));
  } else if (phase == Phase::Wait) {
    judgement_->setText(tr("The program computes the answer …"));
  }
  task_->setVisible(s.transform.has_value());
  if (s.transform) {
    QString words = transform_words(*s.transform);
    if (p.node >= 0) {
      const bool illegal = p.outcome.verdict == "illegal";
      const QString verdict = QString::fromStdString(p.outcome.verdict);
      const QColor c = illegal                           ? theme_.bad()
                       : p.outcome.verdict == "repaired" ? theme_.warning()
                                                         : theme_.good();
      words = QString("%1<br><span style='color:%2'><b>%3 %4</b></span>")
                  .arg(words.toHtmlEscaped(), c.name(), illegal ? "✗" : "✓", verdict);
      if (!p.outcome.reason.empty()) words += ": " + shortened(p.outcome.reason).toHtmlEscaped();
    } else {
      words = words.toHtmlEscaped();
    }
    task_text_->setText(words);
    apply_->setVisible(p.node < 0);
    apply_->setEnabled(phase == Phase::Do && run_.asked(run_.at()));
  }
  hint_->setVisible(!hint.isEmpty());
  hint_->setText(hint);
  back_->setEnabled(run_.at() > 0);
  const bool last = run_.at() + 1 == run_.count();
  next_->setText(last ? tr("Other &lessons") : tr("&Next ›"));
  next_->setEnabled(run_.can_go_next() || (last && phase == Phase::Done));
}

void LessonPanel::focus_first() {
  if (number_row_->isVisible() && number_->isEnabled())
    number_->setFocus();
  else if (!group_->buttons().isEmpty() && group_->buttons().first()->isEnabled() &&
           question_->isVisible())
    group_->buttons().first()->setFocus();
  else if (apply_->isVisible() && apply_->isEnabled())
    apply_->setFocus();
  else
    next_->setFocus();
}

}  // namespace nautilus::gui
