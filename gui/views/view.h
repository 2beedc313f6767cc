// What all views have in common: the shared state they read, and that each can be exported.
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
  View(Shared shared, QWidget* parent) : QWidget(parent), shared_(shared) {}
  // One word, for links (#view=roofline), file names and lessons.
  virtual QString name() const = 0;
  virtual QString title() const = 0;
  // The picture as it is on screen, with legend, within `page`: for SVG, PNG and PDF.
  virtual void paint_picture(QPainter& p, const QRectF& page) = 0;
  virtual QSizeF picture_size() const { return size(); }
  // The data behind it: rows of named values; empty if there are none.
  virtual QList<QJsonObject> export_rows() const { return {}; }
  // Its menu and tool bar.
  virtual QList<QAction*> view_actions() { return {}; }
  // What of the viewport is saved with a session (zoom, level, columns).
  virtual QJsonObject viewport() const { return {}; }
  virtual void set_viewport(const QJsonObject&) {}
  // Whether it still waits for something (the bench, a layout): screenshots and tests wait.
  virtual bool busy() const { return false; }
  // Ends what `works` told of; the view is as it was before.
  virtual void give_up() {}

 Q_SIGNALS:
  void works(const QString& what);  // on something that takes long; "": no more

 protected:
  Shared shared_;
};

// What the lesson view (name() "lesson") is besides: whoever starts lessons by name (menu, start
// page,
// --lesson) plays them here. Whether the document may be replaced was asked before.
class LessonPlayer {
 public:
  virtual ~LessonPlayer() = default;
  virtual bool play(const QString& name) = 0;  // false: there is no lesson of that name
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
