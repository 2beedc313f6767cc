// Random programs for property tests: chains of affine statements with reductions, triangles,
// shifts, several readers, and in-place sweeps. Always valid, values stay moderate.
#pragma once

#include <random>
#include <set>
#include <string>
#include <vector>

#include "program_samples.h"

namespace nautilus::poly::random_programs {

using Random = std::mt19937;
inline int below(Random& r, int n) { return static_cast<int>(r() % static_cast<unsigned>(n)); }
inline bool chance(Random& r, int percent) { return below(r, 100) < percent; }
template <class T>
const T& pick(Random& r, const std::vector<T>& items) {
  return items[static_cast<size_t>(below(r, static_cast<int>(items.size())))];
}

class Generator {
 public:
  explicit Generator(Random& random) : r_(random) {}

  // A reduction, a pointwise statement that reads its final value, one or two reductions of that,
  // and what is left to do afterwards: candidates for rolling updates. Children 0 .. 2 (or 3) of
  // the sequence form the chain. With `cancels` what is stored at the end does not depend on the
  // first reduction's value: a sum of exponentials relative to it over another.
  std::string chain(bool cancels = false) {
    const std::string extra = chance(r_, 40) ? " and r <= i" : chance(r_, 30) ? " and r < i" : "";
    const std::string r_extent = extra.empty() && chance(r_, 50) ? "M" : "N";
    const bool two = cancels || chance(r_, 40);
    static const std::vector<std::pair<std::string, std::string>> kinds{
        {"max", "exp($0 - $1)"},
        {"max", "$0 - $1"},
        {"min", "exp($1 - $0)"},
        {"min", "$0 - $1"},
        {"max", "exp(($0 - $1) * 0.5) * 2"}};
    static const std::vector<std::pair<std::string, std::string>> exponentials{kinds[0], kinds[2],
                                                                               kinds[4]};
    const auto& [op, form] = pick(r_, cancels ? exponentials : kinds);
    static const std::vector<std::string> linear{"max", "min"};
    const std::string second = form.find("exp") != std::string::npos
                                   ? (cancels || chance(r_, 70) ? "sum" : pick(r_, linear))
                                   : pick(r_, linear);
    auto statement = [&](const std::string& t, const std::string& dims, const std::string& bounds,
                         const std::string& to, const std::vector<std::string>& reads,
                         const std::string& tail) {
      const std::string at = "S_" + t + "[" + dims + "]";
      std::string out = "statement S_" + t + "(" + dims + ")\n  domain [N, M] -> { " + at + " : " +
                        bounds + " }\n  write " + t + " { " + at + " -> " + t + to + " }\n";
      for (const std::string& x : reads)
        out += "  read " + x.substr(0, x.find('[')) + " { " + at + " -> " + x + " }\n";
      return out + tail;
    };
    auto tensor = [](const std::string& name, const std::string& kind,
                     const std::vector<std::string>& extents) {
      std::string out = "tensor " + name + " " + kind + " f32\n";
      for (const std::string& e : extents) out += "  extent [N, M] -> { [(" + e + ")] }\n";
      return out;
    };
    const std::string plane = "0 <= i < N and 0 <= r < " + r_extent + extra;
    std::string out = "naut 1\nprogram chain\nsizes N M\nwhere [N, M] -> { : N >= 1 and M >= 1 }\n";
    out += tensor("X", "input", {"N", r_extent}) + tensor("V", "input", {r_extent, "M"}) +
           tensor("m", "temp", {"N"}) + tensor("p", "temp", {"N", r_extent}) +
           tensor("l", "temp", {"N"});
    if (two) out += tensor("o", "temp", {"N", "M"});
    out += tensor("y", "output",
                  two ? std::vector<std::string>{"N", "M"} : std::vector<std::string>{"N"});
    out += statement("m", "i, r", plane, "[i]", {"X[i, r]"},
                     "  expr $0\n  reduce " + op + " over 1\n");
    out += statement("p", "i, r", plane, "[i, r]", {"X[i, r]", "m[i]"}, "  expr " + form + "\n");
    out += statement("l", "i, r", plane, "[i]", {"p[i, r]"},
                     "  expr $0\n  reduce " + second + " over 1\n");
    if (two) {
      const std::string term = second == "sum" ? "$0 * $1" : "$0 + $1 * 0";
      out += statement(
          "o", "i, r, j", plane + " and 0 <= j < M", "[i, j]", {"p[i, r]", "V[r, j]"},
          "  expr " + (second == "sum" ? term : "$0") + "\n  reduce " + second + " over 1\n");
      out += statement("y", "i, j", "0 <= i < N and 0 <= j < M", "[i, j]", {"o[i, j]", "l[i]"},
                       cancels ? "  expr $0 / $1\n" : "  expr $0 + $1\n");
    } else {
      out += statement("y", "i", "0 <= i < N", "[i]", {"l[i]"}, "  expr $0 * 2\n");
    }
    return out;
  }

