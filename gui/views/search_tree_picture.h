// Which candidates the search tree shows, and where: plain data made off the interface thread from
// a few facts a candidate. Levels run from left to right, siblings from top to bottom in the order
// in which the search made them, so growth never reorders. Pruned children and slower plans of one
// parent are folded into one item each.
#pragma once

#include <QRectF>
#include <QString>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "autosched/search.h"
#include "gui/views/tidy_layout.h"

namespace nautilus::gui {

struct TreeFact {
  int parent = -1, duplicate_of = -1;
  float seconds = 0;     // measured if it was, else predicted; 0: none
  uint16_t letters = 0;  // of its label
  sched::NodeState state = sched::NodeState::Open;
};
TreeFact fact_of(const sched::SearchNode& n, double measured_seconds);

enum class Group : uint8_t { None, Pruned, Plans, Waiting };  // what a candidate is folded with
Group group_of(sched::NodeState s);

inline int fold_key(int parent, Group g) { return parent * 4 + static_cast<int>(g); }

// What is to be shown.
struct TreeQuestion {
  std::vector<TreeFact> facts;
  int root = 0;                        // the candidate shown as the root
  std::vector<int> best;               // best first; empty: the fastest so far
  std::unordered_set<int> shown;       // never folded, and their ancestors are open
  std::unordered_map<int, bool> open;  // as the user opened or closed them
  std::unordered_set<int> unfolded;    // folds that are open: see fold_key
  bool everything = false;             // all candidates, nothing folded
};

// A box of the picture: a candidate, or a fold of some children of one.
struct TreeItem {
  int node = 0;  // of a fold: the parent
  Group fold = Group::None;
  bool open = false;     // its children are shown; a fold: its members are, beside it
  int below = 0;         // candidates below that are not shown; a fold: its members
  int hidden_begin = 0;  // a fold: where its members begin in SearchTreePicture::hidden
  float best_below = 0;  // seconds of the fastest plan at or below; 0: none
};

struct SearchTreePicture {
  LevelTree tree;
  std::vector<TreeItem> items;
  std::vector<double> y;                // middle of each item
  std::vector<float> x, width, height;  // left edge and size
  std::vector<float> column_x, column_width;
  std::vector<int> hidden;   // members of folds, ascending within one
  std::vector<int> item_of;  // of each candidate: its item, or the fold or closed ancestor it is in
  std::vector<int> ghosts;   // items that are duplicates of a candidate in another item
  std::vector<int> best_so_far;  // of each candidate: the fastest plan no younger than it, or -1
  QRectF bounds;
  int root = 0;
  int shown_nodes = 0, folded_nodes = 0;

  int size() const { return static_cast<int>(items.size()); }
  QRectF box(int item) const;
  // Where a click opens or closes what is below; empty if there is nothing.
  QRectF toggle_box(int item) const;
  // Item whose box holds the point, or -1.
  int at(QPointF p) const;
  // Items of a level whose boxes meet the interval of y: [first, last).
  std::pair<int, int> range(int level, double top, double bottom) const;
};

SearchTreePicture make_tree_picture(const TreeQuestion& q);

// "+137 pruned (illegal 90, dominated 40, capacity 7)" of those members younger than `limit`.
QString fold_text(const SearchTreePicture& picture, const std::vector<TreeFact>& facts, int item,
                  int limit);

// Sizes of a box: text of up to kLineLetters letters a line, two lines at most.
inline constexpr float kLetterWidth = 6.5F, kTimeWidth = 58, kGlyphWidth = 22, kToggleWidth = 18;
inline constexpr int kLineLetters = 36;

}  // namespace nautilus::gui
