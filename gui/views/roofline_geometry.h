// The roofs of a machine on logarithmic axes: lines, ridge points and the frame, without a window.
// The world of a roofline's canvas is x = log10(FLOP/byte) and y = -log10(FLOP/s), so that a decade
// is as long across as up and a bandwidth is exactly a line at 45 degrees.
#pragma once

#include <QLineF>
#include <QRectF>
#include <QString>
#include <set>
#include <string>
#include <vector>

#include "autosched/machine.h"

namespace nautilus::gui {

// What of the program the roofs depend on. All 0 or empty: not known yet.
struct ProgramUse {
  std::set<std::string> types;   // of its inputs, as in Machine::matrix
  double flops_per_special = 0;  // useful FLOP of the program as written, a special function
};

struct Roof {
  enum class Kind : uint8_t { Memory, SharedReads, Matrix, Sustained, Fma, Special };
  Kind kind = Kind::Memory;
  QString name;       // "HBM", "matrix f16, bf16"
  QString level;      // of memory roofs: the machine's name of the level
  double value = 0;   // B/s of memory roofs, else FLOP/s
  QString source;     // as in the machine's description
  QString note;       // how it was converted, when it holds
  bool shown = true;  // unless somebody chooses otherwise
  bool diagonal() const { return kind == Kind::Memory || kind == Kind::SharedReads; }
  bool secondary() const { return kind == Kind::SharedReads || kind == Kind::Sustained; }
  QString value_text() const;   // "4.49 TB/s"
  QString source_word() const;  // "measured", "datasheet", "derived", "no source"
  QString label() const;        // "HBM 4.49 TB/s, measured"
  QString explanation() const;  // the same with the whole source
};

// Every roof of the machine: outer levels first, then arithmetic from the highest down. Types with
// the same rate share a roof. Special functions are no FLOP: their rate is converted with the
// program's own FLOP a special function, and left out when that is not known.
std::vector<Roof> roofs_of(const sched::Machine& m, const ProgramUse& use);

// Where a bandwidth meets an arithmetic roof.
struct Ridge {
  size_t memory = 0, arithmetic = 0;  // roofs
  QPointF world;
};
std::vector<Ridge> ridges_of(const std::vector<Roof>& roofs);

// The part of a roof that bounds anything, cut at the edges of `visible`; null outside. A bandwidth
// ends at the highest arithmetic roof shown, an arithmetic roof begins at the fastest memory shown.
QLineF roof_line(const std::vector<Roof>& roofs, size_t k, const QRectF& visible);

// The machine's own frame, in whole decades: a decade around the ridges and everything below the
// highest roof down to the outermost bandwidth at the left edge.
QRectF machine_frame(const std::vector<Roof>& roofs);

// The same with as many whole decades more as fit an area of that shape: one to the left and up to
// three to the right, where roofs have their labels, or some below.
QRectF frame_for(const QRectF& machine, QSizeF area);

// The least of what bounds any plan at this intensity and level, from the machine alone, FLOP/s.
double attainable(const sched::Machine& m, const std::string& level, double intensity);
double attainable(double bandwidth, double arithmetic, double intensity);  // 0: not known
double highest_arithmetic(const sched::Machine& m);

QPointF roofline_point(double intensity, double flops);  // to the world
double world_intensity(QPointF world);
double world_flops(QPointF world);

// Ticks of an axis from `lo` to `hi` (log10): decades, and between them 2 and 5, or more, when a
// decade is longer than `pixels_a_decade` asks for.
struct LogTick {
  double at = 0;  // log10
  bool decade = false, labelled = false;
  double value = 0;
};
std::vector<LogTick> log_ticks(double lo, double hi, double pixels_a_decade);

}  // namespace nautilus::gui
