// What the program can do: commands, menus, and when they are enabled.
#include <QActionGroup>
#include <QApplication>
#include <QClipboard>
#include <QMenuBar>
#include <QPlainTextEdit>
#include <QSettings>

#include "gui/app/chips_bar.h"
#include "gui/app/explore_bar.h"
#include "gui/app/main_window.h"
#include "gui/app/notes_panel.h"
#include "gui/app/start_page.h"
#include "gui/app/view_dock.h"

namespace nautilus::gui {

void MainWindow::make_commands() {
  const QString file = tr("File"), search = tr("Search"), go = tr("Go"), edit = tr("Edit"),
                look = tr("View"), help = tr("Help");
  Commands& c = commands_;
  c.add("file.open", file, tr("&Open…"), "Ctrl+O", tr("Open a spec, a program or a session"),
        [this] { browse(); });
  c.add("file.save", file, tr("&Save"), "Ctrl+S", tr("Save the session"), [this] {
    if (document_.file().isEmpty())
      save_as();
    else
      save(document_.file());
  });
  c.add("file.save_as", file, tr("Save &as…"), "Ctrl+Shift+S",
        tr("Save the session under another name"), [this] { save_as(); });
  c.add("file.import", file, tr("&Import measurements…"), "Ctrl+I",
        tr("Read times of candidates from a store (CSV, JSON or SQLite)"),
        [this] { browse_import(); });
  c.add("file.export", file, tr("&Export view…"), "Ctrl+E",
        tr("Write the view with the focus as SVG, PNG, PDF, CSV or JSON"),
        [this] { browse_export(current_view()); });
  c.add("file.link", file, tr("Copy &link"), "Ctrl+L",
        tr("Copy a text link to the selected candidate and view"), [this] {
          const View* v = current_view();
          QApplication::clipboard()->setText(to_string(
              Link{document_.file(), selection_.now().node, v ? v->name() : QString(), {}}));
          say(tr("Copied %1").arg(QApplication::clipboard()->text()));
        });
  c.add("file.start", file, tr("Start &page"), "Ctrl+Home", tr("Recent files, corpus, lessons"),
        [this] { show_start_page(true); });
  c.add("file.quit", file, tr("&Quit"), "Ctrl+Q", tr("Close the program"), [this] { close(); });

  c.add("search.sizes", search, tr("Sizes and machine…"), "Ctrl+T",
        tr("Choose kernel, sizes and machine"), [this] { change_sizes(); });
  c.add("search.explore", search, tr("&Explore"), "F5",
        tr("Search for plans, or go on, within the budget"), [this] { explore(); });
  c.add("search.pause", search, tr("&Pause"), "F6", tr("Pause the search; Explore goes on"),
        [this] { search_.pause(); });
  c.add("search.step", search, tr("&Step"), "F7", tr("Take one decision of the search"), [this] {
    show_start_page(false);
    search_.step();
  });
  c.add("search.stop", search, tr("S&top"), "Shift+F5",
        tr("End the search: what is open is given up"), [this] { search_.stop(); });
  c.add("search.below", search, tr("Explore &below the selection"), "Ctrl+R",
        tr("Search only what lies below the selected candidate"), [this] {
          search_.explore_below(selection_.now().node);
          explore();
        });
  c.add("search.whole", search, tr("Explore e&verything again"), "Ctrl+Shift+R",
        tr("The target is the whole tree again"), [this] { search_.explore_below(0); });

  c.add("edit.undo", edit, tr("&Undo"), "Ctrl+Z",
        tr("Take back the last change of the filters, or go back to before the last step by hand"),
        [this] { filters_.undo_stack().undo(); });
  c.add("edit.redo", edit, tr("&Redo"), "Ctrl+Shift+Z, Ctrl+Y", tr("Do again what Undo took back"),
        [this] { filters_.undo_stack().redo(); });
  c.add("edit.filter", edit, tr("Add a &filter"), "Ctrl+Shift+F",
        tr("Light only candidates that meet a condition"), [this] { chips_->edit_new(); });
  c.add("edit.clear", edit, tr("&Clear filters"), "", tr("Light all candidates again"),
        [this] { filters_.clear(); });
  c.add("edit.pin", edit, tr("&Pin or unpin"), "Ctrl+B",
        tr("Pin the selected candidate for comparing, or take the pin away"), [this] {
          const int id = selection_.now().node;
          document_.set_pinned(id, !document_.pinned(id));
        });
  c.add("edit.note", edit, tr("Write a &note"), "Ctrl+M",
        tr("Write a note on the selected candidate"), [this] {
          reveal("notes");
          notes_->editor()->setFocus();
        });

  c.add("go.back", go, tr("&Back"), "Alt+Left", tr("The candidate selected before"),
        [this] { selection_.back(); });
  c.add("go.forward", go, tr("&Forward"), "Alt+Right", tr("The candidate selected after"),
        [this] { selection_.forward(); });
  c.add("go.best", go, tr("B&est plan"), "Ctrl+Shift+B", tr("Select the best plan so far"), [this] {
    if (!document_.best().empty()) selection_.select(document_.best().front());
  });
  c.add("go.parent", go, tr("&Parent"), "Alt+Up", tr("Select the candidate it was made from"),
        [this] {
          const sched::SearchNode* n = document_.node(selection_.now().node);
          if (n && n->parent >= 0) selection_.select(n->parent);
        });
  c.add("go.give_up", go, tr("Cancel what is at &work"), "Ctrl+.",
        tr("Give up what the status bar says is at work: everything is as before"),
        [this] { work_->give_up(); });
  c.add("go.find", go, tr("F&ind…"), "Ctrl+F",
        tr("Find candidates by number, decision, reason or transform, and statements"),
        [this] { show_find(); });
  c.add("go.palette", go, tr("&Commands…"), "Ctrl+P", tr("Find and run any command"),
        [this] { show_palette(); });

  for (const auto& [name, text, mode] :
       {std::tuple("system", tr("&System colours"), Theme::Mode::System),
        std::tuple("light", tr("&Light"), Theme::Mode::Light),
        std::tuple("dark", tr("&Dark"), Theme::Mode::Dark)})
    c.add(QString("view.theme.") + name, look, text, "", tr("Colours of everything"),
          [this, mode = mode] {
            theme_.set_mode(mode);
            QSettings().setValue("theme", static_cast<int>(mode));
          });
  c.add("view.layout", look, tr("&Arrange as at first"), "",
        tr("Put every view where it was at first"), [this] {
          for (ViewDock* d : docks_) {
            d->setFloating(false);
            d->setVisible(d->objectName() != "lesson");
          }
          arrange();
        });
  int k = 0;
  for (ViewDock* d : docks_) {
    const QString keys = ++k <= 9                      ? QString("Ctrl+%1").arg(k)
                         : k == 10                     ? "Ctrl+0"
                         : d->objectName() == "lesson" ? "Ctrl+Shift+L"
                                                       : QString();
    c.add("view." + d->objectName(), look, d->windowTitle(), keys,
          tr("Show %1 and give it the keyboard").arg(d->windowTitle()), [this, d] {
            show_start_page(false);
            reveal(d->objectName());
          });
  }
  for (const LessonEntry& l : lesson_entries())
    c.add("lesson." + l.name, tr("Lessons"), l.title, "", l.about,
          [this, name = l.name] { start_lesson(name); });
  c.add("help.keys", help, tr("&Keys"), "?, F1", tr("Every key on one page"),
        [this] { show_keys(); });
}

void MainWindow::make_menus() {
  QMap<QString, QMenu*> menus;
  for (const QString& title :
       {tr("File"), tr("Edit"), tr("Search"), tr("Go"), tr("View"), tr("Lessons"), tr("Help")})
    menus[title] = menuBar()->addMenu("&" + title);
  for (const Commands::Command& c : commands_.all())
    if (QMenu* m = menus.value(c.group)) {
      m->addAction(c.action);
      m->setToolTipsVisible(true);
    }
  menus[tr("Lessons")]->menuAction()->setVisible(!menus[tr("Lessons")]->isEmpty());
}

void MainWindow::make_view_menus() {
  for (View* v : views_) {
    QList<QAction*> actions = v->view_actions();
    for (QAction* a : actions)
      if (!a->text().isEmpty())
        commands_.adopt(v->name() + "." + a->text().remove('&').toLower().replace(' ', '_'),
                        v->title(), a);
    auto* line = new QAction(v);
    line->setSeparator(true);
    auto* out = new QAction(tr("Export this view…"), v);
    out->setToolTip(tr("As SVG, PNG, PDF, CSV or JSON"));
    connect(out, &QAction::triggered, this, [this, v] { browse_export(v); });
    dock(v->name())->set_menu(actions << line << out);
  }
}

void MainWindow::update_commands() {
  const bool open = !document_.empty(), node = document_.node(selection_.now().node);
  const bool running = search_.phase() == LiveSearch::Phase::Running;
  const auto enable = [&](std::initializer_list<const char*> ids, bool on) {
    for (const char* id : ids) commands_.action(id)->setEnabled(on);
  };
  enable({"file.save", "file.save_as", "file.export", "go.find"}, open);
  enable({"search.sizes"}, open && explore_bar_->locked().isEmpty());
  enable({"file.import"}, open);
  enable({"go.give_up"}, work_->can_give_up());
  enable({"go.best"}, !document_.best().empty());
  enable({"search.explore", "search.step"}, open && !running);
  enable({"search.pause"}, running);
  enable({"search.stop"}, search_.alive());
  enable({"search.whole"}, search_.root() > 0);
  enable({"search.below", "edit.pin", "edit.note", "go.parent", "file.link"}, node);
  enable({"go.back"}, selection_.can_go_back());
  enable({"go.forward"}, selection_.can_go_forward());
  const QUndoStack& undo = filters_.undo_stack();
  enable({"edit.undo"}, undo.canUndo());
  enable({"edit.redo"}, undo.canRedo());
  enable({"edit.clear"}, !filters_.filters().empty());
  commands_.action("edit.undo")->setText(tr("&Undo %1").arg(undo.undoText()).trimmed());
  commands_.action("edit.redo")->setText(tr("&Redo %1").arg(undo.redoText()).trimmed());
  commands_.action("search.explore")
      ->setText(search_.phase() == LiveSearch::Phase::Paused ? tr("R&esume") : tr("&Explore"));
}

}  // namespace nautilus::gui
