// What of the window is saved with a session: selection, filters, and each view's viewport.
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "gui/app/chips_bar.h"
#include "gui/app/main_window.h"

namespace nautilus::gui {

std::string MainWindow::state_text() const {
  QJsonObject views;
  for (const View* v : views_)
    if (const QJsonObject j = v->viewport(); !j.isEmpty()) views[v->name()] = j;
  QJsonArray isolated, filters;
  for (int id : selection_.now().isolated) isolated << id;
  for (const Filter& f : filters_.filters()) filters << to_string(f);
  const QJsonObject state = {{"node", selection_.now().node},
                             {"isolated", isolated},
                             {"filters", filters},
                             {"views", views}};
  return QJsonDocument(state).toJson(QJsonDocument::Compact).toStdString();
}

void MainWindow::restore_state() {
  const QJsonObject state =
      QJsonDocument::fromJson(QByteArray::fromStdString(document_.session().viewport)).object();
  const int node = state["node"].toInt(-1);
  if (document_.node(node)) selection_.select(node);
  std::set<int> isolated;
  for (const QJsonValue& v : state["isolated"].toArray())
    if (document_.node(v.toInt(-1))) isolated.insert(v.toInt());
  selection_.isolate(isolated);
  for (const QJsonValue& v : state["filters"].toArray())
    if (v.toString().size() <= kMostFilterText)
      if (const auto f = filter_from_string(v.toString(), nullptr)) filters_.add(*f);
  filters_.undo_stack().clear();
  const QJsonObject views = state["views"].toObject();
  for (View* v : views_)
    if (views.contains(v->name())) v->set_viewport(views[v->name()].toObject());
}

}  // namespace nautilus::gui
