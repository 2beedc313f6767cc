// Numbers as people write them in papers: SI prefixes, three digits, a gap that does not break
// before the unit. Whole numbers have no fraction: "4 TB/s" is exact, "4.00 TB/s" is not. What is
// not finite is "–". Whatever the number, the text is a short one.
#pragma once

#include <QString>

#include "autosched/search.h"

namespace nautilus::gui {

QString si(double value, const QString& unit, int digits = 3);  // "4.49 TB/s"
QString seconds_text(double seconds);                           // "3.66 µs"
QString said_of(const sched::Comparison& outputs);              // ", right"
QString bytes_text(double bytes);                               // of a memory: "96 KiB"
QString count_text(qint64 n);                                   // "100 000"
QString number_text(double v);                                  // "4 096", "12.5 M"
QString plain_text(double v, const QString& unit);              // "0.25 FLOP/B": never a prefix
QString percent_text(double share);                             // "16 %", "0.4 %"
QString whole_text(double v);  // of a whole number, rounded: "100000"
QString ratio_text(double v);  // of two of a kind: "0.0052", "1.50", "12.5", "1 234"
// By its unit: "s", "B", "", or what takes a prefix.
QString quantity_text(double v, const QString& unit);
// 1, 2 or 5 times a power of ten, so that about `count` of them fit: for the ticks of an axis.
double round_step(double span, int count);

}  // namespace nautilus::gui
