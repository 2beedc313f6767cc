#include "gui/app/exporting.h"

#include <QBuffer>
#include <QImage>
#include <QJsonArray>
#include <QJsonDocument>
#include <QPdfWriter>
#include <QRegularExpression>
#include <QSet>
#include <QSvgGenerator>

#include "autosched/file.h"

namespace nautilus::gui {
namespace {

constexpr double kPngScale = 2;
constexpr double kMostPixels = 8192;

Refusal refuse(const QString& file, const QString& why) {
  return {"export", file.toStdString(), why.toStdString(),
          "a name that ends with .svg, .png, .pdf, .csv or .json"};
}

constexpr int kExportResolution = 96;  // pixels an inch, as CSS counts them

// QSvgGenerator says the size in millimetres, which programs turn into pixels differently.
QByteArray sized_in_pixels(QByteArray svg, QSize size) {
  static const QRegularExpression form(R"(<svg width="[^"]*mm" height="[^"]*mm")");
  const auto m = form.match(QString::fromLatin1(svg.left(1000)));
  if (m.hasMatch())
    svg.replace(
        m.capturedStart(), m.capturedLength(),
        QString("<svg width=\"%1\" height=\"%2\"").arg(size.width()).arg(size.height()).toLatin1());
  return svg;
}

QByteArray as_svg(View& view, const Theme& theme, QSizeF size) {
  QBuffer out;
  out.open(QIODevice::WriteOnly);
  QSvgGenerator svg;
  svg.setResolution(kExportResolution);
  svg.setOutputDevice(&out);
  svg.setSize(size.toSize());
  svg.setViewBox(QRectF({0, 0}, size));
  svg.setTitle(view.title());
  QPainter p(&svg);
  p.fillRect(QRectF({0, 0}, size), theme.background());
  view.paint_picture(p, QRectF({0, 0}, size));
  p.end();
  return sized_in_pixels(out.data(), size.toSize());
}

QByteArray as_png(View& view, const Theme& theme, QSizeF size) {
  const double scale =
      std::min(kPngScale, kMostPixels / std::max({size.width(), size.height(), 1.0}));
  QImage image((size * scale).toSize(), QImage::Format_ARGB32_Premultiplied);
  if (image.isNull()) return {};
  image.setDevicePixelRatio(scale);
  image.fill(theme.background());
  QPainter p(&image);
  p.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
  view.paint_picture(p, QRectF({0, 0}, size));
  p.end();
  QBuffer out;
  out.open(QIODevice::WriteOnly);
  return image.save(&out, "PNG") ? out.data() : QByteArray();
}

QByteArray as_pdf(View& view, const Theme& theme, QSizeF size) {
  QBuffer out;
  out.open(QIODevice::WriteOnly);
  QPdfWriter pdf(&out);
  constexpr double kPointsPerPixel = 0.75;
  pdf.setResolution(kExportResolution);
  pdf.setPageSize(QPageSize(size * kPointsPerPixel, QPageSize::Point));
  pdf.setPageMargins({0, 0, 0, 0});
  pdf.setTitle(view.title());
  QPainter p(&pdf);
  p.fillRect(QRectF({0, 0}, size), theme.background());
  view.paint_picture(p, QRectF({0, 0}, size));
  p.end();
  return out.data();
}

QString plain(const QJsonValue& v) {
  if (v.isString()) return v.toString();
  if (v.isBool()) return v.toBool() ? "true" : "false";
  if (v.isDouble()) return QString::number(v.toDouble(), 'g', 12);
  if (v.isNull() || v.isUndefined()) return {};
  return QString::fromUtf8(v.isArray()
                               ? QJsonDocument(v.toArray()).toJson(QJsonDocument::Compact)
                               : QJsonDocument(v.toObject()).toJson(QJsonDocument::Compact));
}

QString quoted(QString s) {
  if (!s.contains(',') && !s.contains('"') && !s.contains('\n') && !s.contains('\r')) return s;
  return '"' + s.replace("\"", "\"\"") + '"';
}

}  // namespace

QByteArray rows_as_csv(const QList<QJsonObject>& rows) {
  QStringList names;
  QSet<QString> known;
  for (const QJsonObject& r : rows)
    for (auto at = r.begin(); at != r.end(); ++at)
      if (!known.contains(at.key())) {
        known.insert(at.key());
        names << at.key();
      }
  QStringList lines;
  QStringList head;
  for (const QString& n : names) head << quoted(n);
  lines << head.join(',');
  for (const QJsonObject& r : rows) {
    QStringList fields;
    for (const QString& n : names) fields << quoted(plain(r.value(n)));
    lines << fields.join(',');
  }
  return (lines.join('\n') + '\n').toUtf8();
}

QByteArray rows_as_json(const QList<QJsonObject>& rows) {
  QJsonArray all;
  for (const QJsonObject& r : rows) all << r;
  return QJsonDocument(all).toJson();
}

std::optional<Refusal> export_view(View& view, const Theme& theme, const QString& file) {
  return export_picture(view, theme, file, view.picture_size());
}

std::optional<Refusal> export_picture(View& view, const Theme& theme, const QString& file,
                                      QSizeF size) {
  size = size.expandedTo(QSizeF(64, 64));
  const QString ending = file.section('.', -1).toLower();
  QByteArray content;
  if (ending == "svg") {
    content = as_svg(view, theme, size);
  } else if (ending == "png") {
    content = as_png(view, theme, size);
  } else if (ending == "pdf") {
    content = as_pdf(view, theme, size);
  } else if (ending == "csv" || ending == "json") {
    const QList<QJsonObject> rows = view.export_rows();
    if (rows.isEmpty()) return refuse(file, view.title() + " has no rows of data to export now");
    content = ending == "csv" ? rows_as_csv(rows) : rows_as_json(rows);
  } else {
    return refuse(file, "'." + ending + "' is no format");
  }
  if (content.isEmpty())
    return Refusal{"export", file.toStdString(),
                   QString("no picture of %1 x %2 can be made")
                       .arg(size.width())
                       .arg(size.height())
                       .toStdString(),
                   "a smaller one"};
  return sched::write_file_atomically(file.toStdString(), content.toStdString());
}

}  // namespace nautilus::gui
