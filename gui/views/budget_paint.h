// The picture of a kernel's budget: registers, shared memory, occupancy, time, and the pipeline.
#pragma once

#include <QPainter>
#include <vector>

#include "gui/models/budget_data.h"
#include "gui/models/theme.h"

namespace nautilus::gui {

// What lies under the mouse.
struct BudgetHit {
  QRectF where;
  QString tip;
  Focus focus;
};

class BudgetPainter {
 public:
  BudgetPainter(const Budget& b, const Theme& theme) : budget_(b), theme_(theme) {}
  // Paints kernel `k` to `width` and returns the height. `from`, `to`: part of the timeline shown
  // (0 to 1).
  double paint(QPainter& p, int k, double width, double from, double to, const Focus& lit);
  const std::vector<BudgetHit>& hits() const { return hits_; }
  QRectF timeline() const { return timeline_; }  // where it was painted: bars alone

 private:
  QColor of_statement(const QString& s) const;
  static bool about(const Focus& f, const QString& statement, int node);
  double heading(QPainter& p, double x, double y, double width, const QString& text,
                 const QString& more = {});
  double registers(QPainter& p, const KernelBudget& k, QRectF box, const Focus& lit);
  void pressure(QPainter& p, const KernelBudget& k, const QRectF& box, const Focus& lit);
  double shared(QPainter& p, const KernelBudget& k, QRectF box, const Focus& lit);
  void name_block(QPainter& p, const SharedBlock& b, const QRectF& block);
  double occupancy(QPainter& p, const KernelBudget& k, QRectF box);
  double units(QPainter& p, QRectF box);
  double pipeline(QPainter& p, const KernelBudget& k, QRectF box, double from, double to,
                  const Focus& lit);
  void bars(QPainter& p, const Timeline& t, const QRectF& area, double row, double from, double to,
            const Focus& lit);
  double share(QPainter& p, const QRectF& box, const QString& name, double value, double most,
               const QString& text, const QColor& c);
  void label(QPainter& p, const QRectF& box, const QString& text, const QColor& c,
             int align = Qt::AlignLeft | Qt::AlignVCenter);

  const Budget& budget_;
  const Theme& theme_;
  std::vector<BudgetHit> hits_;
  QRectF timeline_;
};

}  // namespace nautilus::gui
