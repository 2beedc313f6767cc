#include "gui/views/why_text.h"

#include <algorithm>

#include "gui/models/quantity.h"
#include "gui/models/tree_data.h"
#include "gui/views/iteration_scene.h"
#include "gui/views/step_editor.h"

namespace nautilus::gui {
namespace {

// What nobody reads is not laid out: a megabyte in one paragraph takes minutes.
QString why_text(const std::string& s) {
  constexpr qsizetype kMost = 2000;
  const QString all = QString::fromStdString(s);
  if (all.size() <= kMost) return all.toHtmlEscaped();
  return all.left(kMost).toHtmlEscaped() +
         QObject::tr(" … (%n more)", nullptr, int(all.size() - kMost));
}
QString why_code(const std::string& s) {
  return QStringLiteral("<code>%1</code>").arg(why_text(s));
}
QString why_coloured(const QString& s, const QColor& c) {
  return QStringLiteral("<span style='color:%1'><b>%2</b></span>").arg(c.name(), s);
}
QString sentence(QString s) {
  s[0] = s[0].toUpper();
  return s.endsWith(u'.') ? s : s + u'.';
}
QString why_heading(const QString& s) {
  return QStringLiteral("<p style='margin:10px 0 2px 0'><b>%1</b></p>").arg(s);
}
QString statement_link(const std::string& s) {
  return QStringLiteral("<a href='statement:%1'>%1</a>").arg(why_text(s));
}
QString statement_links(const std::vector<std::string>& statements) {
  QString out;
  for (const std::string& s : statements)
    out += (out.isEmpty() ? QString() : QStringLiteral(", ")) + statement_link(s);
  return out;
}

// The two instances side by side, with their index values.
QString witness_html(const WitnessStory& w, const Theme& theme) {
  auto values = [](const std::vector<std::string>& dims, const std::vector<int64_t>& at) {
    QString out;
    for (size_t k = 0; k < at.size(); ++k)
      out += QStringLiteral("%1%2 = %3")
                 .arg(k ? QStringLiteral(", ") : QString(),
                      k < dims.size() ? why_text(dims[k]) : QString())
                 .arg(at[k]);
    return out;
  };
  QString sizes;
  for (const auto& [name, value] : w.sizes)
    sizes += QStringLiteral("%1%2 = %3")
                 .arg(sizes.isEmpty() ? QString() : QStringLiteral(", "), why_text(name))
                 .arg(value);
  const QString row = QStringLiteral("<tr><td style='padding-right:10px'>%1</td><td>%2</td></tr>");
  QString out = why_heading(QObject::tr("Witness"));
  out += QStringLiteral("<table style='margin-bottom:8px'>");
  out += row.arg(QObject::tr("this"),
                 statement_link(w.source) + u' ' + values(w.source_dims, w.source_at));
  out += row.arg(why_coloured(QObject::tr("must come before"), theme.bad()),
                 statement_link(w.sink) + u' ' + values(w.sink_dims, w.sink_at));
  out +=
      row.arg(QObject::tr("because of"), why_code(element_text(w.tensor, w.element)) + u' ' +
                                             QObject::tr("(%1 dependence)").arg(why_text(w.kind)));
  if (!sizes.isEmpty()) out += row.arg(QObject::tr("at"), sizes);
  return out + QStringLiteral("</table>");
}

QString repair_html(const RepairStory& r, const Theme& theme) {
  QString out = why_heading(QObject::tr("Correction of the running value"));
  out += QStringLiteral("<p>%1</p>")
             .arg(QObject::tr(
                      "While %1 still changes, %2 is folded with values that are not final. Before "
                      "each step it is corrected:")
                      .arg(statement_links(r.sources), statement_links(r.targets)));
  for (const auto& [tensor, correction] : r.corrections)
    out += QStringLiteral("<p style='margin-left:12px'>%1 ← %2</p>")
               .arg(why_code(tensor), why_code(correction));
  if (!r.via.empty())
    out += QStringLiteral("<p>%1 %2</p>")
               .arg(QObject::tr("On the way, with running values:"), statement_links(r.via));
  if (!r.term.empty())
    out += QStringLiteral("<p>%1 %2</p>").arg(QObject::tr("A term is g ="), why_code(r.term));
  for (const DerivationStory& d : r.derivations) {
    out += QStringLiteral("<p><i>%1</i></p><ol>")
               .arg(QObject::tr("Derived by %1").arg(why_text(d.method)));
    for (const std::string& s : d.steps) out += QStringLiteral("<li>%1</li>").arg(why_code(s));
    out += QStringLiteral("</ol>");
    if (!d.result.empty()) out += QStringLiteral("<p>⇒ %1</p>").arg(why_code(d.result));
  }
  if (!r.obligations.empty()) {
    out += QStringLiteral("<p><i>%1</i></p><table>").arg(QObject::tr("What had to be shown"));
    for (const ObligationStory& o : r.obligations)
      out += QStringLiteral("<tr><td>%1&nbsp;</td><td>%2<br><small>%3</small></td></tr>")
                 .arg(o.discharged ? why_coloured(QStringLiteral("✓"), theme.good())
                                   : why_coloured(QStringLiteral("✗"), theme.bad()),
                      why_code(o.claim), why_text(o.method));
    out += QStringLiteral("</table>");
  }
  out += QStringLiteral("<p>%1 %2</p>").arg(QObject::tr("Numerics:"), why_text(r.numerics));
  for (const std::string& remark : {r.lazy, r.note})
    if (!remark.empty()) out += QStringLiteral("<p>%1</p>").arg(sentence(why_text(remark)));
  return out;
}

// The verdict without the witness, which stands in a table below it.
VerdictStory without_witness(VerdictStory v) {
  if (v.kind != poly::VerdictKind::Illegal || v.witness.empty()) return v;
  const std::string& told = v.witness.front().text;
  const size_t at = told.empty() ? std::string::npos : v.why.find(told);
  if (at == std::string::npos) return v;
  v.why.erase(at, told.size());
  const size_t first = v.why.find_first_not_of(";: ");
  v.why = first == std::string::npos ? std::string("see the witness") : v.why.substr(first);
  return v;
}

QString step_html(const WhyStep& s, size_t number, const Theme& theme) {
  QString out =
      QStringLiteral("<p style='margin:8px 0 0 0'>%1. %2<br>%3</p>")
          .arg(number)
          .arg(why_code(step_text(s.step)), verdict_html(without_witness(s.verdict), theme));
  if (!s.verdict.suggest.empty())
    out += QStringLiteral("<p>%1 %2</p>")
               .arg(QObject::tr("What may help:"), why_text(s.verdict.suggest));
  for (const WitnessStory& w : s.verdict.witness)
    if (s.verdict.kind == poly::VerdictKind::Illegal) out += witness_html(w, theme);
  for (const VerdictStory& plain : s.plain) {
    out += why_heading(QObject::tr("Order alone would not do"));
    out += QStringLiteral("<p>%1 %2</p>")
               .arg(QObject::tr("The plain fusion is"), verdict_html(plain, theme));
    if (!s.verdict.accepted()) continue;
    for (const WitnessStory& w : plain.witness) out += witness_html(w, theme);
  }
  for (const RepairStory& r : s.verdict.repairs) out += repair_html(r, theme);
  for (const std::string& r : s.verdict.relaxations)
    out += QStringLiteral("<p><small>%1</small></p>").arg(why_text(r));
  return out;
}

// Corrections that were accepted before: where, with the witness, and what each is.
QString inherited_html(const Why& w, const WhyContext& c, const Theme& theme) {
  if (w.inherited.empty() || w.failing()) return QString();
  QString out = why_heading(QObject::tr("Corrections that it rests on"));
  for (const auto& [id, decision] : c.repaired_at)
    out += QStringLiteral("<p><a href='candidate:%1'>%2</a></p>")
               .arg(id)
               .arg(QObject::tr("from node %1: %2").arg(id).arg(why_text(decision)));
  for (const RepairStory& r : w.inherited) out += repair_html(r, theme);
  return out;
}

QString numbers_html(const Why& w, const Theme& theme) {
  if (w.numbers.empty()) return QString();
  QString out =
      why_heading(QObject::tr("Numbers")) + QStringLiteral("<table style='margin-bottom:8px'>");
  for (const WhyNumber& n : w.numbers) {
    const QString unit = QString::fromStdString(n.unit);
    QString limit;
    if (n.limit) {
      limit = QObject::tr("%1 %2").arg(why_text(n.limit_name), quantity_text(*n.limit, unit));
      if (*n.limit > 0) limit += QStringLiteral(" (%1)").arg(percent_text(n.value / *n.limit));
    }
    const QString value = quantity_text(n.value, unit);
    out +=
        QStringLiteral(
            "<tr><td style='padding-right:10px'>%1</td><td "
            "style='padding-right:10px'>%2</td><td>%3</td></tr>")
            .arg(why_text(n.name),
                 n.over() ? why_coloured(QStringLiteral("▲ ") + value, theme.bad()) : value, limit);
  }
  return out + QStringLiteral("</table>");
}

}  // namespace

QString why_html(const Why& w, const sched::SearchNode& n, const WhyContext& c,
                 const Theme& theme) {
  QString out = QStringLiteral("<p>%1 %2</p>")
                    .arg(why_coloured(Theme::glyph(n.state), theme.state(n.state)),
                         QStringLiteral("<b>%1</b>").arg(why_text(n.decision)));
  out += QStringLiteral("<p>%1%2</p>")
             .arg(n.by_hand ? QObject::tr("Made by hand. ") : QString(),
                  why_text(state_sentence(n, c)));
  if (const std::string told = measured_sentence(c); !told.empty())
    out += QStringLiteral("<p>%1 %2</p>")
               .arg(c.wrong()                  ? why_coloured(QStringLiteral("✗"), theme.bad())
                    : c.measured->right.made() ? why_coloured(QStringLiteral("✓"), theme.good())
                                               : QString(),
                    why_text(told));
  if (n.state == sched::NodeState::Duplicate && c.same_as >= 0)
    out += QStringLiteral("<p><a href='candidate:%1'>%2</a></p>")
               .arg(c.same_as)
               .arg(QObject::tr("go to node %1").arg(c.same_as));
  const bool retold = w.failing() && n.reason.find(w.failing()->verdict.why) != std::string::npos;
  if (!n.reason.empty() && !retold) out += QStringLiteral("<p>%1</p>").arg(why_text(n.reason));
  // What the decision rests on comes first: the step that failed, or the numbers.
  const size_t failing = w.refused < 0 ? w.steps.size() : static_cast<size_t>(w.refused);
  if (w.failing()) out += step_html(*w.failing(), failing + 1, theme);
  out += numbers_html(w, theme);
  for (const std::string& r : w.remarks)
    out += QStringLiteral("<p>%1</p>").arg(why_coloured(why_text(r), theme.warning()));
  if (failing > 0 && !w.steps.empty())
    out += why_heading(w.failing() ? QObject::tr("The steps before it, judged again")
                                   : QObject::tr("Its steps, judged again"));
  for (size_t k = 0; k < failing; ++k) {
    const WhyStep& s = w.steps[k];
    const bool dull = s.verdict.kind == poly::VerdictKind::Legal && s.verdict.relaxations.empty();
    if (dull && w.steps.size() > 4) {  // a run of legal steps is told in short
      out += QStringLiteral("<p style='margin:2px 0 0 0'>%1. %2 %3</p>")
                 .arg(k + 1)
                 .arg(why_code(step_text(s.step)), why_coloured(QStringLiteral("✓"), theme.good()));
      continue;
    }
    out += step_html(s, k + 1, theme);
  }
  return out + inherited_html(w, c, theme);
}

QString picture_caption(const Why& w) {
  if (!w.picture) return QString();
  QString out;
  for (const auto& [name, value] : w.picture->sizes)
    out += QStringLiteral("%1%2=%3")
               .arg(out.isEmpty() ? QString() : QStringLiteral(", "), QString::fromStdString(name))
               .arg(value);
  out = QObject::tr("At %1").arg(out);
  if (w.arrow < 0)
    return out + QObject::tr(
                     ": no instances that are drawn here run in the wrong order; those of the text "
                     "above do.");
  const IterArrow& a = w.picture->arrows[static_cast<size_t>(w.arrow)];
  const std::vector<int> steps = steps_of(*w.picture, false);
  const auto end = std::max_element(steps.begin(), steps.end());
  return out +
         QObject::tr(": %1 must come before %2, but runs in step %3 of %5, not before step %4%6.")
             .arg(point_text(*w.picture, a.from), point_text(*w.picture, a.to))
             .arg(steps[static_cast<size_t>(a.from)] + 1)
             .arg(steps[static_cast<size_t>(a.to)] + 1)
             .arg(1 + *end)
             .arg(a.fate == Fate::Paid ? QObject::tr("; a correction pays for that") : QString());
}

}  // namespace nautilus::gui
