// Which candidates a table shows, and in which order: found in steps of well under a millisecond,
// because 100,000 candidates are too many for one event. Candidates may change and be added
// meanwhile; whoever asked asks again then.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "gui/models/candidate_columns.h"
#include "gui/models/sliced_sort.h"

namespace nautilus::gui {

class RowOrder {
 public:
  enum class Show : uint8_t { All, Top, Pareto };
  struct Wish {
    Show show = Show::All;
    int top = 50;              // Top: so many of the least predicted times
    std::optional<Column> by;  // none: by number
    bool descending = false;   // candidates without a value come last, whichever the order
  };
  RowOrder(const Document& d, const FilterStack& f) : document_(d), filters_(f) {}
  void begin(const Wish& wish);
  bool step();  // false: done
  std::vector<int> take() { return std::move(rows_); }
  size_t seen() const { return next_; }  // candidates from here on were not there yet

 private:
  enum class Stage : uint8_t { Find, Choose, Key, Texts, Sort };
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  void find();
  void choose();
  void key();
  void rank_texts();
  void end();
  void enter(int node, double key);

  const Document& document_;
  const FilterStack& filters_;
  Wish wish_;
  Stage stage_ = Stage::Find;
  size_t next_ = 0, next_key_ = 0;
  std::vector<int> front_;  // Pareto: as it was at the beginning
  std::vector<int> found_, without_, rows_;
  // Texts repeat: each is ranked once.
  std::unordered_map<std::string, size_t, TextHash, std::equal_to<>> texts_;
  std::vector<std::pair<size_t, int>> text_of_;  // number of a text, node
  SlicedSort<std::pair<std::string_view, size_t>> text_order_;
  SlicedSort<std::pair<double, int>> order_;
};

}  // namespace nautilus::gui
