// The canvas of the search tree: keeps the picture up to date off the interface thread, and turns
// mouse and keys into selections, folds and roots.
#pragma once

#include <optional>

#include "gui/models/slices.h"
#include "gui/views/canvas_view.h"
#include "gui/views/info_card.h"
#include "gui/views/latest_job.h"
#include "gui/views/search_tree_painter.h"

namespace nautilus::gui {

class SearchTreeCanvas : public PictureCanvas {
  Q_OBJECT
 public:
  SearchTreeCanvas(Shared shared, QWidget* parent);

  const SearchTreePicture& picture() const { return picture_; }
  const std::vector<TreeFact>& facts() const { return question_.facts; }
  bool busy() const override { return job_.busy() || reading_.busy(); }
  // Replay: candidates from `limit` on are not there yet; -1: all are, also those still to come.
  void set_limit(int limit);
  int limit() const;
  bool replaying() const { return limit_ >= 0; }
  void set_root(int node);
  int root() const { return question_.root; }
  void set_everything(bool on);
  bool everything() const { return question_.everything; }
  void set_legend(bool on);
  bool legend() const { return legend_; }
  void set_open(int node, bool open);
  void set_unfolded(int parent, Group g, bool unfolded);
  void fold_all();  // as it was at first
  // Selects, and brings into view.
  void go_to(int node);
  int best() const { return look().best(); }
  QRectF screen_box(int node) const;  // of the item that shows it
  QJsonObject state() const override;
  void set_state(const QJsonObject& j) override;
  void paint_on(QPainter& p, const QRectF& page) override;

 public Q_SLOTS:
  void fit() override;  // all that is shown, unless it would be too small to see
  void home();          // readable, from the root; all of it where that is readable

 Q_SIGNALS:
  void picture_changed();
  void root_changed(int node);

 protected:
  void refit() override { at_home_ ? home() : fit(); }
  QRectF world() const override { return picture_.bounds; }
  QRectF area_in(QSize size) const override;
  void paint_canvas(QPainter& p) override;
  void hover_at(QPointF at) override;
  void leave() override;
  void click_at(QPointF at, Qt::KeyboardModifiers modifiers) override;
  void double_click_at(QPointF at) override;
  bool key(QKeyEvent* e) override;

 private:
  void document_reset();
  void document_appended();
  void read_again();
  bool read_some(std::vector<TreeFact>& facts) const;  // false: that was the last
  TreeFact fact(const sched::SearchNode& n) const;
  void refresh(int node);
  void unhide(int node);  // shown by itself, its ancestors open
  void selection_changed(unsigned parts);
  void request(bool supersede);
  void picture_arrived(SearchTreePicture p);
  TreeLook look() const;
  InfoCard card_of(int item) const;
  void paint_hover(QPainter& p);
  void activate(int item);  // Enter, or a click on what opens
  void move_cursor(int item);
  int neighbour(int item, int key) const;
  int cursor() const;
  void describe();

  Shared shared_;
  TreeQuestion question_;
  SearchTreePicture picture_;
  Slices reading_;               // the document's candidates: of a new one, or with other costs
  std::vector<TreeFact> again_;  // those with other costs, until all are there
  LatestJob<SearchTreePicture> job_;
  mutable SearchTreePainter painter_;
  int limit_ = -1;
  std::pair<int, Group> cursor_{-1, Group::None};  // node and which of its items
  int hovered_item_ = -1;
  int to_reveal_ = -1;  // candidate to bring into view with the next picture
  bool legend_ = true, first_ = true, at_home_ = true;
  double legend_height_ = 0;
};

}  // namespace nautilus::gui
