#include "gui/app/views.h"

namespace nautilus::gui {

// A view that is not linked is left out.
[[gnu::weak]] View* make_search_tree_view(Shared, QWidget*);
[[gnu::weak]] View* make_roofline_view(Shared, QWidget*);
[[gnu::weak]] View* make_schedule_view(Shared, QWidget*);
[[gnu::weak]] View* make_why_view(Shared, QWidget*);
[[gnu::weak]] View* make_iteration_view(Shared, QWidget*);
[[gnu::weak]] View* make_code_view(Shared, QWidget*);
[[gnu::weak]] View* make_table_view(Shared, QWidget*);
[[gnu::weak]] View* make_parallel_view(Shared, QWidget*);
[[gnu::weak]] View* make_budget_view(Shared, QWidget*);
[[gnu::weak]] View* make_compare_view(Shared, QWidget*);
[[gnu::weak]] View* make_lesson_view(Shared, QWidget*);

QList<View*> make_views(Shared shared, QWidget* parent) {
  QList<View*> out;
  for (View* (*make)(Shared, QWidget*) :
       {make_search_tree_view, make_roofline_view, make_iteration_view, make_code_view,
        make_budget_view, make_compare_view, make_schedule_view, make_why_view, make_table_view,
        make_parallel_view, make_lesson_view})
    if (make) out << make(shared, parent);
  return out;
}

}  // namespace nautilus::gui
