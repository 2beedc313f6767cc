// The parts of the code view: list, panes, find bar, actions.
#include <QAction>
#include <QFontMetrics>
#include <QHBoxLayout>
#include <QStyle>
#include <QVBoxLayout>

#include "gui/views/code_list.h"
#include "gui/views/code_view.h"
#include "gui/views/elided_label.h"

namespace nautilus::gui {

constexpr int kLeastList = 150, kListShare = 4;  // pixels; a part of the view's width

QString stage_mark(const Stage& s) {
  if (s.refusal) return QStringLiteral("✗");
  if (s.on_demand) return QStringLiteral("…");
  if (!s.pass) return QStringLiteral("·");
  return s.changed ? QStringLiteral("●") : QStringLiteral("○");
}

QListWidgetItem* stage_item(const Stage& s, const Theme& theme, bool shown) {
  auto* item = new QListWidgetItem(stage_mark(s) + QLatin1Char(' ') + s.title);
  item->setData(Qt::UserRole, s.id);
  item->setForeground(s.refusal               ? theme.bad()
                      : s.pass && s.changed   ? theme.accent()
                      : s.pass || s.on_demand ? theme.muted()
                                              : theme.text());
  QFont f = theme.ui();
  f.setBold(shown);
  item->setFont(f);
  const QString tip = s.refusal     ? QString::fromStdString(s.refusal->text())
                      : s.on_demand ? QStringLiteral("Made when it is shown; takes seconds")
                      : !s.pass     ? QStringLiteral("%1 lines").arg(s.lines.size())
                      : s.changed   ? QStringLiteral("This pass changed the program")
                                    : QStringLiteral("This pass changed nothing");
  item->setToolTip(s.title + u'\n' + tip);
  return item;
}

void CodeView::build() {
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->setSpacing(2);
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(4, 2, 4, 0);
  find_ = new QLineEdit;
  find_->setPlaceholderText(tr("Find in the active pane (Ctrl+F)"));
  find_->setAccessibleName(tr("Find in the active pane"));
  find_->setToolTip(tr("Enter: next, Shift+Enter: previous"));
  find_->setClearButtonEnabled(true);
  find_->setMaximumWidth(300);
  found_ = new QLabel;
  notes_ = new QLabel;
  notes_->setWordWrap(false);
  notes_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  bar->addWidget(find_, 1);
  bar->addWidget(found_);
  bar->addStretch(1);
  bar->addWidget(notes_);
  all->addLayout(bar);
  changed_ = new QLabel;
  changed_->setWordWrap(true);
  changed_->setMargin(4);
  changed_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  changed_->setAccessibleName(tr("How the lowered plan differs"));
  changed_->hide();
  all->addWidget(changed_);
  outer_ = new QSplitter(Qt::Horizontal);
  list_ = new QListWidget;
  list_->setAccessibleName(tr("Stages"));
  list_->setToolTip(tr("Enter or click: in the active pane; double click: in a new one"));
  list_->setWordWrap(true);  // no title is cut where the list is narrow
  list_->setResizeMode(QListView::Adjust);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  splitter_ = new QSplitter(Qt::Horizontal);
  splitter_->setChildrenCollapsible(false);
  outer_->addWidget(list_);
  outer_->addWidget(splitter_);
  outer_->setStretchFactor(0, 0);
  outer_->setStretchFactor(1, 1);
  connect(outer_, &QSplitter::splitterMoved, this, [this] { sized_by_hand_ = true; });
  all->addWidget(outer_, 1);
  const auto chosen = [this](QListWidgetItem* i) {
    show_stage(active_, i->data(Qt::UserRole).toString());
  };
  connect(list_, &QListWidget::itemClicked, this, chosen);
  connect(list_, &QListWidget::itemActivated, this, chosen);
  connect(list_, &QListWidget::itemDoubleClicked, this,
          [this](QListWidgetItem* i) { add_pane(i->data(Qt::UserRole).toString()); });
  connect(find_, &QLineEdit::textChanged, this, [this] { find(true); });
  connect(find_, &QLineEdit::returnPressed, this, [this] { find(true); });
}

void CodeView::make_actions() {
  add_command(tr("Next pass"), Qt::Key_J, tr("The active pane shows the next pass"),
              [this] { step_pass(1); });
  add_command(tr("Previous pass"), Qt::Key_K, tr("The active pane shows the pass before"),
              [this] { step_pass(-1); });
  add_command(tr("Changes only"), Qt::Key_D,
              tr("What differs from the stage before, or the whole text"),
              [this] { set_diff(!panes_[size_t(active_)].changes); });
  add_command(tr("Add pane"), Qt::CTRL | Qt::Key_Backslash, tr("Another pane beside the others"),
              [this] { add_pane(panes_[size_t(active_)].stage); });
  add_command(tr("Close pane"), Qt::CTRL | Qt::SHIFT | Qt::Key_Backslash,
              tr("Closes the active pane"), [this] { close_pane(active_); });
  add_command(tr("Next pane"), Qt::Key_BracketRight, tr("Keyboard to the next pane"), [this] {
    set_active((active_ + 1) % int(panes_.size()));
    panes_[size_t(active_)].text->setFocus();
  });
  add_command(tr("Find"), QKeySequence::Find, tr("Find in the active pane"), [this] {
    find_->setFocus();
    find_->selectAll();
  });
  add_command(tr("Find next"), Qt::Key_F3, tr("Next line that has the text"),
              [this] { find(true); });
  add_command(tr("Find previous"), Qt::SHIFT | Qt::Key_F3, tr("The line before that has the text"),
              [this] { find(false); });
}

void CodeView::add_pane(const QString& id) {
  if (panes_.size() >= 8) return;
  Pane p;
  p.stage = id;
  p.box = new QWidget;
  auto* column = new QVBoxLayout(p.box);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* head = new QHBoxLayout;
  head->setContentsMargins(6, 0, 2, 0);
  p.head = new ElidedLabel;
  p.diff = new QToolButton;
  p.diff->setText(tr("±"));
  p.diff->setCheckable(true);
  p.diff->setAutoRaise(true);
  p.diff->setAccessibleName(tr("Changes only"));
  p.diff->setToolTip(tr("What differs from the stage before (D)"));
  p.close = new QToolButton;
  p.close->setText(QStringLiteral("×"));
  p.close->setAutoRaise(true);
  p.close->setAccessibleName(tr("Close this pane"));
  p.close->setToolTip(tr("Close this pane"));
  p.text = new CodePane(shared_.theme, p.box);
  head->addWidget(p.head, 1);
  head->addWidget(p.diff);
  head->addWidget(p.close);
  column->addLayout(head);
  column->addWidget(p.text, 1);
  splitter_->addWidget(p.box);
  const auto index_of = [this](const CodePane* text) {
    for (size_t n = 0; n < panes_.size(); ++n)
      if (panes_[n].text == text) return int(n);
    return -1;
  };
  CodePane* text = p.text;
  connect(text, &CodePane::activated, this, [this, text, index_of] {
    if (const int n = index_of(text); n >= 0 && n != active_) set_active(n);
  });
  connect(text, &CodePane::hovered, this,
          [this](const Focus& f) { shared_.selection.hover_tree(f.node, f.statement); });
  connect(text, &CodePane::picked, this, [this](const Focus& f) {
    shared_.selection.select_tree_node(f.node);
    shared_.selection.select_statement(f.statement);
  });
  connect(p.diff, &QToolButton::clicked, this, [this, text, index_of](bool on) {
    set_active(index_of(text));
    set_diff(on);
  });
  connect(p.close, &QToolButton::clicked, this,
          [this, text, index_of] { close_pane(index_of(text)); });
  panes_.push_back(p);
  fill(panes_.back());
  set_active(int(panes_.size()) - 1);
  light();
}

void CodeView::fill_list() {
  list_->clear();
  fill_notes();
  if (!plan_) return;
  for (const Stage& s : plan_->stages) {
    bool shown = false;
    for (const Pane& p : panes_) shown |= p.stage == s.id;
    list_->addItem(stage_item(s, shared_.theme, shown));
    if (s.id == panes_[size_t(active_)].stage) list_->setCurrentRow(list_->count() - 1);
  }
  size_list();
}

// As wide as its titles, but no more than a part of the view; until somebody moves the splitter.
void CodeView::size_list() {
  if (sized_by_hand_ || !plan_) return;
  int widest = 0;
  for (const Stage& s : plan_->stages) {
    QFont bold = shared_.theme.ui();
    bold.setBold(true);
    widest = std::max(widest, QFontMetrics(bold).horizontalAdvance(stage_mark(s) + ' ' + s.title));
  }
  const int wanted = widest + list_->style()->pixelMetric(QStyle::PM_ScrollBarExtent) + 16;
  const int room = outer_->width();
  const int list = std::min(wanted, std::max(kLeastList, room / kListShare));
  outer_->setSizes({list, std::max(0, room - list)});
}

void CodeView::resizeEvent(QResizeEvent* e) {
  View::resizeEvent(e);
  size_list();
}

// What the lowering says, and how what is shown differs from the plan: never only in a tooltip.
void CodeView::fill_notes() {
  QStringList notes;
  if (plan_)
    for (const QString& n : plan_->notes) notes << n;
  notes_->setText(notes.isEmpty() ? QString() : tr("%n note(s)", nullptr, int(notes.size())));
  notes_->setToolTip(notes.join(QLatin1Char('\n')));
  const bool changed = plan_ && !plan_->lowered_with.isEmpty();
  changed_->setVisible(changed);
  if (!changed) return;
  changed_->setText(
      tr("⚠ The tile IR and what follows are of the same structure with %1 (%2)")
          .arg(plan_->lowered_with, notes.filter(QStringLiteral("smaller tiles")).join("; ")));
  QPalette p = changed_->palette();
  p.setColor(QPalette::WindowText, shared_.theme.text());
  changed_->setPalette(p);
}

}  // namespace nautilus::gui
