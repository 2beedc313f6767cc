// Enumerates instances and dependent pairs at concrete sizes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "gui/models/iteration_data.h"
#include "polyhedral/instances.h"

namespace nautilus::gui {

// Fills the points and arrows of a picture, from a schedule whose program has no parameters. Throws
// isl::exception.
class PointMaker {
 public:
  PointMaker(const poly::Schedule& s, const IterationRequest& request,
             const std::atomic<bool>* stop, IterationPicture& out)
      : s_(s), request_(request), stop_(stop), out_(out) {}
  std::optional<Refusal> add_statement(const std::string& name);
  void sort_points();  // call once, after the last statement
  std::optional<Refusal> add_arrows();

 private:
  // A leaf that a statement runs in: which instances, and when.
  struct Clock {
    isl::set where;
    std::vector<TimePart> parts;
    std::vector<isl::aff> functions;
  };
  void clocks_below(const poly::Node& n, const poly::Statement& st, isl::set left, Clock so_far,
                    std::vector<Clock>& out) const;
  isl::set window(const poly::Statement& st, const isl::set& domain) const;
  bool stopped() const { return stop_ && stop_->load(std::memory_order_relaxed); }
  std::optional<Refusal> add_pairs(const isl::map& pairs, int dependence, Fate fate);
  int point_at(const std::string& statement, std::span<const int64_t> at) const;

  const poly::Schedule& s_;
  const IterationRequest& request_;
  const std::atomic<bool>* stop_;
  IterationPicture& out_;
  std::map<std::string, isl::set> windows_;  // what is enumerated, by statement
  std::map<std::string, std::map<std::vector<int64_t>, int>> index_;
  std::map<std::pair<int, int>, size_t> arrow_of_;  // by ends: into out_.arrows
};

// The dependences of a program, kept with its context.
Expected<std::shared_ptr<const poly::DependenceSet>> dependences_of(const poly::Program& p);

// Calls visit for the points of a set without parameters, in lexicographic order, until it returns
// false.
Expected<uint64_t> each_point(const isl::set& s, uint64_t most,
                              const std::function<bool(std::span<const int64_t>)>& visit);

}  // namespace nautilus::gui
