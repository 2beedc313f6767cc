// Numbers as people write them in papers: SI prefixes, three digits, a thin gap before the unit.
#pragma once

#include <QString>

namespace nautilus::gui {

QString si(double value, const QString& unit, int digits = 3);  // "4.49 TB/s"; "-" if not finite
QString seconds_text(double seconds);                           // "3.66 µs"
QString count_text(qint64 n);                                   // "100 000"
QString percent_text(double share);                             // "16 %", "0.4 %"

}  // namespace nautilus::gui
