// Pictures and data of views as files: by the name's ending .svg, .png, .pdf, .csv or .json.
#pragma once

#include <QSizeF>
#include <optional>

#include "gui/views/view.h"

namespace nautilus::gui {

// Written whole or not at all. A Refusal names the file and what the system said.
std::optional<Refusal> export_view(View& view, const Theme& theme, const QString& file);
// With a size of its own.
std::optional<Refusal> export_picture(View& view, const Theme& theme, const QString& file,
                                      QSizeF size);
QByteArray rows_as_csv(const QList<QJsonObject>& rows);
QByteArray rows_as_json(const QList<QJsonObject>& rows);

}  // namespace nautilus::gui
