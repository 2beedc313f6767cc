#include "gui/app/views.h"

namespace nautilus::gui {

QList<View*> make_views(Shared shared, QWidget* parent) {
  QList<View*> out;
  for (View* (*make)(Shared, QWidget*) :
       {make_search_tree_view, make_roofline_view, make_iteration_view, make_code_view,
        make_budget_view, make_compare_view, make_schedule_view, make_why_view, make_table_view,
        make_parallel_view, make_lesson_view})
    out << make(shared, parent);
  return out;
}

}  // namespace nautilus::gui
