// Results and refusals as values. A refusal speaks the user's words; it is never an exception.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace nautilus {

// Why something that was asked for was not done, and what to try instead.
struct Refusal {
  std::string asked;         // what was asked: "tile band 7 by [0]"
  std::string where;         // node, statement, file:line:column; may be empty
  std::string why;           // the reason, with names and values
  std::string suggest;       // what to try; may be empty
  std::string text() const;  // one line: "asked: where: why (try: suggest)"
};

// Either a value or a Refusal. Accessing the wrong side throws std::bad_variant_access (a bug).
template <class T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : v_(std::in_place_index<0>, std::move(value)) {}
  Expected(Refusal r) : v_(std::in_place_index<1>, std::move(r)) {}
  explicit operator bool() const { return v_.index() == 0; }
  bool has_value() const { return v_.index() == 0; }
  T& operator*() & { return std::get<0>(v_); }
  const T& operator*() const& { return std::get<0>(v_); }
  T&& operator*() && { return std::get<0>(std::move(v_)); }
  T* operator->() { return &std::get<0>(v_); }
  const T* operator->() const { return &std::get<0>(v_); }
  const Refusal& error() const { return std::get<1>(v_); }

 private:
  std::variant<T, Refusal> v_;
};

}  // namespace nautilus
