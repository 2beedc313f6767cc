// Opening, saving, importing, exporting, closing.
#include <QCloseEvent>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <QSettings>
#include <QStandardPaths>

#include "autosched/file.h"
#include "gui/app/exporting.h"
#include "gui/app/main_window.h"
#include "gui/app/notes_panel.h"
#include "gui/app/start_page.h"
#include "gui/models/background.h"
#include "gui/models/measurements.h"

namespace nautilus::gui {
namespace {

constexpr int kMostRecent = 10;
QString text(const Refusal& r) {
  // Diagnostics of the spec reader are complete in themselves.
  return QString::fromStdString(r.asked.empty() ? r.why : r.text());
}

}  // namespace

void MainWindow::browse() {
  const QString file = QFileDialog::getOpenFileName(
      this, tr("Open"), {},
      tr("All that opens (*.spec.cpp *.naut *.json);;Specs (*.spec.cpp);;Programs (*.naut);;"
         "Sessions (*.json);;All files (*)"));
  if (!file.isEmpty()) open(file);
}

void MainWindow::open(const QString& text) {
  QString ignored;
  const Link link = link_from_string(text, &ignored);
  if (!ignored.isEmpty()) say(tr("left out of the link: %1").arg(ignored));
  if (link.file.isEmpty()) return follow(link);
  when_safe([this, link] {
    const int ticket = ++open_ticket_;
    ++opening_;
    say(tr("Opening %1 …").arg(link.file));
    const std::string machine = document_.empty() ? "h200" : document_.session().options.machine.id;
    in_background<Expected<sched::Session>>(
        this, [path = link.file.toStdString(), machine] { return open_any(path, machine); },
        [this, link, ticket](Expected<sched::Session> s) {
          --opening_;
          if (ticket == open_ticket_) show_opened(std::move(s), link);
        });
  });
}

void MainWindow::open_spec(const SpecRequest& request) {
  const int ticket = ++open_ticket_;
  ++opening_;
  in_background<Expected<sched::Session>>(
      this, [request] { return session_of(request); },
      [this, ticket](Expected<sched::Session> s) {
        --opening_;
        if (ticket == open_ticket_) show_opened(std::move(s), {});
      });
}

void MainWindow::show_opened(Expected<sched::Session> s, const Link& link) {
  if (!s) {
    tell_problem(tr("Cannot open"), text(s.error()));
    opened(false);
    return;
  }
  const bool is_session = link.file.endsWith(".json");
  const bool recovered = link.file == recovery_file();
  if (!s->result.note.empty()) say(QString::fromStdString(s->result.note));
  if (!is_session) s->result.note.clear();
  document_.set_session(*std::move(s), is_session && !recovered ? link.file : QString());
  show_start_page(false);
  if (is_session) restore_state();
  if (!link.file.isEmpty() && !recovered) remember(link.file);
  if (link.node < 0 && selection_.now().node < 0 && !document_.nodes().empty())
    selection_.select(document_.best().empty() ? 0 : document_.best().front());
  follow({{}, link.node, link.view, link.lesson});
  opened(true);
}

void MainWindow::remember(const QString& file) {
  const QString path = QFileInfo::exists(file) ? QFileInfo(file).absoluteFilePath() : file;
  QStringList recent = QSettings().value("recent").toStringList();
  recent.removeAll(path);
  recent.prepend(path);
  while (recent.size() > kMostRecent) recent.removeLast();
  QSettings().setValue("recent", recent);
  start_->set_recent(recent, {});
}

QString MainWindow::ask_file_name() {
  QString name = document_.file();
  if (name.isEmpty())
    name = QString::fromStdString(document_.session().kernel) + ".nautilus.json";
  const QString file = QFileDialog::getSaveFileName(this, tr("Save the session"), name,
                                                    tr("Sessions (*.nautilus.json)"));
  return file.isEmpty() || file.endsWith(".json") ? file : file + ".nautilus.json";
}

void MainWindow::save_as() {
  const QString file = ask_file_name();
  if (!file.isEmpty()) save(file);
}

void MainWindow::save(const QString& file) {
  notes_->write();
  ++saving_;
  auto copy = std::make_shared<const sched::Session>(session_with_state());
  in_background<std::optional<Refusal>>(
      this, [copy, path = file.toStdString()] { return sched::save_session(*copy, path); },
      [this, file, revision = document_.revision()](std::optional<Refusal> bad) {
        --saving_;
        if (bad) {
          tell_problem(tr("Not saved"),
                       tr("%1\n\nNothing is lost: the session is still open here, and what the file "
                          "held before is unchanged. Save it elsewhere, or make room and try again.")
                           .arg(text(*bad)));
        } else {
          if (revision == document_.revision()) document_.set_saved(file);
          remember(file);
          QFile::remove(recovery_file());
          say(tr("Saved %1").arg(file));
        }
        saved(!bad);
      });
}

void MainWindow::browse_import() {
  const QString file = QFileDialog::getOpenFileName(this, tr("Import measurements"), {},
                                                    tr("Stores (*.csv *.json);;All files (*)"));
  if (!file.isEmpty()) import_measurements(file);
}

void MainWindow::import_measurements(const QString& file) {
  const auto content = sched::read_file(file.toStdString());
  const auto found = content ? read_measurements(*content, document_.session(),
                                                 QFileInfo(file).fileName().toStdString())
                             : Expected<Import>(content.error());
  if (!found) return tell_problem(tr("Cannot import"), text(found.error()));
  for (const MeasuredRow& r : found->rows) document_.set_measured(r.node, r.measured);
  const auto rows = static_cast<int>(found->rows.size());
  if (rows == 0 || found->left_out > 0)
    tell_problem(tr("Measurements"), tr("%1 rows imported, %2 left out.\n%3")
                                         .arg(rows)
                                         .arg(found->left_out)
                                         .arg(found->why));
  else
    say(tr("%1 measurements imported").arg(rows));
  measurements_imported(rows);
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
    tell_problem(tr("Not exported"), text(*bad));
  else
    say(tr("Wrote %1").arg(file));
}

// Asks about what is not saved; `then` runs unless the user cancels.
void MainWindow::when_safe(std::function<void()> then) {
  notes_->write();
  if (!document_.modified() || on_problem_) return then();
  auto* box = new QMessageBox(
      QMessageBox::Question, tr("Not saved"),
      search_.phase() == LiveSearch::Phase::Running
          ? tr("A search is running, and the session is not saved. Save it first?")
          : tr("The session is not saved. Save it first?"),
      QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, this);
  box->setObjectName("unsaved");
  box->setAttribute(Qt::WA_DeleteOnClose);
  search_.pause();
  connect(box, &QMessageBox::buttonClicked, this, [this, box, then](QAbstractButton* b) {
    const auto which = box->standardButton(b);
    if (which == QMessageBox::Discard) return then();
    if (which != QMessageBox::Save) return;
    const QString file = document_.file().isEmpty() ? ask_file_name() : document_.file();
    if (file.isEmpty()) return;
    connect(
        this, &MainWindow::saved, this,
        [then](bool good) {
          if (good) then();
        },
        Qt::SingleShotConnection);
    save(file);
  });
  box->open();
}

void MainWindow::closeEvent(QCloseEvent* e) {
  if (may_close_ || !document_.modified() || on_problem_) {
    if (!on_start_page()) QSettings().setValue("layout", saveState());
    QFile::remove(recovery_file());
    search_.drop();
    e->accept();
    return;
  }
  e->ignore();
  if (findChild<QMessageBox*>("unsaved")) return;
  when_safe([this] {
    may_close_ = true;
    close();
  });
}

QString MainWindow::recovery_file() const {
  return QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) +
         "/recovered.nautilus.json";
}

// So that a crash costs at most a little: opened from the start page next time.
void MainWindow::autosave() {
  if (!document_.modified() || saving_ > 0 || document_.nodes().size() <= 1) return;
  QDir().mkpath(QFileInfo(recovery_file()).path());
  ++saving_;
  auto copy = std::make_shared<const sched::Session>(session_with_state());
  in_background<std::optional<Refusal>>(
      this,
      [copy, path = recovery_file().toStdString()] { return sched::save_session(*copy, path); },
      [this](std::optional<Refusal> bad) {
        --saving_;
        if (bad) say(tr("cannot keep a copy for recovery: %1").arg(text(*bad)));
      });
}

void MainWindow::update_title() {
  const QString name = document_.empty()          ? QString()
                       : document_.file().isEmpty() ? QString::fromStdString(document_.session().kernel)
                                                    : QFileInfo(document_.file()).fileName();
  setWindowTitle(name.isEmpty() ? tr("Nautilus Explorer")
                                : name + "[*] — " + tr("Nautilus Explorer"));
  setWindowModified(document_.modified());
}

}  // namespace nautilus::gui
