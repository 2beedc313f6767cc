// Saving, closing, and the copy that a crash leaves behind.
#include <QCloseEvent>
#include <QCoreApplication>
#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <QPushButton>
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

// While a box asked, what it was about went.
QString MainWindow::another_document() {
  return tr("Not saved: another document was opened meanwhile");
}

QString MainWindow::ask_file_name() {
  QString name = document_.file();
  if (name.isEmpty()) name = QString::fromStdString(document_.session().kernel) + ".nautilus.json";
  const int document = documents_;
  const QString file = QFileDialog::getSaveFileName(this, tr("Save the session"), name,
                                                    tr("Sessions (*.nautilus.json)"));
  if (document != documents_) return say(another_document()), QString();
  return file.isEmpty() || file.endsWith(".json") ? file : file + ".nautilus.json";
}

void MainWindow::save_as() {
  const QString file = ask_file_name();
  if (!file.isEmpty()) save(file);
}

MainWindow::Written MainWindow::write_now(const WriteJob& job, const sched::Session& session) {
  Written out;
  sched::WriteOptions how{RecoveryCopy::is_one(job.file), job.given_up.get()};
  if (job.expected)
    how.keep_old = [&] {
      const FileStamp now = FileStamp::of(job.file);
      return out.changed_by_another = now.there && now != *job.expected;
    };
  out.bad = sched::save_session(session, job.file.toStdString(), how);
  if (out.changed_by_another)
    out.bad = Refusal{"save", job.file.toStdString(), "another program changed the file",
                      "save under another name"};
  out.given_up = out.bad && job.given_up->load();
  out.stamp = FileStamp::of(job.file);
  return out;
}

