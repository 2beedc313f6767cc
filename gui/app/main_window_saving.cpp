// Saving, closing, and the copy that a crash leaves behind.
#include <QCloseEvent>
#include <QCoreApplication>
#include <QFileDialog>
#include <QMessageBox>
#include <QSettings>

#include "gui/app/main_window.h"
#include "gui/app/notes_panel.h"
#include "gui/app/screenshots.h"
#include "gui/app/start_page.h"
#include "gui/models/background.h"
#include "gui/models/snapshot.h"

namespace nautilus::gui {
namespace {

constexpr double kLeaveSeconds = 20;  // for the copies of a large session

}  // namespace

QString MainWindow::ask_file_name() {
  QString name = document_.file();
  if (name.isEmpty()) name = QString::fromStdString(document_.session().kernel) + ".nautilus.json";
  const QString file = QFileDialog::getSaveFileName(this, tr("Save the session"), name,
                                                    tr("Sessions (*.nautilus.json)"));
  return file.isEmpty() || file.endsWith(".json") ? file : file + ".nautilus.json";
}

void MainWindow::save_as() {
  const QString file = ask_file_name();
  if (!file.isEmpty()) save(file);
}

// Copied in slices, written on another thread; one after the other, so that the last one asked for
// is what the file holds.
void MainWindow::write(const QString& file, Written then) {
  const auto too_late = [this, file, then] {
    write_ended();
    then(Refusal{"save", file.toStdString(), "another document was opened", ""}, 0);
  };
  writes_.push_back([this, file, then, too_late, document = documents_] {
    if (document != documents_) return too_late();
    new Snapshot(
        document_,
        [this, file, then, too_late](std::shared_ptr<sched::Session> copy) {
          if (!copy) return too_late();
          copy->viewport = state_text();
          in_background<std::optional<Refusal>>(
              this,
              [copy = std::move(copy), file] {
                auto bad = sched::save_session(*copy, file.toStdString());
                if (!bad && RecoveryCopy::is_one(file)) RecoveryCopy::make_private(file);
                return bad;
              },
              [this, then, revision = document_.revision()](std::optional<Refusal> bad) {
                write_ended();
                then(bad, revision);
              });
        },
        this);
  });
  if (writes_.size() == 1) writes_.front()();
}

void MainWindow::write_ended() {
  writes_.pop_front();
  if (!writes_.empty()) QTimer::singleShot(0, this, writes_.front());
}

void MainWindow::save(const QString& file) {
  notes_->write();
  write(file, [this, file, document = documents_](std::optional<Refusal> bad, unsigned revision) {
    if (bad) {
      tell_problem(tr("Not saved"),
                   tr("%1\n\nNothing is lost: the session is still open here, and what the file "
                      "held before is unchanged. Save it elsewhere, or make room and try again.")
                       .arg(problem_text(*bad)));
    } else {
      remember(file);
      if (document == documents_) {  // else the file is of what was open before
        document_.set_saved(file, revision);
        forget_recovery();
      }
      say(tr("Saved %1").arg(file));
    }
    saved(!bad);
  });
}

// Asks about what is not saved; `then` runs unless the user cancels.
void MainWindow::when_safe(std::function<void()> then) {
  notes_->write();
  if (!document_.modified() || on_problem_) return then();
  auto* box =
      new QMessageBox(QMessageBox::Question, tr("Not saved"),
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
    forget_recovery();
    search_.drop();
    may_close_ = true;
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

// What is open was saved, or given up by who was asked.
void MainWindow::forget_recovery() { recovery_.remove_all(); }

// So that a crash costs at most a little: opened from the start page next time.
void MainWindow::autosave() {
  const unsigned now = document_.revision();
  if (!document_.modified() || !writes_.empty() || on_problem_ || now == copied_) return;
  if (document_.nodes().size() <= 1) return;
  if (!recovery_.claim())
    return say(
        tr("cannot keep a copy for recovery: no file can be made beside %1").arg(recovery_.file()));
  write(recovery_.file(),
        [this, document = documents_](std::optional<Refusal> bad, unsigned revision) {
          if (document != documents_) return recovery_.remove_own();
          if (!bad)
            copied_ = revision;
          else if (document_.modified())
            say(tr("cannot keep a copy for recovery: %1").arg(problem_text(*bad)));
          if (!document_.modified()) recovery_.remove_own();  // saved meanwhile
        });
}

// Ended from outside, so nobody is asked: what is not saved stays as a copy for recovery.
void MainWindow::leave() {
  notes_->write();
  const auto written = [this] { return writes_.empty(); };
  wait_until(kLeaveSeconds, written);
  autosave();
  wait_until(kLeaveSeconds, written);
  if (!on_start_page()) QSettings().setValue("layout", saveState());
  QCoreApplication::exit();
}

}  // namespace nautilus::gui
