// What all views have in common: the shared state they read, their commands, and that each can be
// exported.
#pragma once

#include <QAction>
#include <QJsonObject>
#include <QPainter>
#include <QWidget>

#include "gui/models/bench.h"
#include "gui/models/document.h"
#include "gui/models/filter_stack.h"
#include "gui/models/selection.h"
#include "gui/models/theme.h"

namespace nautilus::gui {

struct Shared {
  Document& document;
  Selection& selection;
  FilterStack& filters;
  Bench& bench;
  Theme& theme;
};

class View : public QWidget {
  Q_OBJECT
 public:
  // `name`: one word, for links (#view=roofline), file names and lessons.
  View(Shared shared, const QString& name, const QString& title, QWidget* parent)
      : QWidget(parent), shared_(shared), name_(name), title_(title) {}
  const QString& name() const { return name_; }
  const QString& title() const { return title_; }
  // The picture as it is on screen, with legend, within `page`: for SVG, PNG and PDF.
  virtual void paint_picture(QPainter& p, const QRectF& page) = 0;
  virtual QSizeF picture_size() const { return size(); }
  // The data behind it: rows of named values; empty if there are none.
  virtual QList<QJsonObject> export_rows() const { return {}; }
  // Its menu.
  const QList<QAction*>& view_actions() const { return commands_; }
  // What of the viewport is saved with a session (zoom, level, columns).
  virtual QJsonObject viewport() const { return {}; }
  virtual void set_viewport(const QJsonObject&) {}
  // Whether it still waits for something (the bench, a layout): screenshots and tests wait.
  virtual bool busy() const { return false; }
  // Ends what `works` told of, if anything: its result never comes, the document is as before.
  virtual void give_up() {}

 Q_SIGNALS:
  void works(const QString& what);  // on something that takes long; "": no more

 protected:
  // A command of this view: an entry of its menu, and `key` while the focus is within.
  template <class Run>
  QAction* add_command(const QString& text, const QKeySequence& key, const QString& tip, Run run) {
    auto* a = new QAction(text, this);
    a->setShortcut(key);
    a->setToolTip(key.isEmpty()
                      ? tip
                      : tip + QStringLiteral(" (%1)").arg(key.toString(QKeySequence::NativeText)));
    connect(a, &QAction::triggered, this, run);
    add_command(a);
    return a;
  }
  void add_command(QAction* a) {
    a->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    addAction(a);
    commands_ << a;
  }
  // `told(channel, why)`: what this view asked the bench for on that channel cannot be made.
  template <class Told>
  void when_bench_fails(Told told) {
    connect(&shared_.bench, &Bench::failed, this,
            [this, told](QObject* asker, const QString& channel, const QString& why) {
              if (asker == this) told(channel, why);
            });
  }
  // In place of a picture while no candidate is selected: "Select a candidate `to` …".
  QString nothing_selected(const QString& to) const {
    return shared_.document.empty() ? tr("Open a session, or explore a kernel.")
                                    : tr("Select a candidate %1.").arg(to);
  }

  Shared shared_;

 private:
  const QString name_, title_;
  QList<QAction*> commands_;
};

// Each view's source defines its maker; app/views.cpp lists them in order.
View* make_search_tree_view(Shared, QWidget* parent);
View* make_roofline_view(Shared, QWidget* parent);
View* make_schedule_view(Shared, QWidget* parent);
View* make_why_view(Shared, QWidget* parent);
View* make_iteration_view(Shared, QWidget* parent);
View* make_code_view(Shared, QWidget* parent);
View* make_table_view(Shared, QWidget* parent);
View* make_parallel_view(Shared, QWidget* parent);
View* make_budget_view(Shared, QWidget* parent);
View* make_compare_view(Shared, QWidget* parent);
View* make_lesson_view(Shared, QWidget* parent);

}  // namespace nautilus::gui
