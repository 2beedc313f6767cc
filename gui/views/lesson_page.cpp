// The text of a step, on screen and on paper.
#include <QScrollBar>
#include <QTextDocument>

#include "gui/views/lesson_view.h"

namespace nautilus::gui {
namespace {

QString style_of(const Theme& t) {
  return QString("body, p, li, h2 { color: %1; } a { color: %2; } code { color: %3; }")
      .arg(t.text().name(), t.accent().name(), t.text().name());
}

}  // namespace

// What is quoted, by what the bench said of this step; "…" until then.
QString LessonView::fill(const std::string& text, bool bold) const {
  const auto facts = facts_.find(run_.at());
  return QString::fromStdString(filled(text, [&](const LessonNumber& n) -> std::string {
    if (facts == facts_.end()) return "…";
    const auto v = facts->second.quoted.find(to_string(n));
    const std::string said = v == facts->second.quoted.end() ? "?" : v->second;
    return bold ? "**" + said + "**" : said;
  }));
}

QString LessonView::page_text() const {
  if (!run_.playing()) return {};
  const LessonStep& s = run_.step();
  QString out = "## " + QString::fromStdString(s.title) + "\n\n" + fill(s.text, true);
  if (run_.phase() == LessonRun::Phase::Done && !s.after.empty())
    out += "\n\n" + fill(s.after, true);
  return out;
}

// The whole step as one document: text, question, answer.
QString LessonView::document_text() const {
  if (!run_.playing()) return tr("# Lessons\n");
  QString out = "# " + QString::fromStdString(run_.lesson().title) + "\n\n" + page_text();
  const LessonStep& s = run_.step();
  if (s.question) out += "\n\n**" + fill(s.question->text, false) + "**\n\n";
  if (s.question)
    for (const LessonQuestion::Choice& c : s.question->choices)
      out += "- " + fill(c.text, false) + "\n";
  if (run_.phase() == LessonRun::Phase::Done && s.question)
    out += "\n\n" + fill(run_.judgement(run_.at()).toStdString(), false);
  if (s.transform) out += "\n\n`" + transform_words(*s.transform) + "`";
  const LessonRun::Progress& p = run_.progress(run_.at());
  if (s.transform && p.node >= 0)
    out += ": **" + QString::fromStdString(p.outcome.verdict) + "** " +
           QString::fromStdString(p.outcome.reason);
  return out;
}

void LessonView::refresh() {
  if (!run_.playing()) return;
  if (shown_step_ != run_.at()) enter_step();
  head_->setText(QString::fromStdString(run_.lesson().title));
  QStringList locked;
  for (const std::string& what : run_.lesson().locked)
    if (what == "machine")
      locked << QString::fromStdString(shared_.document.session().options.machine.name);
    else
      locked << QString::fromStdString(poly::sizes_text(shared_.document.session().options.sizes));
  locks_->setText(tr("Locked: %1").arg(locked.join("  ·  ")));
  locks_->setVisible(!locked.isEmpty());
  const QString score = run_.score();
  score_->setText(tr("Step %1 of %2").arg(run_.at() + 1).arg(run_.count()) +
                  (score.isEmpty() ? score : QStringLiteral("  ·  ") + score));
  bar_->setMaximum(run_.count());
  bar_->setValue(run_.reached() + (run_.finished() ? 1 : 0));
  const int scrolled = text_->verticalScrollBar()->value();
  const bool after = run_.phase() == LessonRun::Phase::Done && !run_.step().after.empty();
  text_->document()->setDefaultStyleSheet(style_of(shared_.theme));
  QTextDocument markdown;
  markdown.setMarkdown(page_text());
  text_->setHtml(markdown.toHtml());
  // What is said after the answer is read next.
  text_->verticalScrollBar()->setValue(
      after && !shown_after_ ? text_->verticalScrollBar()->maximum() : scrolled);
  shown_after_ = after;
  const QString broken = run_.broken(shared_.document.session().options);
  panel_->refresh(broken.isEmpty() ? QString() : broken + tr(" Numbers may differ from the text."));
}

void LessonView::paint_picture(QPainter& p, const QRectF& page) {
  p.fillRect(page, shared_.theme.background());
  QTextDocument doc;
  doc.setDefaultFont(shared_.theme.ui());
  doc.setDefaultStyleSheet(style_of(shared_.theme));
  QString text = document_text();
  if (!run_.playing())
    for (int k = 0; k < lessons_->count(); ++k)
      text += "\n" + lessons_->item(k)->text().replace("\n", " – ") + "\n";
  QTextDocument markdown;
  markdown.setMarkdown(text);
  doc.setHtml(markdown.toHtml());
  const double margin = 12;
  doc.setTextWidth(page.width() - 2 * margin);
  const double scale = std::min(1.0, (page.height() - 2 * margin) / doc.size().height());
  p.save();
  p.translate(page.left() + margin, page.top() + margin);
  p.scale(scale, scale);
  doc.drawContents(&p);
  p.restore();
}

QList<QJsonObject> LessonView::export_rows() const {
  QList<QJsonObject> out;
  for (int k = 0; run_.playing() && k < run_.count(); ++k) {
    const LessonStep& s = run_.lesson().steps[static_cast<size_t>(k)];
    const LessonRun::Progress& p = run_.progress(k);
    QJsonObject row{{"lesson", QString::fromStdString(run_.lesson().name)},
                    {"step", QString::fromStdString(s.id)},
                    {"title", QString::fromStdString(s.title)}};
    if (s.question) row["question"] = QString::fromStdString(s.question->text);
    if (p.guess) row["prediction"] = *p.guess;
    if (p.answer) row["answer"] = run_.judgement(k);
    if (p.guess && p.answer) row["right"] = run_.right(k);
    if (p.node >= 0) row["verdict"] = QString::fromStdString(p.outcome.verdict);
    out << row;
  }
  return out;
}

}  // namespace nautilus::gui
