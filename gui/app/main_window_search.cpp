// Steering the search.
#include <QLabel>
#include <QLocale>
#include <QStatusBar>

#include "gui/app/explore_bar.h"
#include "gui/app/main_window.h"
#include "gui/app/spec_dialog.h"
#include "gui/models/background.h"

namespace nautilus::gui {

void MainWindow::explore() {
  if (document_.empty() || search_.phase() == LiveSearch::Phase::Running) return;
  show_start_page(false);
  search_.explore(explore_bar_->allowance());
}

void MainWindow::change_sizes() {
  const sched::Session& s = document_.session();
  SpecRequest now;
  now.spec = s.spec_path;
  now.kernel = s.kernel;
  now.sizes = s.options.sizes;
  now.machine = s.options.machine.id;
  in_background<Expected<std::vector<KernelInfo>>>(
      *work_, tr("reading %1").arg(QString::fromStdString(now.spec)), this,
      [spec = now.spec] { return kernels_of(spec); },
      [this, now](Expected<std::vector<KernelInfo>> kernels) {
        if (!kernels) {
          tell_problem(tr("Cannot read the spec again"),
                       QString::fromStdString(kernels.error().text()));
          return;
        }
        auto* dialog = new SpecDialog(*std::move(kernels), now, this);
        dialog->setObjectName("spec-dialog");
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        connect(dialog, &QDialog::accepted, this,
                [this, dialog, now] { change_to(now, dialog->request()); });
        dialog->open();
      },
      [] {});
}

// Another machine alone keeps the tree: its plans are costed again.
void MainWindow::change_to(const SpecRequest& from, const SpecRequest& to) {
  const bool same = to.kernel == from.kernel && to.model.empty() && to.sizes == from.sizes;
  if (same && to.machine == from.machine) return;
  if (!same || document_.nodes().size() <= 1) return when_safe([this, to] { open_spec(to); });
  in_background<Expected<sched::Machine>>(
      *work_, tr("reading machine %1").arg(QString::fromStdString(to.machine)), this,
      [id = to.machine] { return machine_named(id); },
      [this, document = documents_](Expected<sched::Machine> m) {
        if (document != documents_) return;
        if (m) {
          say(tr("Costing all plans again for %1 …").arg(QString::fromStdString(m->id)));
          search_.set_machine(*m);
        } else {
          tell_problem(tr("Machine"), QString::fromStdString(m.error().text()));
        }
      },
      [] {});
}

void MainWindow::search_ended(sched::StopReason reason, const QString& note) {
  const std::string_view name = sched::stop_reason_name(reason);
  QString text = tr("The search stopped: %1").arg(QString::fromUtf8(name.data(), name.size()));
  if (!note.isEmpty()) text += " (" + note + ")";
  say(text);
  if (selection_.now().node < 0 && !document_.best().empty())
    selection_.select(document_.best().front());
}

void MainWindow::show_status() {
  if (document_.empty()) return status_->clear();
  const sched::SearchResult& r = document_.session().result;
  const QLocale l;
  int illegal = 0;
  for (const sched::SearchNode& n : r.nodes) illegal += n.state == sched::NodeState::Illegal;
  QString text = tr("%1 plans, %2 illegal, %3 s")
                     .arg(l.toString(r.plans_costed), l.toString(illegal))
                     .arg(r.seconds, 0, 'f', 1);
  if (search_.phase() == LiveSearch::Phase::Running) text = tr("▶ searching: ") + text;
  if (search_.phase() == LiveSearch::Phase::Paused) text = tr("‖ paused: ") + text;
  status_->setText(text);
}

}  // namespace nautilus::gui
