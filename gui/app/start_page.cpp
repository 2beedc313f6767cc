#include "gui/app/start_page.h"

#include <QDateTime>
#include <QDir>
#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QLocale>
#include <QPushButton>
#include <QRegularExpression>
#include <QVBoxLayout>

#include "gui/app/start_entry.h"
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

// The first clause says what it is; the rest is in the tooltip.
QString first_clause(const QString& about) {
  static const QRegularExpression end(R"([:;.](\s|$)|, )");
  return about.left(about.indexOf(end)).simplified();
}

StartEntry* entry(const QString& name, const QString& shown, const QString& whole, int column,
                  QWidget* parent) {
  auto* e = new StartEntry(name, shown, column, parent);
  e->setToolTip(whole);
  e->setAccessibleDescription(whole);
  return e;
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
  auto* how =
      new QLabel(tr("Choose an operator and press Explore (F5): the tree of schedules grows, "
                    "and candidates climb toward the roofline. Ctrl+P finds every command, ? "
                    "shows the keys."),
                 page);
  how->setWordWrap(true);
  grid->addWidget(how, 1, 0, 1, 3);

  auto* left = new QVBoxLayout;
  const CorpusEntry first = corpus_begin();
  begin_ = new QPushButton(tr("▶  Explore %1").arg(first.about), page);
  begin_->setToolTip(
      tr("Open %1 and search: the shortest way to see what this is").arg(first.name));
  begin_->setAutoDefault(true);
  begin_->setMinimumHeight(2 * fontMetrics().height());
  connect(begin_, &QPushButton::clicked, this,
          [this, name = first.name] { explore_requested(name); });
  left->addWidget(begin_);
  auto* browse = new QPushButton(tr("Open a file…"), page);
  browse->setToolTip(tr("A spec, a program, or a session (Ctrl+O); or drop it on the window"));
  browse->setAutoDefault(true);
  connect(browse, &QPushButton::clicked, this, &StartPage::browse_requested);
  left->addWidget(browse);
  left->addSpacing(12);
  left->addWidget(heading(tr("Recent"), page, 1.3));
  recent_ = new QWidget(page);
  new QVBoxLayout(recent_);
  recent_->layout()->setContentsMargins(0, 0, 0, 0);
  recent_->layout()->setSpacing(0);
  left->addWidget(recent_);
  left->addStretch(1);
  grid->addLayout(left, 2, 0);

  auto* middle = new QVBoxLayout;
  middle->addWidget(heading(tr("Corpus"), page, 1.3));
  auto* families = new QGridLayout;
  families->setHorizontalSpacing(18);
  families->setVerticalSpacing(0);
  QVBoxLayout* columns[2];
  int rows[2] = {0, 0};
  for (int k = 0; k < 2; ++k) {
    columns[k] = new QVBoxLayout;
    columns[k]->setSpacing(0);
    families->addLayout(columns[k], 0, k);
    families->setColumnStretch(k, 1);
  }
  const QList<CorpusFamily> all_families = corpus_families();
  int names = 0;
  for (const CorpusFamily& f : all_families)
    for (const CorpusEntry& c : f.kernels)
      names = std::max(names, fontMetrics().horizontalAdvance(c.name) + 16);
  for (const CorpusFamily& f : all_families) {
    const int k = rows[0] <= rows[1] ? 0 : 1;
    columns[k]->addWidget(heading(f.name, page, 1.05));
    for (const CorpusEntry& c : f.kernels) {
      StartEntry* e = entry(c.name, first_clause(c.about), c.about, names, page);
      connect(e, &StartEntry::clicked, this, [this, name = c.name] { kernel_requested(name); });
      columns[k]->addWidget(e);
    }
    columns[k]->addSpacing(8);
    rows[k] += static_cast<int>(f.kernels.size()) + 1;
  }
  for (QVBoxLayout* c : columns) c->addStretch(1);
  middle->addLayout(families);
  middle->addStretch(1);
  grid->addLayout(middle, 2, 1);

  auto* right = new QVBoxLayout;
  right->setSpacing(0);
  right->addWidget(heading(tr("Lessons"), page, 1.3));
  right->addSpacing(4);
  for (const LessonEntry& l : lesson_entries()) {
    StartEntry* e = entry(l.title, l.about, l.about, 0, page);
    connect(e, &StartEntry::clicked, this, [this, name = l.name] { lesson_requested(name); });
    right->addWidget(e);
  }
  right->addStretch(1);
  grid->addLayout(right, 2, 2);
  for (int c = 0; c < 3; ++c) grid->setColumnStretch(c, c == 0 ? 3 : c == 1 ? 8 : 4);
  grid->setRowStretch(2, 1);
  setWidget(page);
  setWidgetResizable(true);
  setFocusProxy(begin_);
  setFrameShape(QFrame::NoFrame);
  set_recent({}, {});
}

void StartPage::set_recent(const QStringList& files, const QStringList& recovered) {
  QLayout* box = recent_->layout();
  while (QLayoutItem* item = box->takeAt(0)) {
    item->widget()->hide();  // until it is gone
    item->widget()->deleteLater();
    delete item;
  }
  const auto add = [&](const QString& text, const QString& tip, const QString& file) {
    StartEntry* e = entry(text, QString(), tip, 0, recent_);
    connect(e, &StartEntry::clicked, this, [this, file] { open_requested(file); });
    box->addWidget(e);
  };
  for (const QString& f : recovered)
    add(tr("↻ Not saved, %1")
            .arg(QLocale().toString(QFileInfo(f).lastModified(), QLocale::ShortFormat)),
        tr("A search as it was when the program ended unexpectedly"), f);
  for (const QString& f : files) add(QFileInfo(f).fileName(), QDir::toNativeSeparators(f), f);
  if (box->isEmpty()) box->addWidget(new QLabel(tr("Nothing yet."), recent_));
}

}  // namespace nautilus::gui
