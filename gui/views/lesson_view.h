// A lesson being played: text beside the other views, questions to predict before the program
// answers, transforms to apply. Numbers in the text come from the bench.
#pragma once

#include <QLabel>
#include <QListWidget>
#include <QProgressBar>
#include <QStackedWidget>
#include <QTextBrowser>
#include <set>

#include "gui/models/hand_steps.h"
#include "gui/models/lesson_run.h"
#include "gui/views/lesson_panel.h"
#include "gui/views/view.h"

namespace nautilus::gui {

class LessonView : public View {
  Q_OBJECT
 public:
  LessonView(Shared shared, QWidget* parent);
  Q_INVOKABLE bool play(const QString& name);  // false: there is no lesson of that name
  bool plays(const QString& name) const;       // now
  // From its first step, whatever was done.
  bool restart();
  const LessonRun& run() const { return run_; }
  void paint_picture(QPainter& p, const QRectF& page) override;
  QList<QJsonObject> export_rows() const override;
  bool busy() const override { return opening_ > 0 || !asking_.empty(); }
  void give_up() override;  // what is being prepared

  // What the key for going on does: predicts, applies, or goes to the next step.
  void go_on();
  void show_answer() { run_.give_up(); }  // without a prediction
  void show_lessons();

 Q_SIGNALS:
  // Why sizes and machine may not be changed while this lesson is played; "": they may.
  void locked(const QString& why);

 private:
  // What the bench says of a step.
  struct Facts {
    std::map<std::string, std::string> quoted;  // by to_string(LessonNumber)
    std::optional<LessonOutcome> asked;
    std::optional<LessonAnswer> answer;
    QString problem;
  };
  void make_pages();
  void make_actions();
  void list_lessons();
  // What is made in the background before a lesson begins.
  struct Prepared {
    Expected<sched::Session> session;
    std::shared_ptr<const sched::SearchResult> searched = {};  // what the lesson's search found
    LessonRun::Kept kept = {};
  };
  static Prepared prepare(const Lesson& l, LessonRun::Kept kept, std::atomic<bool>& stop);
  bool drop_preparation();
  void begin(Lesson l, Prepared made);
  void end();
  void enter_step();  // shows what the step shows, and asks the bench
  void ask(int step);
  void take(int step, Facts f);
  void refresh();  // the page, from the run
  void apply();
  void observe(int first, int last);
  void look_back();  // for what was done before it was asked for
  bool consider(int node, bool aloud, const LessonOutcome* came = nullptr);
  void look_into(int node, bool aloud);
  void say(const QString& text);
  QString page_text() const;  // Markdown of the step, with its numbers
  QString fill(const std::string& text, bool bold) const;
  int best_node() const;
  QString document_text() const;
  void open_link(const QUrl& link);
  HandSteps& hand();

  LessonRun run_;
  std::shared_ptr<const Lesson> lesson_;
  std::shared_ptr<const sched::SearchResult> searched_;
  std::vector<GlossaryEntry> glossary_;
  std::map<int, Facts> facts_;
  HandSteps* own_hand_ = nullptr;
  std::set<int> asking_;                         // steps that the bench works on
  std::map<std::string, LessonRun::Kept> kept_;  // lessons that were left in the middle
  int opening_ = 0, shown_step_ = -1;
  std::shared_ptr<std::atomic<bool>> stop_;  // of what is being prepared
  bool shown_after_ = false;
  bool replacing_ = false;

  QStackedWidget* pages_;
  QListWidget* lessons_;
  QLabel *head_, *locks_, *score_, *problem_;
  QProgressBar* bar_;
  QTextBrowser* text_;
  LessonPanel* panel_;
};

}  // namespace nautilus::gui