  // Two tensors that are overwritten step by step from each other, in one loop over the steps: its
  // statements cannot be told apart into loops of their own.
  std::string coupled() {
    const std::string first = chance(r_, 50) ? "" : " + 1";
    std::string out =
        "naut 1\nprogram coupled\nsizes N M\nwhere [N, M] -> { : N >= 1 and M >= 1 }\n"
        "tensor X input f32\n  extent [N, M] -> { [(N + 1)] }\n";
    for (const char* t : {"a", "b"})
      out += std::string("tensor ") + t + " temp f32\n  extent [N, M] -> { [(N)] }\n";
    out += "tensor y output f32\n  extent [N, M] -> { [(N)] }\n";
    const auto statement = [&](const std::string& s, const std::string& dims,
                               const std::string& tensor, const std::vector<std::string>& reads,
                               const std::string& expr) {
      const std::string at = s + "[" + dims + "]";
      const std::string steps = dims == "i" ? "" : " and 0 <= t < M";
      out += "statement " + s + "(" + dims + ")\n  domain [N, M] -> { " + at + " : 0 <= i < N" +
             steps + " }\n  write " + tensor + " { " + at + " -> " + tensor + "[i] }\n";
      for (const std::string& r : reads)
        out += "  read " + r.substr(0, 1) + " { " + at + " -> " + r + " }\n";
      out += "  expr " + expr + "\n";
    };
    statement("S_a", "i", "a", {"X[i]"}, "$0");
    statement("S_b", "i", "b", {"X[i" + first + "]"}, "$0 * 0.5");
    const std::string update = chance(r_, 50) ? "($0 + $1) * 0.5" : "$0 - $1 * 0.25";
    statement("S_p", "t, i", "a", {"a[i]", "b[i]"}, update);
    statement("S_q", "t, i", "b", {"b[i]", "a[i]"}, "$0 * 0.75 + $1 * 0.125");
    statement("S_y", "i", "y", {"a[i]", "b[i]"}, "$0 + $1");
    const auto one = [](const std::string& s, const std::string& child) {
      return "{ filter: \"[N, M] -> { " + s + " }\", child: " + child + " }";
    };
    const auto band = [](const std::string& maps) {
      return "{ schedule: \"[N, M] -> [{ " + maps + " }]\" }";
    };
    out +=
        "original { domain: \"[N, M] -> { S_a[i] : 0 <= i < N; S_b[i] : 0 <= i < N; S_p[t, i] : 0 "
        "<= t < M and 0 <= i < N; S_q[t, i] : 0 <= t < M and 0 <= i < N; S_y[i] : 0 <= i < N }\", "
        "child: { sequence: [ " +
        one("S_a[i]", band("S_a[i] -> [(i)]")) + ", " + one("S_b[i]", band("S_b[i] -> [(i)]")) +
        ", { filter: \"[N, M] -> { S_p[t, i]; S_q[t, i] }\", child: { schedule: \"[N, M] -> [{ "
        "S_p[t, i] -> [(t)]; S_q[t, i] -> [(t)] }]\", child: { sequence: [ " +
        one("S_p[t, i]", band("S_p[t, i] -> [(i)]")) + ", " +
        one("S_q[t, i]", band("S_q[t, i] -> [(i)]")) + " ] } } }, " +
        one("S_y[i]", band("S_y[i] -> [(i)]")) + " ] } }\n";
    return out;
  }

