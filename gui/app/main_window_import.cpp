// Measurements: imported, and offered for import where one was opened like a session.
#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <QPushButton>

#include "gui/app/main_window.h"
#include "gui/models/background.h"
#include "gui/models/measurement_rows.h"
#include "gui/models/measurements.h"
#include "gui/models/snapshot.h"

namespace nautilus::gui {

void MainWindow::browse_import() {
  const QString file =
      QFileDialog::getOpenFileName(this, tr("Import measurements"), {},
                                   tr("Stores (*.csv *.json *.sqlite *.db);;All files (*)"));
  if (!file.isEmpty()) import_measurements(file);
}

// A store may be large, and so may be what its rows are looked up in.
void MainWindow::import_measurements(const QString& file) {
  const int work = work_->begin(tr("importing %1").arg(QFileInfo(file).fileName()), [this] {
    say(tr("Given up: nothing was imported"));
    measurements_imported(-1);
  });
  const auto none = [this, work] {
    if (work_->end(work)) measurements_imported(-1);
  };
  new Snapshot(
      document_,
      [this, file, work, none, document = documents_](std::shared_ptr<sched::Session> copy) {
        if (!copy || !work_->going_on(work)) return none();
        const auto job = [copy, file]() -> Expected<Import> {
          const auto content = read_store(file.toStdString());
          if (!content) return content.error();
          return read_measurements(*content, *copy, QFileInfo(file).fileName().toStdString());
        };
        in_background<Expected<Import>>(this, job, [=, this](Expected<Import> found) {
          // Of another document, its rows are about candidates that are gone.
          if (document != documents_) return none();
          if (work_->end(work)) show_imported(file, found);
        });
      },
      this);
}

void MainWindow::show_imported(const QString& file, const Expected<Import>& found) {
  const QString name = QFileInfo(file).fileName();
  if (!found) {
    tell_problem(tr("Cannot import"),
                 tr("Nothing was imported from %1.\n%2").arg(name, problem_text(found.error())));
    measurements_imported(-1);
    return;
  }
  std::map<int, Measured> all;
  for (const MeasuredRow& r : found->rows) all[r.node] = r.measured;
  document_.set_measured(std::move(all));
  const auto rows = static_cast<int>(found->rows.size());
  if (rows == 0 && found->left_out == 0)
    tell_problem(tr("Measurements"),
                 tr("%1 has no rows: nothing was imported. A row has a time (seconds or ms) and "
                    "node or knobs.")
                     .arg(name));
  else if (found->left_out > 0)
    tell_problem(tr("Measurements"),
                 tr("%1: %2 imported, %3 left out.\n%4\n\nCorrect these rows in the file and "
                    "import it again, or open the session that they are about.")
                     .arg(name, rows == 1 ? tr("1 row") : tr("%1 rows").arg(rows))
                     .arg(found->left_out)
                     .arg(found->why));
  else
    say(tr("%1 imported from %2")
            .arg(rows == 1 ? tr("1 measurement") : tr("%1 measurements").arg(rows), name));
  measurements_imported(rows);
}

// Into what is open, where the store does not say that it is about something else; else into the
// operator that it is about.
void MainWindow::offer_import(const QString& file, const FoundStore& store) {
  const std::string kernel = store.about ? store.about->kernel : "";
  const bool here = !document_.empty() && (!store.about || kernel == document_.session().kernel);
  const QString what = tr("%1 is a measurement store (%2 with %3 rows): times of candidates, not a "
                          "session.")
                           .arg(QFileInfo(file).fileName(), store.kind)
                           .arg(store.rows);
  const QString target = QString::fromStdString(here ? document_.session().kernel : kernel);
  if (target.isEmpty() || !attended()) {
    tell_problem(tr("A measurement store"),
                 what + "\n\n" +
                     tr("Open the session or the operator that it is about, then import it (File, "
                        "Import measurements)."));
    return opened(false);
  }
  auto* box = new QMessageBox(QMessageBox::Question, tr("A measurement store"), what,
                              QMessageBox::Cancel, this);
  box->setObjectName("store");
  box->setAttribute(Qt::WA_DeleteOnClose);
  const QAbstractButton* agree =
      box->addButton(here ? tr("Import into %1").arg(target) : tr("Open %1 and import").arg(target),
                     QMessageBox::AcceptRole);
  connect(box, &QDialog::finished, this, [this, box, agree, here, file, store] {
    if (box->clickedButton() != agree) return opened(false);
    if (!here) return open_subject(*store.about, [this, file] { import_measurements(file); });
    import_measurements(file);
    opened(true);
  });
  box->open();
}

void MainWindow::open_subject(const StoreSubject& about, const std::function<void()>& then) {
  SpecRequest r;
  r.spec = about.kernel;
  r.sizes = about.sizes;
  if (machine_names().contains(QString::fromStdString(about.machine))) r.machine = about.machine;
  when_safe([this, r, then] { open_spec(r, then); });
}

}  // namespace nautilus::gui
