#include "gui/views/step_editor.h"

#include <QFormLayout>
#include <QLabel>
#include <QPushButton>
#include <QShortcut>
#include <QSignalBlocker>
#include <QTextBrowser>
#include <QToolButton>
#include <QVBoxLayout>

#include "polyhedral/json_text.h"

namespace nautilus::gui {
namespace {

using nlohmann::json;

constexpr int kSettleMs = 150;

QString editor_text(const std::string& s) { return QString::fromStdString(s).toHtmlEscaped(); }

QString editor_pre(const std::string& s) {
  return QStringLiteral("<pre style='margin:2px 0 6px 0'>%1</pre>").arg(editor_text(s));
}

// What a transform is, from the registry.
QString help_html(const poly::TransformInfo& t) {
  QString out = QStringLiteral("<p>%1</p>").arg(editor_text(t.doc));
  if (!t.before.empty())
    out += QStringLiteral("<b>%1</b>%2<b>%3</b>%4")
               .arg(StepEditor::tr("before"), editor_pre(t.before), StepEditor::tr("after"),
                    editor_pre(t.after));
  return out;
}

// A transform that a suggestion speaks of becomes a link.
QString linked(const std::string& suggestion) {
  QString out = editor_text(suggestion);
  for (const poly::TransformInfo& t : poly::transforms()) {
    const QString name = QString::fromStdString(t.name);
    if (!name.contains(u'_') || !out.contains(name)) continue;
    out.replace(name, QStringLiteral("<a href='transform:%1'>%1</a>").arg(name));
  }
  return out;
}

QString attempt_html(const Attempt& a) {
  const VerdictStory& v = a.verdict;
  QString out;
  if (!v.suggest.empty())
    out += QStringLiteral("<p>%1 %2</p>").arg(StepEditor::tr("Try:"), linked(v.suggest));
  for (const WitnessStory& w : v.witness)
    if (v.kind == poly::VerdictKind::Repairable)
      out += QStringLiteral("<p>%1 %2</p>")
                 .arg(StepEditor::tr("By itself the order would break:"), editor_text(w.text));
  for (const RepairStory& r : v.repairs)
    for (const auto& [tensor, correction] : r.corrections)
      out += QStringLiteral("<p>%1<br><code>%2 \u2190 %3</code></p>")
                 .arg(StepEditor::tr("Correction of the running value:"), editor_text(tensor),
                      editor_text(correction));
  for (const std::string& r : v.relaxations) out += QStringLiteral("<p>%1</p>").arg(editor_text(r));
  if (!a.diff.empty())
    out +=
        QStringLiteral("<b>%1</b>%2").arg(StepEditor::tr("the tree changes"), editor_pre(a.diff));
  return out;
}

}  // namespace

QString verdict_glyph(poly::VerdictKind k) {
  switch (k) {
    case poly::VerdictKind::Legal:
      return QStringLiteral("✓");
    case poly::VerdictKind::Repairable:
      return QStringLiteral("⚒");
    case poly::VerdictKind::Illegal:
      return QStringLiteral("✗");
    case poly::VerdictKind::Unknown:
      break;
  }
  return QStringLiteral("?");
}

QColor verdict_colour(poly::VerdictKind k, const Theme& theme) {
  switch (k) {
    case poly::VerdictKind::Legal:
      return theme.good();
    case poly::VerdictKind::Repairable:
      return theme.warning();
    case poly::VerdictKind::Illegal:
      return theme.bad();
    case poly::VerdictKind::Unknown:
      break;
  }
  return theme.muted();
}

QString verdict_html(const VerdictStory& v, const Theme& theme) {
  return QStringLiteral("<span style='color:%1'><b>%2</b></span> %3")
      .arg(verdict_colour(v.kind, theme).name(), verdict_glyph(v.kind), editor_text(headline(v)));
}

StepEditor::StepEditor(Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setAccessibleName(tr("Transform"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(8, 6, 8, 6);
  auto* head = new QHBoxLayout;
  title_ = new QLabel(this);
  QFont bold = title_->font();
  bold.setBold(true);
  title_->setFont(bold);
  help_ = new QToolButton(this);
  help_->setText(QStringLiteral("?"));
  help_->setCheckable(true);
  help_->setToolTip(tr("What this transform does and when it is legal, with an example"));
  help_->setAccessibleName(tr("help on the transform"));
  head->addWidget(title_, 1);
  head->addWidget(help_);
  column->addLayout(head);
  summary_ = new QLabel(this);
  summary_->setWordWrap(true);
  column->addWidget(summary_);
  form_ = new QWidget(this);
  column->addWidget(form_);
  verdict_ = new QLabel(this);
  verdict_->setWordWrap(true);
  verdict_->setTextFormat(Qt::RichText);
  verdict_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  verdict_->setAccessibleName(tr("verdict"));
  column->addWidget(verdict_);
  details_ = new QTextBrowser(this);
  details_->setOpenLinks(false);
  details_->setAccessibleName(tr("witness, corrections and changes"));
  details_->setFrameShape(QFrame::NoFrame);
  column->addWidget(details_, 1);
  auto* buttons = new QHBoxLayout;
  preview_ = new QToolButton(this);
  preview_->setText(tr("Show after"));
  preview_->setCheckable(true);
  preview_->setToolTip(tr("Show the tree as it would be after this step"));
  apply_ = new QPushButton(tr("Apply"), this);
  cancel_ = new QPushButton(tr("Cancel"), this);
  cancel_->setToolTip(tr("Close without applying (Escape)"));
  buttons->addWidget(preview_);
  buttons->addStretch(1);
  buttons->addWidget(cancel_);
  buttons->addWidget(apply_);
  column->addLayout(buttons);
  auto* escape = new QShortcut(Qt::Key_Escape, this);
  escape->setContext(Qt::WidgetWithChildrenShortcut);
  connect(escape, &QShortcut::activated, cancel_, &QPushButton::click);
  settle_.setSingleShot(true);
  settle_.setInterval(kSettleMs);
  connect(&settle_, &QTimer::timeout, this, [this] {
    if (active()) asked(step());
  });
  connect(help_, &QToolButton::toggled, this, &StepEditor::show_help);
  connect(preview_, &QToolButton::toggled, this, &StepEditor::preview);
  connect(apply_, &QPushButton::clicked, this, [this] {
    if (attempt_) apply_clicked(attempt_->verdict.accepted() ? attempt_->step : step());
  });
  connect(cancel_, &QPushButton::clicked, this, [this] {
    end();
    closed();
  });
  connect(details_, &QTextBrowser::anchorClicked, this,
          [this](const QUrl& url) { follow_suggestion(url.toString()); });
  connect(&theme_, &Theme::changed, this, &StepEditor::show_verdict);
}

void StepEditor::begin(const poly::TransformInfo& t, const TreePicture& tree, poly::NodeId selected,
                       const std::string& statement) {
  transform_ = &t;
  tree_ = tree;
  make_fields();
  set_values(first_draft(tree, t, selected, statement));
}

void StepEditor::begin(const poly::TransformStep& step, const TreePicture& tree) {
  const poly::TransformInfo* t = poly::transform(step.name);
  if (!t) return;
  transform_ = t;
  tree_ = tree;
  make_fields();
  const json given = poly::read_json(step.params.empty() ? "{}" : step.params);
  json all = first_draft(tree, *t, -1, "");
  if (given.is_object())
    for (const auto& [key, value] : given.items()) all[key] = value;
  set_values(all);
}

void StepEditor::end() {
  settle_.stop();
  on_picking(nullptr, false);
  transform_ = nullptr;
  attempt_.reset();
  failed_.clear();
}

void StepEditor::make_fields() {
  on_picking(nullptr, false);
  qDeleteAll(fields_);
  fields_.clear();
  delete form_->layout();
  qDeleteAll(form_->findChildren<QLabel*>(Qt::FindDirectChildrenOnly));
  auto* layout = new QFormLayout(form_);
  layout->setContentsMargins(0, 2, 0, 2);
  layout->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  for (const poly::ParamInfo& p : transform_->params) {
    StepField* f = make_field(p, form_);
    auto* label = new QLabel(QString::fromStdString(p.name), form_);
    label->setToolTip(QString::fromStdString(p.help));
    label->setBuddy(f->focusProxy() ? f->focusProxy() : f);
    layout->addRow(label, f);
    connect(f, &StepField::edited, this, [this, f] { on_edited(f); });
    connect(f, &StepField::picking, this, [this, f](bool on) { on_picking(f, on); });
    fields_ << f;
  }
  title_->setText(QString::fromStdString(transform_->name));
  summary_->setText(QString::fromStdString(transform_->summary));
  const QSignalBlocker quiet_help(help_);
  help_->setChecked(false);
  preview_->setChecked(false);
}

// The node first: what the others can be depends on it.
void StepEditor::set_values(const json& params) {
  for (StepField* f : fields_) {
    const QSignalBlocker quiet(f);
    f->refresh(tree_, *transform_, params);
    const auto at = params.find(f->info().name);
    f->set_value(at == params.end() ? json() : *at);
  }
  on_edited(nullptr);
}

json StepEditor::params() const {
  json out = json::object();
  for (const StepField* f : fields_)
    if (json v = f->value(); !v.is_null()) out[f->info().name] = std::move(v);
  return out;
}

poly::TransformStep StepEditor::step() const {
  return {transform_ ? transform_->name : std::string(), params().dump()};
}

StepField* StepEditor::field(const QString& name) const {
  for (StepField* f : fields_)
    if (QString::fromStdString(f->info().name) == name) return f;
  return nullptr;
}

void StepEditor::on_edited(StepField* from) {
  if (!transform_) return;
  const bool others = from && (from->info().kind == poly::ParamKind::Node ||
                               from->info().kind == poly::ParamKind::Name);
  if (others)
    for (StepField* f : fields_)
      if (f != from && f->info().kind != poly::ParamKind::Node) {
        const QSignalBlocker quiet(f);
        f->refresh(tree_, *transform_, params());
      }
  attempt_.reset();
  failed_.clear();
  preview_->setChecked(false);
  show_verdict();
  settle_.start();
}

void StepEditor::on_picking(StepField* from, bool on) {
  StepField* before = picking_;
  picking_ = on ? from : nullptr;
  if (before && before != picking_ && before->picker()) {
    const QSignalBlocker quiet(before);
    before->picker()->setChecked(false);
  }
  picking_changed(picking_ != nullptr);
}

void StepEditor::pick(poly::NodeId id) {
  if (!picking_) return;
  StepField* f = picking_;
  if (f->picked(id)) f->picker()->setChecked(false);
}

void StepEditor::set_attempt(const Attempt& a) {
  if (!active()) return;
  attempt_ = a;
  show_verdict();
}

void StepEditor::set_failed(const QString& why) {
  if (!active()) return;
  failed_ = why;
  show_verdict();
}

void StepEditor::show_verdict() {
  if (!active()) return;
  const bool known = attempt_.has_value(), good = known && attempt_->verdict.accepted();
  const bool meaningless = known && attempt_->verdict.malformed;
  if (known)
    verdict_->setText(verdict_html(attempt_->verdict, theme_));
  else
    verdict_->setText(failed_.isEmpty() ? tr("… finding the verdict") : failed_.toHtmlEscaped());
  apply_->setEnabled(known && !meaningless);
  apply_->setText(known && !good && !meaningless ? tr("Keep as refused") : tr("Apply"));
  apply_->setToolTip(good ? tr("Make this candidate (Ctrl+Return)")
                          : tr("Keep the refused step in the search tree, with its witness"));
  preview_->setEnabled(good);
  if (!good && preview_->isChecked()) preview_->setChecked(false);
  if (!help_->isChecked()) details_->setHtml(known ? attempt_html(*attempt_) : QString());
}

void StepEditor::show_help(bool on) {
  if (!active()) return;
  if (on)
    details_->setHtml(help_html(*transform_));
  else
    show_verdict();
}

// "try rolling_update": the same nodes, with that transform.
void StepEditor::follow_suggestion(const QString& link) {
  if (!active() || !link.startsWith(QStringLiteral("transform:"))) return;
  const std::string name = link.mid(10).toStdString();
  const poly::TransformInfo* t = poly::transform(name);
  if (!t) return;
  json kept = json::object();
  const json now = params();
  for (const poly::ParamInfo& p : t->params)
    if (now.contains(p.name)) kept[p.name] = now[p.name];
  const TreePicture tree = tree_;
  begin(poly::TransformStep{name, kept.dump()}, tree);
}

}  // namespace nautilus::gui