  // The text form of a program over sizes N, M >= 1; `sweeps`: percent of statements that overwrite
  // their tensor step by step, so that many orders are wrong.
  std::string text(int sweeps = 15) {
    input("X", {"N", "M"});
    input("Y", {"N"});
    input("Z", {"M"});
    const int n = 2 + below(r_, 4);
    for (int k = 0; k < n; ++k) {
      if (chance(r_, sweeps))
        sweep(k);
      else if (chance(r_, 50))
        reduction(k);
      else
        pointwise(k);
    }
    std::string out =
        "naut 1\nprogram random\nsizes N M\nwhere [N, M] -> { : N >= 1 and M >= 1 }\n";
    for (const Array& a : arrays_) {
      const std::string kind = a.input ? "input" : a.read && a.scratch ? "temp" : "output";
      out += "tensor " + a.name + " " + kind + " f32\n";
      for (const std::string& e : a.extents)
        out += "  extent [N, M] -> { [(" + e + (a.input ? " + 2" : "") + ")] }\n";
    }
    return out + statements_;
  }

 private:
  struct Array {
    std::string name;
    std::vector<std::string> extents;
    bool input = false, read = false, scratch = true;
  };
  Random& r_;
  std::vector<Array> arrays_;
  std::string statements_;

  void input(const std::string& name, std::vector<std::string> extents) {
    arrays_.push_back({name, std::move(extents), true});
  }

  struct Dim {
    std::string name, extent;
  };

  // A read of some tensor whose dims can all be indexed by dims of that extent; inputs may be
  // shifted by up to 2.
  std::string read(const std::string& s, const std::vector<Dim>& dims) {
    std::vector<size_t> able;
    for (size_t k = 0; k < arrays_.size(); ++k) {
      bool all = true;
      for (const std::string& e : arrays_[k].extents) {
        bool any = false;
        for (const Dim& d : dims) any = any || d.extent == e;
        all = all && any;
      }
      if (all) able.push_back(k);
    }
    // Recent tensors are more interesting.
    const size_t at =
        chance(r_, 60) && able.back() == arrays_.size() - 1 ? able.back() : pick(r_, able);
    Array& a = arrays_[at];
    a.read = true;
    std::string index;
    for (const std::string& e : a.extents) {
      std::vector<std::string> names;
      for (const Dim& d : dims)
        if (d.extent == e) names.push_back(d.name);
      index += (index.empty() ? "" : ", ") + pick(r_, names) +
               (a.input && chance(r_, 30) ? " + " + std::to_string(1 + below(r_, 2)) : "");
    }
    return "  read " + a.name + " { " + head(s, dims) + " -> " + a.name + "[" + index + "] }\n";
  }

  static std::string head(const std::string& s, const std::vector<Dim>& dims, bool round = false) {
    std::string out;
    for (const Dim& d : dims) out += (out.empty() ? "" : ", ") + d.name;
    return s + (round ? "(" : "[") + out + (round ? ")" : "]");
  }

  void emit(const std::string& tensor, const std::vector<Dim>& dims, const std::string& extra,
            const std::vector<Dim>& written, int n_reads, const std::string& tail) {
    const std::string s = "S_" + tensor;
    std::string domain;
    for (const Dim& d : dims)
      domain += (domain.empty() ? "" : " and ") + ("0 <= " + d.name + " < " + d.extent);
    std::string w;
    for (const Dim& d : written) w += (w.empty() ? "" : ", ") + d.name;
    std::string out = "statement " + head(s, dims, true) + "\n  domain [N, M] -> { " +
                      head(s, dims) + " : " + domain + extra + " }\n";
    out += "  write " + tensor + " { " + head(s, dims) + " -> " + tensor + "[" + w + "] }\n";
    for (int k = 0; k < n_reads; ++k) out += read(s, dims);
    const std::string a = "$0", b = n_reads > 1 ? "$1" : "$0", c = n_reads > 2 ? "$2" : "0.5";
    const std::vector<std::string> forms{
        a + " + " + b + " * 0.5", "max(" + a + ", " + b + ") - " + c, a + " * 0.25 - " + b,
        "min(" + a + ", " + c + ") + " + b, "(" + a + " - " + b + ") * 0.5 + " + c};
    out += "  expr " + pick(r_, forms) + "\n" + tail;
    statements_ += out;
    std::vector<std::string> extents;
    for (const Dim& d : written) extents.push_back(d.extent);
    arrays_.push_back({tensor, extents, false, false, chance(r_, 85)});
  }

