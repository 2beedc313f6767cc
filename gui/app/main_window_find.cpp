// The palette (Ctrl+P), find (Ctrl+F), the key sheet (?), lessons.
#include <QFile>
#include <QLineEdit>
#include <QRegularExpression>
#include <algorithm>

#include "compiler/driver/common.h"
#include "gui/app/key_sheet.h"
#include "gui/app/main_window.h"
#include "gui/app/palette.h"
#include "gui/app/start_page.h"
#include "gui/app/view_dock.h"
#include "gui/models/lesson.h"
#include "gui/views/lesson_view.h"

namespace nautilus::gui {
namespace {

template <class T>
void best_first(QList<std::pair<int, T>>& found, int most) {
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (found.size() > most) found.resize(most);
}

}  // namespace

void MainWindow::show_palette() {
  const auto find = [this](const QString& text, int most) {
    QList<std::pair<int, PaletteEntry>> found;
    for (const Commands::Command& c : commands_.all()) {
      if (!c.action->isEnabled()) continue;
      QString words = c.action->text();
      words = c.group + ": " + words.remove('&');
      if (const int q = match_quality(words + " " + c.action->statusTip(), text))
        found << std::pair(
            q, PaletteEntry{words, c.action->shortcut().toString(QKeySequence::NativeText),
                            [a = c.action] { a->trigger(); }});
    }
    if (!text.isEmpty() && !document_.empty())
      found << std::pair(0, PaletteEntry{tr("Find “%1” among the candidates").arg(text),
                                         {},
                                         [this, text] { show_find(text); }});
    best_first(found, most);
    QList<PaletteEntry> out;
    for (auto& [q, e] : found) out << e;
    return out;
  };
  auto* p = new Palette(tr("Commands"), tr("Type what you want to do"), find, this);
  p->setObjectName("palette");
  p->open();
}

void MainWindow::show_find(const QString& first) {
  const auto find = [this](const QString& text, int most) {
    QList<PaletteEntry> out;
    if (text.isEmpty()) return out;
    QString number = text;
    bool is_number = false;
    const int id = number.remove('#').toInt(&is_number);
    const auto entry = [this](const sched::SearchNode& n) {
      QString detail = Theme::glyph(n.state) + " " + Theme::state_words(n.state);
      if (n.seconds > 0) detail += ", " + QString::fromStdString(driver::human_time(n.seconds));
      return PaletteEntry{QString::number(n.id) + "  " + QString::fromStdString(n.decision), detail,
                          [this, id = n.id] { selection_.select(id); }};
    };
    if (is_number && document_.node(id)) out << entry(*document_.node(id));
    for (const QString& statement : statements())
      if (match_quality(statement, text))
        out << PaletteEntry{tr("Statement %1").arg(statement), {}, [this, statement] {
                              selection_.select_statement(statement);
                            }};
    const Filter has{Filter::Field::Text, Filter::Op::Contains, {}, text};
    for (const sched::SearchNode& n : document_.nodes()) {
      if (out.size() >= most) break;
      if (meets(has, document_, n)) out << entry(n);
    }
    return out;
  };
  auto* p =
      new Palette(tr("Find candidates"),
                  tr("A number, or words of a decision, reason, transform or note"), find, this);
  p->setObjectName("find");
  p->line()->setText(first);
  p->open();
}

QStringList MainWindow::statements() const {
  static const QRegularExpression form(R"(^statement (\w+))", QRegularExpression::MultilineOption);
  QStringList out;
  auto found = form.globalMatch(QString::fromStdString(document_.session().program_naut));
  while (found.hasNext()) out << found.next().captured(1);
  return out;
}

void MainWindow::show_keys() {
  auto* sheet = new KeySheet(commands_, this);
  sheet->setObjectName("keys");
  sheet->open();
}

bool MainWindow::start_lesson(const QString& name) {
  auto* player = dynamic_cast<LessonView*>(view("lesson"));
  const auto lesson = load_lesson(lessons_dir(), name.toStdString());
  if (!player) return false;
  if (!lesson) {
    QStringList names;
    for (const std::string& known : lesson_names(lessons_dir()))
      names << QString::fromStdString(known);
    tell_problem(tr("Lesson"),
                 tr("The lesson '%1' cannot be played: %2\nThere are: %3.")
                     .arg(name, QString::fromStdString(lesson.error().text()), names.join(", ")));
    return false;
  }
  const auto play = [this, player, name] {
    show_start_page(false);
    reveal("lesson");
    player->play(name);
  };
  if (player->plays(name))
    play();  // goes on; nothing is replaced
  else
    when_safe(play);
  return true;
}

}  // namespace nautilus::gui
