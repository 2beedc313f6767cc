#include "gui/models/links.h"

#include <QRegularExpression>
#include <QStringList>
#include <QUrl>

namespace nautilus::gui {

QString to_string(const Link& l) {
  QStringList parts;
  if (l.node >= 0) parts << "node=" + QString::number(l.node);
  if (!l.view.isEmpty()) parts << "view=" + l.view;
  if (!l.lesson.isEmpty()) parts << "lesson=" + l.lesson;
  return parts.isEmpty() ? l.file : l.file + "#" + parts.join("&");
}

Link link_from_string(const QString& s, QString* ignored) {
  static const QRegularExpression form(R"(^(.*)#((?:\w+=[^#&]*)(?:&\w+=[^#&]*)*)$)",
                                       QRegularExpression::DotMatchesEverythingOption);
  QString text = s.trimmed();
  if (text.startsWith("file://")) text = QUrl(text.section('#', 0, 0)).toLocalFile() +
                                         (text.contains('#') ? "#" + text.section('#', 1) : "");
  const auto m = form.match(text);
  Link l;
  if (!m.hasMatch()) {
    l.file = text;
    return l;
  }
  l.file = m.captured(1);
  QStringList left;
  for (const QString& part : m.captured(2).split('&')) {
    const QString name = part.section('=', 0, 0), value = part.section('=', 1);
    bool good = true;
    if (name == "node") {
      const int id = value.toInt(&good);
      good = good && id >= 0;
      if (good) l.node = id;
    } else if (name == "view") {
      l.view = value;
    } else if (name == "lesson") {
      l.lesson = value;
    } else {
      good = false;
    }
    if (!good) left << part;
  }
  if (ignored) *ignored = left.join("&");
  return l;
}

}  // namespace nautilus::gui
