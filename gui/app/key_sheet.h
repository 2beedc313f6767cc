// Every key on one page.
#pragma once

#include <QDialog>

#include "gui/app/commands.h"

namespace nautilus::gui {

// As rows "keys, what they do" by group: the commands' own, and what all canvases share.
QList<std::pair<QString, QList<std::pair<QString, QString>>>> key_rows(const Commands& commands);

// The same as a table of Markdown, a group a row: the guide has it.
QString keys_as_markdown(const Commands& commands);

class KeySheet : public QDialog {
  Q_OBJECT
 public:
  KeySheet(const Commands& commands, QWidget* parent);
};

}  // namespace nautilus::gui