// Copied in slices, written on another thread; one after the other, so that the last one asked for
// is what the file holds.
void MainWindow::write(WriteJob job) {
  const auto over = [this, job](Written w) {
    write_ended();
    job.then(std::move(w));
  };
  const auto too_late = [job, over] {
    Written w;
    w.given_up = job.given_up->load();
    w.bad = Refusal{"save", job.file.toStdString(),
                    w.given_up ? "it was given up" : "another document was opened", ""};
    over(std::move(w));
  };
  writes_.push_back([this, job, over, too_late, document = documents_]() mutable {
    if (document != documents_) {
      const auto end = too_late;  // of which this is a part that goes
      return end();
    }
    if (!job.overwrite && job.file == document_.file()) job.expected = stamp_;
    new Snapshot(
        document_,
        [this, job, over, too_late](std::shared_ptr<sched::Session> copy) {
          if (!copy || job.given_up->load()) return too_late();
          copy->viewport = state_text();
          in_background<Expected<Written>>(
              this,
              [copy = std::move(copy), job]() -> Expected<Written> {
                return write_now(job, *copy);
              },
              [over, job, revision = document_.revision()](Expected<Written> w) {
                Written out;
                if (w)
                  out = *std::move(w);
                else
                  out.bad = Refusal{"save", job.file.toStdString(), w.error().why,
                                    "save under another name"};
                out.revision = revision;
                over(std::move(out));
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

void MainWindow::save(const QString& file) { save(file, false); }

void MainWindow::save(const QString& file, bool overwrite) {
  notes_->write();
  WriteJob job;
  job.file = file;
  job.overwrite = overwrite;
  const int work =
      work_->begin(tr("saving %1").arg(file), [given_up = job.given_up] { given_up->store(true); });
  job.then = [this, file, work, document = documents_](const Written& w) {
    work_->end(work);
    save_ended(file, w, document == documents_);
  };
  write(std::move(job));
}

void MainWindow::save_ended(const QString& file, const Written& w, bool same_document) {
  if (w.changed_by_another && same_document && attended()) return ask_about_changed_file(file);
  if (w.given_up) {
    say(tr("Given up: %1 is as it was before").arg(file));
  } else if (w.bad) {
    tell_problem(tr("Not saved"),
                 same_document
                     ? tr("%1\n\nNothing is lost: the session is still open here, and what the "
                          "file held before is unchanged. Save it elsewhere, or try again.")
                           .arg(problem_text(*w.bad))
                     : tr("%1\n\nIt was to hold a session that is not open any more; what the "
                          "file held before is unchanged.")
                           .arg(problem_text(*w.bad)));
  } else {
    remember(file);
    if (same_document) {  // else the file is of what was open before
      stamp_ = w.stamp;
      document_.set_saved(file, w.revision);
      forget_recovery();
    }
    say(tr("Saved %1").arg(file));
  }
  saved(!w.bad);
}

// `saved` says what came of it in the end.
void MainWindow::ask_about_changed_file(const QString& file) {
  auto* box = new QMessageBox(
      QMessageBox::Warning, tr("Changed by another program"),
      tr("%1 was changed since this session was read from it or saved to it. Overwriting it loses "
         "what the other program wrote.")
          .arg(file),
      QMessageBox::Cancel, this);
  box->setObjectName("changed-file");
  box->setAttribute(Qt::WA_DeleteOnClose);
  QAbstractButton* overwrite = box->addButton(tr("Overwrite"), QMessageBox::DestructiveRole);
  QAbstractButton* elsewhere = box->addButton(tr("Save as…"), QMessageBox::AcceptRole);
  connect(box, &QDialog::finished, this,
          [this, box, overwrite, elsewhere, file, document = documents_] {
            const QAbstractButton* chosen = box->clickedButton();
            if (document != documents_) {
              say(another_document());
              return saved(false);
            }
            if (chosen == overwrite) return save(file, true);
            const QString other = chosen == elsewhere ? ask_file_name() : QString();
            if (other.isEmpty()) return saved(false);
            save(other, true);
          });
  box->open();
}

// Asks about what is not saved; `then` runs unless the user cancels.
void MainWindow::when_safe(std::function<void()> then) {
  notes_->write();
  if (!document_.modified() || !attended()) return then();
  auto* box =
      new QMessageBox(QMessageBox::Question, tr("Not saved"),
                      search_.phase() == LiveSearch::Phase::Running
                          ? tr("A search is running, and the session is not saved. Save it first?")
                          : tr("The session is not saved. Save it first?"),
                      QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, this);
  box->setObjectName("unsaved");
  box->setAttribute(Qt::WA_DeleteOnClose);
  search_.pause();
  connect(box, &QMessageBox::buttonClicked, this,
          [this, box, then, document = documents_](QAbstractButton* b) {
            const auto which = box->standardButton(b);
            if (which != QMessageBox::Cancel && document != documents_) return when_safe(then);
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
  if (may_close_ || !document_.modified() || !attended()) {
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

// What is open was saved, or given up by who was asked, and with it a copy under way.
void MainWindow::forget_recovery() {
  if (const auto give_up = copying_.lock()) give_up->store(true);
  recovery_.remove_all();
}

// So that a crash costs at most a little: opened from the start page next time.
void MainWindow::autosave() {
  const unsigned now = document_.revision();
  if (!document_.modified() || !writes_.empty() || !attended() || now == copied_) return;
  if (!recovery_.claim())
    return say(tr("No copy is kept for recovery: no file can be made in %1. Save the session.")
                   .arg(QFileInfo(recovery_.file()).absolutePath()));
  WriteJob job;
  job.file = recovery_.file();
  copying_ = job.given_up;
  job.then = [this, given_up = job.given_up, document = documents_](const Written& w) {
    // A write that was past giving up: its file is of what nobody wants any more.
    if (document != documents_ || given_up->load()) return recovery_.remove_own();
    if (!w.bad)
      copied_ = w.revision;
    else if (document_.modified())
      say(tr("No copy is kept for recovery (%1). Save the session.").arg(problem_text(*w.bad)));
    if (!document_.modified()) recovery_.remove_own();  // saved meanwhile
  };
  write(std::move(job));
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
