#include "gui/app/key_sheet.h"

#include <QDialogButtonBox>
#include <QTextBrowser>
#include <QVBoxLayout>

namespace nautilus::gui {

QList<std::pair<QString, QList<std::pair<QString, QString>>>> key_rows(const Commands& commands) {
  QList<std::pair<QString, QList<std::pair<QString, QString>>>> out;
  for (const Commands::Command& c : commands.all()) {
    QStringList keys;
    for (const QKeySequence& k : c.action->shortcuts())
      keys << k.toString(QKeySequence::PortableText);
    if (keys.isEmpty()) continue;
    auto at =
        std::find_if(out.begin(), out.end(), [&](const auto& g) { return g.first == c.group; });
    if (at == out.end()) at = out.insert(out.end(), {c.group, {}});
    QString words = c.action->text();
    at->second << std::pair(keys.join(", "), words.remove('&'));
  }
  out << std::pair(
      QObject::tr("Pictures"),
      QList<std::pair<QString, QString>>{
          {QObject::tr("Arrows"), QObject::tr("Select the neighbour")},
          {QObject::tr("W A S D, Shift+arrows, drag"), QObject::tr("Move the picture")},
          {QObject::tr("Wheel, +, -"), QObject::tr("Zoom, to the cursor")},
          {QObject::tr("Space"), QObject::tr("Show everything")},
          {QObject::tr("Click"), QObject::tr("Select")},
          {QObject::tr("Ctrl+click"), QObject::tr("Keep lit; the rest is dimmed")},
          {QObject::tr("Double click, Shift+Enter"),
           QObject::tr("Make it the root of the picture")},
          {QObject::tr("Tab, Shift+Tab"), QObject::tr("Next, previous control")}});
  return out;
}

QString keys_as_markdown(const Commands& commands) {
  QString out = "| | keys |\n|---|---|\n";
  for (const auto& [group, rows] : key_rows(commands)) {
    QStringList cells;
    for (const auto& [keys, what] : rows) cells << "**" + keys + "** " + what;
    out += "| " + group + " | " + cells.join(" · ") + " |\n";
  }
  return out.replace("…", "");
}

KeySheet::KeySheet(const Commands& commands, QWidget* parent) : QDialog(parent) {
  setWindowTitle(tr("Keys"));
  setAttribute(Qt::WA_DeleteOnClose);
  resize(640, 720);
  QString html;
  for (const auto& [group, rows] : key_rows(commands)) {
    html += "<h3>" + group.toHtmlEscaped() + "</h3><table width='100%'>";
    for (const auto& [keys, what] : rows)
      html += "<tr><td width='45%'><b>" + keys.toHtmlEscaped() + "</b></td><td>" +
              what.toHtmlEscaped() + "</td></tr>";
    html += "</table>";
  }
  auto* page = new QTextBrowser(this);
  page->setAccessibleName(windowTitle());
  page->setHtml(html);
  auto* close = new QDialogButtonBox(QDialogButtonBox::Close, this);
  connect(close, &QDialogButtonBox::rejected, this, &QDialog::reject);
  auto* box = new QVBoxLayout(this);
  box->addWidget(page);
  box->addWidget(close);
}

}  // namespace nautilus::gui
