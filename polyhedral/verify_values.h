// The verifier's own evaluation of programs: chosen elements, from sampled data.
//
// A sample may thin a program: only some elements of the given tensors are present, and an instance
// that reads an absent one is absent too, as if its domain left it out. Absence commutes with
// whatever a transform may do, so a few elements on both sides of every cut tell two programs apart
// at full size.
#pragma once

#include "polyhedral/instances.h"
#include "polyhedral/verify_data.h"

namespace nautilus::poly::verifying {

// A program without parameters, compiled statement by statement as they are used.
class Machine {
 public:
  explicit Machine(const Program& bound) : p_(bound) {}
  const Program& program() const { return p_; }

  using Read = std::function<Real(const std::string& tensor, const Element&)>;
  // The element that a read (or with k < 0 the write) touches.
  Element element(const Statement& s, int k, const Element& dims, const Read& read);
  bool runs(const Statement& s, const Element& dims, const Read& read);  // its guard
  Real term(const Statement& s, const Element& dims, const Read& read);  // its expression

 private:
  struct Compiled {
    std::vector<PiecewiseFunction> accesses;  // the write, then the reads; without gathered dims
    std::vector<AffineFunction> indices;
  };
  const Program& p_;
  std::map<std::string, Compiled> compiled_;
  const Compiled& compiled(const Statement& s);
  Operands operands(const Statement& s, const Element& dims, const Read& read);
};

// Writers of the wanted tensors and of all they need, down to the given ones; producers first.
std::vector<const Statement*> cone(const Program& p, const std::set<std::string>& given,
                                   const std::vector<std::string>& wanted);
// Given tensors (and inputs) that these statements read.
std::set<std::string> leaves(const std::vector<const Statement*>& cone,
                             const std::set<std::string>& given);

// { x in s : every given element that x reads is present }; gathered reads are no condition.
isl::set present_instances(const Statement& s, const Elements& present);

// Chosen elements of a program cut at given tensors: first which instances they take, then, for as
// many data as wanted, their values. All throw Undecided.
class Sample {
 public:
  // `present`: what exists of given tensors; those without an entry exist everywhere. No statement
  // runs more than `most` instances.
  Sample(Machine& machine, std::set<std::string> given, Elements present, size_t most);
  // A statement that reads no given element (a count) is thinned like one over the same domain.
  void thin_alike() { alike_ = true; }
  // Plans for these elements and all they need.
  void plan(const Elements& wanted);
  // Plans for what the reads of these instances need.
  void plan_reads(const std::map<std::string, isl::set>& instances);
  // Forgets what was computed from other data, and computes what was planned.
  void evaluate(const Data& data);
  // The value of an element; a reduction's without terms is its identity, another's is NaN.
  Real value(const std::string& tensor, const Element& e) const;
  Machine::Read reader() const;
  // The planned instances (guards apart), by statement.
  const std::map<std::string, std::vector<Element>>& instances() const { return instances_; }

 private:
  Machine& machine_;
  std::set<std::string> given_;
  Elements present_;
  size_t most_;
  bool alike_ = false;
  std::vector<const Statement*> order_;  // producers first
  std::map<std::string, std::vector<Element>> instances_;
  const Data* data_ = nullptr;
  std::map<std::string, std::map<Element, Real>> values_;
};

// Walks from an element down to given tensors, one writing instance a tensor, and notes the
// elements that are read there.
struct Trail {
  std::map<std::string, std::vector<Element>> read;  // of given tensors
  std::set<std::string> everywhere;                  // given tensors that are gathered from
};
void follow(Machine& machine, const std::set<std::string>& given, const std::string& tensor,
            const Element& e, Picker& pick, Trail& trail);
// The same from an instance.
void follow_instance(Machine& machine, const std::set<std::string>& given, const Statement& s,
                     const Element& dims, Picker& pick, Trail& trail);
// Boxes around what the trail read; given tensors that it did not meet are absent.
Elements around(const Program& bound, const std::set<std::string>& given, const Trail& trail,
                int64_t radius);

}  // namespace nautilus::poly::verifying
