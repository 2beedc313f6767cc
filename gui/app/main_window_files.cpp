// Opening and exporting.
#include <QFileDialog>
#include <QFileInfo>
#include <QSettings>

#include "gui/app/exporting.h"
#include "gui/app/main_window.h"
#include "gui/app/start_page.h"

namespace nautilus::gui {
namespace {

constexpr int kMostRecent = 10;

}  // namespace

QString problem_text(const Refusal& r) {
  // Diagnostics of the spec reader are complete in themselves.
  return QString::fromStdString(r.asked.empty() ? r.why : r.text());
}

void MainWindow::browse() {
  const QString file = QFileDialog::getOpenFileName(
      this, tr("Open"), {},
      tr("All that opens (*.spec.cpp *.naut *.json);;Specs (*.spec.cpp);;Programs (*.naut);;"
         "Sessions (*.json);;All files (*)"));
  if (!file.isEmpty()) open(file);
}

void MainWindow::open(const QString& text, std::function<void()> then) {
  QString ignored;
  const Link link = link_from_string(text, &ignored);
  if (!ignored.isEmpty()) {
    const QString left_out = tr("left out of the link: %1").arg(ignored);
    attended() ? say(left_out) : tell_problem(tr("Link"), left_out);
  }
  if (link.file.isEmpty()) return open_here(link, then);
  const std::string machine = document_.empty() ? "h200" : document_.session().options.machine.id;
  open_in_background(
      tr("opening %1").arg(link.file),
      [path = link.file.toStdString(), machine] { return open_any(path, machine); },
      [this, link, then](Expected<Opened> found) {
        const bool replaces = found && !found->store;
        auto kept = std::make_shared<Expected<Opened>>(std::move(found));
        // While a question was open, another file may have been asked for.
        const auto show = [this, link, then, kept, asked = opening_] {
          if (asked == opening_ && show_opened(std::move(*kept), link) && then) then();
        };
        replaces ? when_safe(show) : show();
      });
}

// The last that was asked for is what is opened.
void MainWindow::open_in_background(const QString& what, std::function<Expected<Opened>()> job,
                                    std::function<void(Expected<Opened>)> done) {
  work_->end(opening_);
  opening_ = in_background<Expected<Opened>>(*work_, what, this, std::move(job), std::move(done),
                                             [this, what] {
                                               say(tr("Given up: %1").arg(what));
                                               opened(false);
                                             });
}

// A link without a file is about what is open.
void MainWindow::open_here(const Link& link, const std::function<void()>& then) {
  const bool something = !document_.empty() || !link.lesson.isEmpty();
  if (!something) tell_problem(tr("Cannot open"), tr("No file is named, and none is open."));
  const bool good = something && follow(link);
  if (good && then) then();
  opened(good);
}

void MainWindow::open_spec(const SpecRequest& request, std::function<void()> then) {
  open_in_background(
      tr("opening %1").arg(QString::fromStdString(request.spec)),
      [request]() -> Expected<Opened> {
        auto s = session_of(request);
        if (!s) return s.error();
        return Opened{*std::move(s), false, {}};
      },
      [this, then](Expected<Opened> found) {
        if (show_opened(std::move(found), {}) && then) then();
      });
}

bool MainWindow::show_opened(Expected<Opened> found, const Link& link) {
  if (!found) {
    tell_problem(tr("Cannot open"), problem_text(found.error()));
    opened(false);
    return false;
  }
  if (found->store) {
    offer_import(link.file, *found->store);
    return false;
  }
  forget_recovery();  // of what was open before
  const bool was_saved = found->was_saved, recovered = RecoveryCopy::is_one(link.file);
  stamp_ = found->stamp;
  sched::Session s = std::move(found->session);
  if (!s.result.note.empty()) say(QString::fromStdString(s.result.note));
  if (!was_saved) s.result.note.clear();
  document_.set_session(std::move(s), was_saved && !recovered ? link.file : QString());
  if (recovered) {
    recovery_.take_over(link.file);
    document_.set_unsaved();
  }
  show_start_page(false);
  if (was_saved) restore_state();
  if (!link.file.isEmpty() && !recovered) remember(link.file);
  if (link.node < 0 && selection_.now().node < 0 && !document_.nodes().empty())
    selection_.select(document_.best().empty() ? 0 : document_.best().front());
  follow({{}, link.node, link.view, link.lesson});
  opened(true);
  return true;
}

void MainWindow::remember(const QString& file) {
  const QString path = QFileInfo::exists(file) ? QFileInfo(file).absoluteFilePath() : file;
  QStringList recent = QSettings().value("recent").toStringList();
  recent.removeAll(path);
  recent.prepend(path);
  while (recent.size() > kMostRecent) recent.removeLast();
  QSettings().setValue("recent", recent);
  start_->set_recent(recent, RecoveryCopy::left_behind());
}

void MainWindow::browse_export(View* view) {
  if (!view) return tell_problem(tr("Export"), tr("No view is shown."));
  const QString file = QFileDialog::getSaveFileName(
      this, tr("Export %1").arg(view->title()), view->name() + ".svg",
      tr("SVG (*.svg);;PNG (*.png);;PDF (*.pdf);;Data as CSV (*.csv);;Data as JSON (*.json)"));
  if (!file.isEmpty()) export_view_to(*view, file);
}

void MainWindow::export_view_to(View& view, const QString& file) {
  if (auto bad = export_view(view, theme_, file))
    tell_problem(tr("Not exported"), problem_text(*bad));
  else
    say(tr("Wrote %1").arg(file));
}

void MainWindow::update_title() {
  const QString name = document_.empty() ? QString()
                       : document_.file().isEmpty()
                           ? QString::fromStdString(document_.session().kernel)
                           : QFileInfo(document_.file()).fileName();
  setWindowTitle(name.isEmpty() ? tr("Nautilus Explorer")
                                : name + "[*] — " + tr("Nautilus Explorer"));
  setWindowModified(document_.modified());
}

}  // namespace nautilus::gui
