#include "gui/app/notes_panel.h"

#include <QLabel>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QVBoxLayout>
#include <algorithm>
#include <set>

namespace nautilus::gui {

NotesPanel::NotesPanel(Document& document, Selection& selection, QWidget* parent)
    : QWidget(parent), document_(document), selection_(selection) {
  title_ = new QLabel(this);
  title_->setWordWrap(true);
  editor_ = new QPlainTextEdit(this);
  editor_->setPlaceholderText(tr("A note on the selected candidate, saved with the session"));
  editor_->setAccessibleName(tr("Note"));
  editor_->setToolTip(tr("A note on the selected candidate, saved with the session (Ctrl+M)"));
  editor_->setTabChangesFocus(true);
  list_ = new QListWidget(this);
  list_->setAccessibleName(tr("Candidates with a note or a pin"));
  list_->setToolTip(tr("Candidates with a note or a pin; Enter selects"));
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* box = new QVBoxLayout(this);
  box->setContentsMargins(6, 4, 6, 4);
  box->addWidget(title_);
  box->addWidget(editor_, 1);
  box->addWidget(list_, 1);
  pause_.setSingleShot(true);
  pause_.setInterval(400);
  connect(editor_, &QPlainTextEdit::textChanged, &pause_, qOverload<>(&QTimer::start));
  connect(&pause_, &QTimer::timeout, this, &NotesPanel::write);
  const auto go = [this](QListWidgetItem* item) {
    if (item) selection_.select(item->data(Qt::UserRole).toInt());
  };
  connect(list_, &QListWidget::itemActivated, this, go);
  connect(list_, &QListWidget::itemClicked, this, go);
  connect(&selection_, &Selection::changed, this, [this](unsigned parts) {
    if (parts & Selection::Node) show_node();
  });
  connect(&document_, &Document::reset, this, [this] {
    pause_.stop();
    node_ = -1;
    show_node();
    show_list();
  });
  connect(&document_, &Document::notes_changed, this, [this](int id) {
    if (id == node_ && document_.note(id) != editor_->toPlainText()) show_node();
    show_list();
  });
  connect(&document_, &Document::pins_changed, this, &NotesPanel::show_list);
  show_node();
  show_list();
}

void NotesPanel::write() {
  pause_.stop();
  if (document_.node(node_)) document_.set_note(node_, editor_->toPlainText());
}

void NotesPanel::show_node() {
  if (pause_.isActive()) write();
  node_ = selection_.now().node;
  const sched::SearchNode* n = document_.node(node_);
  title_->setText(n ? tr("Candidate %1: %2").arg(node_).arg(QString::fromStdString(n->decision))
                    : tr("No candidate is selected"));
  editor_->setEnabled(n);
  const QSignalBlocker quiet(editor_);
  editor_->setPlainText(n ? document_.note(node_) : QString());
}

void NotesPanel::show_list() {
  std::set<int> all(document_.pins().begin(), document_.pins().end());
  for (const auto& [id, text] : document_.session().notes) all.insert(id);
  list_->clear();
  for (int id : all) {
    const QString note = document_.note(id).section('\n', 0, 0);
    const sched::SearchNode* n = document_.node(id);
    if (!n) continue;
    auto* item = new QListWidgetItem(
        (document_.pinned(id) ? QStringLiteral("⚑ ") : QStringLiteral("✎ ")) + QString::number(id) +
            "  " + (note.isEmpty() ? QString::fromStdString(n->decision) : note),
        list_);
    item->setData(Qt::UserRole, id);
    item->setToolTip(item->text());
  }
}

}  // namespace nautilus::gui
