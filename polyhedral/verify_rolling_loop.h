// The loop of a band with rolling updates, run on sampled data as its repairs say.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "polyhedral/repair_types.h"
#include "polyhedral/verify_values.h"

namespace nautilus::poly::verifying {

// Instances by iteration of the band, by statement.
using Times = std::map<Element, std::map<std::string, std::vector<Element>>>;

// The repairs at one band and what they are about.
struct Rolled {
  const std::vector<const Repair*>& repairs;
  std::vector<std::string> all, order;  // statements; those under the band, in its order
  std::set<std::string> given;          // tensors that none of them writes
  const Sizes* sizes = nullptr;         // of the machine's program
};

class RollingLoop {
 public:
  // `truth` says which instances there are; `data` are the given tensors.
  RollingLoop(const Rolled& rolled, Machine& machine, const Sample& truth, const Data& data)
      : rolled_(rolled), machine_(machine), p_(machine.program()), truth_(truth), data_(data) {}

  // Iteration by iteration; before its terms of one, a target is corrected to what its sources then
  // hold. Says what no loop can do.
  std::optional<std::string> run(const Times& times);
  // What an element holds now: its reduction's identity before the first term.
  Real held(const std::string& tensor, const Element& e) const;

 private:
  // What one repair says, with the statements it is about.
  struct Rule {
    const Repair& repair;
    std::vector<const Statement*> targets, sources;
    // By element of the targets: of every source the element that its terms read, and the values
    // that it is relative to.
    std::map<Element, std::vector<Element>> read;
    std::map<Element, std::vector<Real>> seen;
  };
  using Writers = std::map<std::string, std::map<Element, Element>>;  // by via statement

  std::optional<std::string> prepare(const Times& times);
  void sources_read(const Rule& rule, const Statement& s, const Element& x,
                    const Writers& writer_of, const Machine::Read& read,
                    std::map<std::string, Element>& out, std::optional<std::string>& bad) const;
  void correct(Rule& rule);
  Real at_rest(const std::string& statement, const std::string& tensor, Real v) const;
  void step(const Statement& s, const std::vector<Element>& instances);
  const std::string& first_of(const Rule& rule) const;

  const Rolled& rolled_;
  Machine& machine_;
  const Program& p_;
  const Sample& truth_;
  const Data& data_;
  std::map<std::string, std::map<Element, Real>> values_;  // of what runs under the band
  std::vector<Rule> rules_;
};

}  // namespace nautilus::poly::verifying