  std::vector<Dim> box(int rank) {
    static const std::vector<std::string> names{"i", "j", "k"};
    std::vector<Dim> out;
    for (int k = 0; k < rank; ++k)
      out.push_back({names[static_cast<size_t>(k)], k == 1 ? "M" : "N"});
    return out;
  }

  void pointwise(int k) {
    const std::vector<Dim> dims = chance(r_, 65) ? box(2) : box(1);
    emit("p" + std::to_string(k), dims, "", dims, 1 + below(r_, 3), "");
  }

  void reduction(int k) {
    std::vector<Dim> dims = chance(r_, 60) ? box(2) : box(1);
    const std::vector<Dim> written = chance(r_, 50) ? dims : std::vector<Dim>{dims[0]};
    std::string extra;
    if (written.size() == dims.size()) {
      dims.push_back({"r", chance(r_, 50) ? "N" : "M"});
      if (dims.back().extent == "N" && chance(r_, 40))
        extra = chance(r_, 50) ? " and r <= i" : " and r < i";
    }
    std::string over;
    for (size_t d = written.size(); d < dims.size(); ++d)
      over += (over.empty() ? "" : ", ") + std::to_string(d);
    static const std::vector<std::string> ops{"sum", "max", "min"};
    emit("r" + std::to_string(k), dims, extra, written, 1 + below(r_, 2),
         "  reduce " + pick(r_, ops) + " over " + over + "\n");
  }

  // A[i] = Y[i+..]; for t, i: A[i] = f(A[i-1], A[i], A[i+1]); then a copy, so that others read a
  // tensor written once.
  void sweep(int k) {
    const std::string a = "A" + std::to_string(k), b = "c" + std::to_string(k),
                      n = std::to_string(k);
    statements_ += "statement S_init" + n + "(i)\n  domain [N, M] -> { S_init" + n +
                   "[i] : 0 <= i < N }\n  write " + a + " { S_init" + n + "[i] -> " + a +
                   "[i] }\n  read Y { S_init" + n + "[i] -> Y[i + 1] }\n  expr $0\n";
    const std::string s = "S_" + a;
    std::string out = "statement " + s + "(t, i)\n  domain [N, M] -> { " + s +
                      "[t, i] : 0 <= t < M and 1 <= i < N - 1 }\n  write " + a + " { " + s +
                      "[t, i] -> " + a + "[i] }\n";
    std::set<int> offsets{below(r_, 3) - 1, below(r_, 3) - 1};
    for (int o : offsets)
      out += "  read " + a + " { " + s + "[t, i] -> " + a + "[i + " + std::to_string(o) + "] }\n";
    out += offsets.size() == 2 ? "  expr ($0 + $1) * 0.5\n" : "  expr $0 * 0.75 + 0.125\n";
    statements_ += out;
    arrays_.push_back({a, {"N"}, false, true, true});
    statements_ += "statement S_" + b + "(i)\n  domain [N, M] -> { S_" + b +
                   "[i] : 0 <= i < N }\n  write " + b + " { S_" + b + "[i] -> " + b +
                   "[i] }\n  read " + a + " { S_" + b + "[i] -> " + a + "[i] }\n  expr $0 * 2\n";
    arrays_.push_back({b, {"N"}, false, false, false});
  }
};

// Deterministic inputs of moderate size (X times `spread`), without ties.
inline Buffers inputs(const Program& p, const Sizes& sizes, double spread = 1) {
  Buffers out;
  const Program at = *instantiate(p, sizes);
  for (const Tensor& t : at.tensors) {
    if (t.kind != TensorKind::Input) continue;
    size_t n = 1;
    for (const isl::pw_aff& e : t.extents) n *= static_cast<size_t>(*dim_max(e.as_set(), 0));
    std::vector<double> v(n);
    for (size_t k = 0; k < n; ++k)
      v[k] = std::sin(1.0 + 0.7 * static_cast<double>(k) + static_cast<double>(t.name[0])) *
             (t.name == "X" ? spread : 1);
    out.emplace(t.name, v);
  }
  return out;
}

}  // namespace nautilus::poly::random_programs
