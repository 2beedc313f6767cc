// The window: views in docks around one shared state, and what the program does.
#pragma once

#include <QMainWindow>
#include <QTimer>
#include <deque>

#include "gui/app/commands.h"
#include "gui/app/recovery.h"
#include "gui/app/work_shown.h"
#include "gui/models/file_stamp.h"
#include "gui/models/links.h"
#include "gui/models/live_search.h"
#include "gui/models/measurements.h"
#include "gui/models/opening.h"
#include "gui/views/view.h"

class QLabel;

namespace nautilus::gui {

class ChipsBar;
class ExploreBar;
class NotesPanel;
class Palette;
class StartPage;
class ViewDock;

class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  explicit MainWindow(QWidget* parent = nullptr);
  ~MainWindow() override;

  Document& document() { return document_; }
  Selection& selection() { return selection_; }
  FilterStack& filters() { return filters_; }
  Bench& bench() { return bench_; }
  Theme& theme() { return theme_; }
  LiveSearch& search() { return search_; }
  Commands& commands() { return commands_; }
  ChipsBar& chips() { return *chips_; }
  NotesPanel& notes() { return *notes_; }
  ExploreBar& explore_bar() { return *explore_bar_; }
  const QList<View*>& views() const { return views_; }
  View* view(const QString& name) const;  // nullptr: no such view
  ViewDock* dock(const QString& name) const;
  bool on_start_page() const;
  bool reveal(const QString& name);  // a view, and gives it the keyboard; false: there is none

  // A file, the name of a corpus kernel, or a link; read in the background, then `opened` says
  // whether it is there. What is open and not saved is asked about before it is replaced: not by a
  // store, nor by what cannot be opened. `then` runs where it worked.
  void open(const QString& link, std::function<void()> then = {});
  void open_spec(const SpecRequest& request, std::function<void()> then = {});
  // In the background; `saved` and `measurements_imported` say how it went. A session file that
  // another program changed since it was read or written here is only replaced once the user said
  // so.
  void save(const QString& file);
  void autosave();  // what is not saved, to recovery().file(); every twenty seconds
  void leave();     // writes that copy, and ends the program without asking
  const RecoveryCopy& recovery() const { return recovery_; }
  void import_measurements(const QString& file);
  void export_view_to(View& view, const QString& file);
  bool follow(const Link& link);  // node, view and lesson; false: one is not there, which it tells
  bool start_lesson(const QString& name);
  void explore();
  // Opening, saving, the bench or a view is still at work.
  bool busy() const;
  WorkShown& work() { return *work_; }  // what takes a while, and can be given up

  // Problems are told in a box; without a window to look at, by whoever sets this.
  void set_problem_handler(std::function<void(const QString& title, const QString& text)> f) {
    on_problem_ = std::move(f);
  }
  bool attended() const { return !on_problem_; }  // somebody can be asked
  void tell_problem(const QString& title, const QString& text);
  void say(const QString& text);  // in the status bar

 Q_SIGNALS:
  void opened(bool good);
  void saved(bool good);
  void measurements_imported(int rows);  // -1: refused

 protected:
  void closeEvent(QCloseEvent* e) override;
  void dragEnterEvent(QDragEnterEvent* e) override;
  void dropEvent(QDropEvent* e) override;

 private:
  // main_window_layout.cpp
  void make_docks();
  void arrange();
  void show_start_page(bool on);
  void apply_theme();
  void views_keys_first(QWidget* focused);
  View* current_view() const;
  // main_window_commands.cpp
  void make_commands();
  void make_menus();
  void make_view_menus();
  void update_commands();
  // main_window_files.cpp
  void browse();
  void open_here(const Link& link, const std::function<void()>& then);
  void open_in_background(const QString& what, std::function<Expected<Opened>()> job,
                          std::function<void(Expected<Opened>)> done);
  bool show_opened(Expected<Opened> found, const Link& link);
  void browse_export(View* view);
  void remember(const QString& file);
  void update_title();
  // main_window_import.cpp
  void browse_import();
  void show_imported(const QString& file, const Expected<Import>& found);
  void offer_import(const QString& file, const FoundStore& store);
  void open_subject(const StoreSubject& about, const std::function<void()>& then);
  // main_window_saving.cpp
  void save_as();
  QString ask_file_name();  // "": none, or it was about a document that is gone, which is said
  static QString another_document();
  struct Written {
    std::optional<Refusal> bad;
    unsigned revision = 0;  // that the file holds
    FileStamp stamp;        // of the file as it is now
    bool changed_by_another = false, given_up = false;
  };
  struct WriteJob {
    QString file;
    bool overwrite = true;  // also the document's file where another program changed it
    std::optional<FileStamp> expected = {};  // set when it begins: what is there must be this
    std::shared_ptr<std::atomic<bool>> given_up = std::make_shared<std::atomic<bool>>(false);
    std::function<void(Written)> then;
  };
  static Written write_now(const WriteJob& job, const sched::Session& session);
  void write(WriteJob job);
  void write_ended();
  void save(const QString& file, bool overwrite);
  void save_ended(const QString& file, const Written& w, bool same_document);
  void ask_about_changed_file(const QString& file);
  void when_safe(std::function<void()> then);
  void forget_recovery();
  // main_window_state.cpp
  std::string state_text() const;
  void restore_state();
  // main_window_search.cpp
  void change_sizes();
  void change_to(const SpecRequest& from, const SpecRequest& to);
  void search_ended(sched::StopReason reason, const QString& note);
  void show_status();
  // main_window_find.cpp
  void show_palette();
  void show_find(const QString& first = {});
  void show_keys();
  QStringList statements() const;

  Document document_;
  Selection selection_;
  FilterStack filters_{document_};
  Theme theme_;
  Bench bench_;
  LiveSearch search_{document_};
  Commands commands_{this};
  QList<View*> views_;
  QList<ViewDock*> docks_;
  StartPage* start_;
  ChipsBar* chips_;
  NotesPanel* notes_;
  ExploreBar* explore_bar_ = nullptr;
  QLabel *status_, *working_;
  QList<std::pair<QAction*, QList<QKeySequence>>> keys_taken_;  // by the focused view
  QByteArray plain_layout_;
  QTimer autosave_;
  WorkShown* work_;
  int opening_ = 0;                           // the work of the last that was asked for
  int documents_ = 0;                         // counts them
  FileStamp stamp_;                           // of the document's file, as it was read or written
  std::deque<std::function<void()>> writes_;  // the first is under way
  unsigned copied_ = 0;                       // revision of the copy for recovery
  std::weak_ptr<std::atomic<bool>> copying_;  // gives up the copy that is being written
  RecoveryCopy recovery_;
  bool may_close_ = false;
  std::function<void(const QString&, const QString&)> on_problem_;
};

QString problem_text(const Refusal& r);

}  // namespace nautilus::gui
