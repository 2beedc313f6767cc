#include "gui/app/start_page.h"

#include <QDir>
#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/models/lesson.h"
#include "gui/models/opening.h"

namespace nautilus::gui {
namespace {

QLabel* heading(const QString& text, QWidget* parent, double scale) {
  auto* l = new QLabel(text, parent);
  QFont f = l->font();
  f.setPointSizeF(f.pointSizeF() * scale);
  f.setBold(true);
  l->setFont(f);
  return l;
}

QPushButton* entry(const QString& text, const QString& tip, QWidget* parent) {
  auto* b = new QPushButton(text, parent);
  b->setFlat(true);
  b->setCursor(Qt::PointingHandCursor);
  b->setStyleSheet("text-align: left; padding: 3px 6px;");
  b->setToolTip(tip);
  b->setAccessibleName(text);
  b->setAccessibleDescription(tip);
  return b;
}

}  // namespace

QList<LessonEntry> lesson_entries() {
  static const QList<LessonEntry> all = [] {
    QList<LessonEntry> out;
    for (const std::string& name : lesson_names(lessons_dir()))
      if (const auto l = load_lesson(lessons_dir(), name))
        out << LessonEntry{QString::fromStdString(name), QString::fromStdString(l->title),
                           QString::fromStdString(l->about)};
    return out;
  }();
  return all;
}

StartPage::StartPage(QWidget* parent) : QScrollArea(parent) {
  auto* page = new QWidget(this);
  auto* grid = new QGridLayout(page);
  grid->setContentsMargins(40, 28, 40, 28);
  grid->setHorizontalSpacing(36);
  grid->addWidget(heading(tr("Nautilus Explorer"), page, 2.0), 0, 0, 1, 3);
  auto* how = new QLabel(tr("Choose an operator and press Explore (F5): the tree of schedules grows, "
                            "and candidates climb toward the roofline. Ctrl+P finds every command, ? "
                            "shows the keys."),
                         page);
  how->setWordWrap(true);
  grid->addWidget(how, 1, 0, 1, 3);

  auto* left = new QVBoxLayout;
  left->addWidget(heading(tr("Recent"), page, 1.3));
  recent_ = new QWidget(page);
  new QVBoxLayout(recent_);
  recent_->layout()->setContentsMargins(0, 0, 0, 0);
  left->addWidget(recent_);
  auto* browse = new QPushButton(tr("Open a file…"), page);
  browse->setToolTip(tr("A spec, a program, or a session (Ctrl+O); or drop it on the window"));
  connect(browse, &QPushButton::clicked, this, &StartPage::browse_requested);
  left->addWidget(browse, 0, Qt::AlignLeft);
  left->addStretch(1);
  grid->addLayout(left, 2, 0);

  auto* middle = new QVBoxLayout;
  middle->addWidget(heading(tr("Corpus"), page, 1.3));
  auto* families = new QGridLayout;
  families->setHorizontalSpacing(18);
  int rows[2] = {0, 0};
  for (const CorpusFamily& f : corpus_families()) {
    const int column = rows[0] <= rows[1] ? 0 : 1;
    families->addWidget(heading(f.name, page, 1.05), rows[column]++, column);
    for (const CorpusEntry& k : f.kernels) {
      QPushButton* b = entry(k.name, k.about, page);
      connect(b, &QPushButton::clicked, this, [this, name = k.name] { kernel_requested(name); });
      families->addWidget(b, rows[column]++, column);
    }
  }
  middle->addLayout(families);
  middle->addStretch(1);
  grid->addLayout(middle, 2, 1);

  auto* right = new QVBoxLayout;
  right->addWidget(heading(tr("Lessons"), page, 1.3));
  for (const LessonEntry& l : lesson_entries()) {
    QPushButton* b = entry(l.title, l.about, page);
    connect(b, &QPushButton::clicked, this, [this, name = l.name] { lesson_requested(name); });
    right->addWidget(b);
  }
  right->addStretch(1);
  grid->addLayout(right, 2, 2);
  for (int c = 0; c < 3; ++c) grid->setColumnStretch(c, c == 1 ? 5 : 4);
  grid->setRowStretch(2, 1);
  setWidget(page);
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  set_recent({}, {});
}

void StartPage::set_recent(const QStringList& files, const QString& recovered) {
  QLayout* box = recent_->layout();
  while (QLayoutItem* item = box->takeAt(0)) {
    item->widget()->deleteLater();
    delete item;
  }
  const auto add = [&](const QString& text, const QString& tip, const QString& file) {
    QPushButton* b = entry(text, tip, recent_);
    connect(b, &QPushButton::clicked, this, [this, file] { open_requested(file); });
    box->addWidget(b);
  };
  if (!recovered.isEmpty())
    add(tr("↻ What was not saved last time"), tr("The search as it was when the program ended"),
        recovered);
  for (const QString& f : files)
    add(QFileInfo(f).fileName(), QDir::toNativeSeparators(f), f);
  if (box->isEmpty()) box->addWidget(new QLabel(tr("Nothing yet."), recent_));
}

}  // namespace nautilus::gui
