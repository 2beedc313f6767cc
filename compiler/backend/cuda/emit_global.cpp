// Global memory and registers: addresses in parts (what is uniform, what the thread decides, what
// the register adds), vectors where they are provably aligned, tests only where a condition can
// fail.
#include <algorithm>
#include <bit>

#include "compiler/backend/cuda/emitter.h"
#include "compiler/backend/cuda/scalar.h"
#include "compiler/memory/checks.h"

namespace nautilus::cuda {

std::string KernelEmitter::Place::at(const Pick& p) const { return sum_text({base, add(p)}); }

// Row-major. Strides of symbolic extents are constants of the thread.
KernelEmitter::Strides KernelEmitter::strides(const TensorDecl& t) {
  Strides s;
  const size_t rank = t.extents.size();
  s.known.resize(rank), s.text.resize(rank);
  std::optional<int64_t> product = 1;
  IndexExpr symbolic;
  std::string text;
  for (size_t d = rank; d-- > 0;) {
    s.known[d] = product;
    if (product)
      s.text[d] = std::to_string(*product);
    else
      s.text[d] =
          hoist("int64_t", source_.tensors.at(t.name) + "_stride" + std::to_string(d), text);
    const IndexExpr& e = t.extents[d];
    int64_t next = 0;
    if (product && e.is_const() && !__builtin_mul_overflow(*product, e.constant(), &next)) {
      product = next;
    } else {
      product.reset();
      const std::string extent = in_parens(uniform(e));
      text = s.text[d] == "1" ? "int64_t(" + uniform(e) + ")" : s.text[d] + " * " + extent;
      if (s.known[d] && s.text[d] != "1") text = "int64_t(" + s.text[d] + ") * " + extent;
    }
  }
  s.small = product && *product <= int64_t(1) << 30;
  return s;
}

KernelEmitter::Place KernelEmitter::global_place(const Instr& i, const Geometry& g) {
  const TensorDecl& t = *memory::find_tensor(m_, i.tensor);
  const Strides s = strides(t);
  const size_t first = i.code == Code::StoreGlobal || i.code == Code::AtomicAdd ? 1 : 0;
  size_t gathered = first;
  std::vector<std::string> uniform_terms, thread_terms;
  IndexExpr flat;  // of known strides, where 32 bits are enough
  std::vector<int64_t> known(size_t(g.registers), 0);
  std::vector<std::function<std::string(const Pick&)>> adds;
  bool any_known = false;
  const std::string as64 = s.small ? "" : "int64_t";
  const auto scaled = [s, as64](const std::string& x, size_t d) {
    if (x == "0") return x;
    if (s.text[d] == "1") return x;
    return (as64.empty() ? in_parens(x) : as64 + "(" + x + ")") + " * " + s.text[d];
  };
  for (size_t d = 0; d < i.index.size(); ++d) {
    if (!i.gather.empty() && i.gather[d] >= 0) {
      const int v = i.operands[gathered++];
      const auto table = aligned(geometry(v), g);
      adds.push_back([=, this](const Pick& p) { return scaled(read(v, p.through(table)), d); });
      continue;
    }
    const Affine a = split(i.index[d], g.axes);
    if (!a.affine) {
      const IndexExpr e = i.index[d];
      adds.push_back([=, this, &g](const Pick& p) {
        return scaled(element(e, g.axes, [&](const std::string& x) { return coordinate(g, x, p); }),
                      d);
      });
      continue;
    }
    if (s.small)
      flat = flat + a.uniform * *s.known[d];
    else
      uniform_terms.push_back(scaled(uniform(a.uniform), d));
    for (const auto& [axis, c] : a.axes) {
      const std::string factor = c == 1 ? "" : std::to_string(c) + " * ";
      if (!g.apart(axis)) {
        const std::string name = axis;
        adds.push_back([=, this, &g](const Pick& p) {
          return scaled(factor + in_parens(coordinate(g, name, p)), d);
        });
        continue;
      }
      const std::string thread = thread_part(g, axis);
      if (thread != "0")
        thread_terms.push_back(scaled(c == 1 ? thread : factor + in_parens(thread), d));
      if (s.known[d]) {
        any_known = true;
        for (int r = 0; r < g.registers; ++r)
          known[size_t(r)] += c * *s.known[d] * g.at.at(axis)[size_t(r)];
      } else {
        std::vector<int64_t> table;
        for (int64_t x : g.at.at(axis)) table.push_back(c * x);
        adds.push_back([=, this](const Pick& p) {
          const std::string x = pick(p, table);
          return x == "0" ? x : in_parens(x) + " * " + s.text[d];
        });
      }
    }
  }
  if (s.small) uniform_terms.push_back(uniform(flat));
  const std::string name = source_.tensors.at(i.tensor);
  const std::string thread =
      hoist(s.small ? "int" : "int64_t", name + "_thread", sum_text(thread_terms));
  Place place;
  std::vector<std::string> terms{name, sum_text(uniform_terms), thread};
  place.base = local((written_.count(i.tensor) ? "" : "const ") + std::string(c_type(t.type)) + "*",
                     name + "_at", sum_text(terms));
  if (any_known) adds.insert(adds.begin(), [=, this](const Pick& p) { return pick(p, known); });
  place.add = [adds](const Pick& p) {
    std::vector<std::string> terms;
    for (const auto& f : adds) terms.push_back(f(p));
    return sum_text(terms);
  };
  return place;
}

// The widest access along the last dimension that is aligned whatever the sizes are.
Vector KernelEmitter::global_vector(const Instr& i, const Geometry& g) {
  const TensorDecl& t = *memory::find_tensor(m_, i.tensor);
  const Vector single = find_vector({}, 0, 0, g.registers, 1);
  const int bytes = type_bytes(t.type);
  if (t.extents.empty() || (!i.gather.empty() && i.gather.back() >= 0)) return single;
  const Affine last = split(i.index.back(), g.axes);
  if (!last.affine) return single;
  Vector best = single;
  for (const auto& [axis, factor] : last.axes) {
    bool elsewhere = factor != 1;
    for (size_t d = 0; d + 1 < i.index.size(); ++d) {
      std::vector<std::string> vars;
      i.index[d].collect_vars(vars);
      elsewhere = elsewhere || std::find(vars.begin(), vars.end(), axis) != vars.end();
    }
    if (elsewhere) continue;
    // Everything else that moves the address is a multiple of the vector.
    int64_t most = i.vector ? std::max(1, i.vector / bytes) : 16 / bytes;
    auto multiple = [&, &axis = axis](int64_t n) {
      for (const auto& [other, c] : last.axes)
        if (other != axis && c % n) return false;
      return facts_.divisor(last.uniform) % n == 0 &&
             (t.extents.size() == 1 || facts_.divisor(t.extents.back()) % n == 0);
    };
    while (most > 1 && !multiple(most)) most /= 2;
    const int bits = g.place.map.in_bits("register");
    std::vector<uint64_t> moves;
    for (int b = 0; b < bits; ++b) {
      uint64_t v = 0;
      bool alone = true;
      for (const memory::Bits& o : g.place.map.out()) {
        const uint32_t x = g.place.map.image("register", b, o.name);
        if (o.name == axis)
          v = x;
        else
          alone = alone && x == 0;
      }
      moves.push_back(alone || v == 0 ? v : v | 1);  // never part of a vector with other axes
    }
    Vector v = find_vector(moves, g.thread_bits(axis), bits, g.registers, int(most));
    v.axis = axis;
    if (v.elements * bytes >= 4 && v.elements > best.elements) best = std::move(v);
  }
  return best;
}

// Of copies in several lanes or warps one writes.
std::string KernelEmitter::writer(const Geometry& g) {
  const Copies c = copies_of(g);
  std::vector<std::string> tests;
  if (c.lanes)
    tests.push_back(c.lanes == 31 ? "lane == 0" : "(lane & " + std::to_string(c.lanes) + ") == 0");
  if (c.warps) {
    const uint32_t held = uint32_t(g.place.warps());
    tests.push_back(c.warps == held - 1 && role_->warps == int(held)
                        ? "warp == 0"
                        : "(warp & " + std::to_string(c.warps) + ") == 0");
  }
  std::string s;
  for (const std::string& t : tests) s += (s.empty() ? "" : " && ") + t;
  return s;
}

namespace {

bool consecutive(const Vector& v) {
  for (size_t b = 0; b < v.bits.size(); ++b)
    if (v.bits[b] != int(b)) return false;
  return true;
}

std::string as_pointer(const std::string& base, const std::string& add) {
  return "&" + base + "[" + add + "]";
}

}  // namespace

void KernelEmitter::load_global(const Instr& i) {
  const int result = i.results[0];
  const Geometry& g = geometry(result);
  const Type elem = type(result).elem;
  const Vector v = global_vector(i, g);
  const Place place = global_place(i, g);
  const Test ok = test(i.cond, g);
  const double fill_value = i.value;
  auto bits_of = [&](const std::string& x) {
    if (!packed(elem)) return x;
    return type_bytes(elem) == 2 ? "reinterpret_cast<const uint16_t&>(" + x + ")"
                                 : "reinterpret_cast<const uint8_t&>(" + x + ")";
  };
  auto one = [&](const Pick& p) {
    const std::string x = bits_of(place.base + "[" + place.add(p) + "]"), c = ok(p);
    const std::string otherwise = packed(elem)
                                      ? std::to_string(element_bits(fill_value, elem)) + "u"
                                      : literal(fill_value, elem);
    return c.empty() ? x
                     : (c.find(' ') == std::string::npos ? c : "(" + c + ")") + " ? " + x + " : " +
                           otherwise;
  };
  if (v.elements == 1 || elem == Type::Bool || (packed(elem) && !consecutive(v)))
    return produce_raw(result, one);

  // Vectors: where the condition may part them, element by element.
  const int bytes = v.elements * type_bytes(elem), n = int(v.bases.size());
  const int words = packed(elem) ? bytes / 4 : v.elements;
  const std::string axis = v.axis;
  Cond padded = i.cond;
  const bool whole = ok(Pick{"", {0}}).empty();
  if (g.padded(axis))
    for (auto& conj : padded.any)
      conj.push_back({IndexExpr(g.extent(axis) - 1) - IndexExpr::var(axis), false});
  const bool same = whole || same_along(simplify(padded, g.axes), axis, v.elements);
  if (!whole) fill(result, fill_value);
  auto element_pick = [&](int e) {
    Pick p{n > 1 ? "n" : "", {}};
    for (int b : v.bases) p.regs.push_back(v.element(b, e));
    return p;
  };
  auto body = [&] {
    const Pick base = element_pick(0);
    const std::string from = as_pointer(place.base, place.add(base));
    const std::string load = helpers_.use("load_global") + "<" + std::to_string(bytes) + ">(";
    auto vector = [&] {
      if (consecutive(v)) {
        Pick word = base;
        for (int& r : word.regs) r = r / v.elements * words;
        line(load + "&" + storage(result, word) + ", " + from + ");");
        return;
      }
      const std::string part = names_.fresh("part");
      line(wide_c(elem) + " " + part + "[" + std::to_string(words) + "];");
      line(load + part + ", " + from + ");");
      for (int e = 0; e < v.elements; ++e)
        line(storage(result, element_pick(e)) + " = " + part + "[" + std::to_string(e) + "];");
    };
    if (whole) return vector();
    if (same) {
      open("if (" + ok(base) + ") {");
      vector();
      close();
      return;
    }
    std::string all_of;
    for (int e = 0; e < v.elements; ++e)
      all_of += (e ? " && " : "") + ("(" + ok(element_pick(e)) + ")");
    open("if (" + all_of + ") {");
    vector();
    --indent_;
    open("} else {");
    for (int e = 0; e < v.elements; ++e) {
      const Pick p = element_pick(e);
      const std::string x = bits_of(place.base + "[" + place.add(p) + "]");
      const std::string at = index(p);
      if (packed(elem))
        line("if (" + ok(p) + ") " + helpers_.use(type_bytes(elem) == 2 ? "set16" : "set8") + "(" +
             variable(result).name + ", " + at + ", " + x + ");");
      else
        line("if (" + ok(p) + ") " + storage(result, p) + " = " + x + ";");
    }
    close();
  };
  if (n == 1) {
    body();
  } else {
    unrolled("n", n, body);
  }
}

void KernelEmitter::store_global(const Instr& i) {
  const int value = i.operands[0];
  const Geometry& g = geometry(value);
  const Type elem = type(value).elem;
  Vector v = global_vector(i, g);
  if (elem == Type::Bool || constants_.count(value) || (packed(elem) && !consecutive(v)))
    v = find_vector({}, 0, 0, g.registers, 1);
  const Place place = global_place(i, g);
  const Test ok = test(i.cond, g);
  const std::string once = writer(g);
  if (!once.empty()) open("if (" + once + ") {");
  auto one = [&](const Pick& p) {
    const std::string c = ok(p);
    std::string x = place.base + "[" + place.add(p) + "]";
    if (packed(elem))
      x = std::string("reinterpret_cast<") +
          (type_bytes(elem) == 2 ? "uint16_t&>(" : "uint8_t&>(") + x + ")";
    return (c.empty() ? "" : "if (" + c + ") ") + x + " = " + raw(value, p) + ";";
  };
  const int n = int(v.bases.size());
  if (v.elements == 1) {
    const Pick over = all(g.registers);
    unrolled(over, one(over));
  } else {
    const int bytes = v.elements * type_bytes(elem), words = packed(elem) ? bytes / 4 : v.elements;
    const std::string axis = v.axis;
    Cond padded = i.cond;
    if (g.padded(axis))
      for (auto& conj : padded.any)
        conj.push_back({IndexExpr(g.extent(axis) - 1) - IndexExpr::var(axis), false});
    auto element_pick = [&](int e) {
      Pick p{n > 1 ? "n" : "", {}};
      for (int b : v.bases) p.regs.push_back(v.element(b, e));
      return p;
    };
    auto body = [&] {
      const Pick base = element_pick(0);
      const std::string to = as_pointer(place.base, place.add(base));
      const std::string store =
          helpers_.use("store_global") + "<" + std::to_string(bytes) + ">(" + to + ", ";
      std::string statement;
      if (consecutive(v)) {
        Pick word = base;
        for (int& r : word.regs) r = r / v.elements * words;
        statement = store + "&" + storage(value, word) + ");";
      } else {
        const std::string part = names_.fresh("part");
        std::string list;
        for (int e = 0; e < v.elements; ++e)
          list += (e ? ", " : "") + storage(value, element_pick(e));
        line("const " + wide_c(elem) + " " + part + "[] = {" + list + "};");
        statement = store + part + ");";
      }
      const std::string c = ok(base);
      if (c.empty()) return line(statement);
      if (same_along(simplify(padded, g.axes), axis, v.elements))
        return line("if (" + c + ") " + statement);
      std::string all_of;
      for (int e = 0; e < v.elements; ++e)
        all_of += (e ? " && " : "") + ("(" + ok(element_pick(e)) + ")");
      open("if (" + all_of + ") {");
      line(statement);
      --indent_;
      open("} else {");
      for (int e = 0; e < v.elements; ++e) line(one(element_pick(e)));
      close();
    };
    if (n == 1)
      body();
    else
      unrolled("n", n, body);
  }
  if (!once.empty()) close();
}

// The first copy adds; the value before goes to the lanes that hold copies.
void KernelEmitter::atomic_add(const Instr& i) {
  const int value = i.operands[0];
  const Geometry& g = geometry(value);
  const Place place = global_place(i, g);
  const Test ok = test(i.cond, g);
  const std::string once = writer(g);
  const Pick over = all(g.registers);
  const std::string c = ok(over);
  std::string tests = once;
  if (!c.empty())
    tests += (once.empty() ? "" : " && ") + (c.find("||") == std::string::npos ? c : "(" + c + ")");
  const std::string add =
      "atomicAdd(&" + place.base + "[" + place.add(over) + "], " + read(value, over) + ")";
  if (i.results.empty())
    return unrolled(over, (tests.empty() ? "" : "if (" + tests + ") ") + add + ";");
  const int result = i.results[0];
  const std::string zero = literal(0, type(result).elem);
  unrolled(over, storage(result, over) + " = " +
                     (tests.empty() ? add : "(" + tests + ") ? " + add + " : " + zero) + ";");
  if (const uint32_t copies = copies_of(g).lanes)
    unrolled(over, storage(result, over) + " = __shfl_sync(0xffffffffu, " + storage(result, over) +
                       ", lane & " + std::to_string(31 & ~copies) + ");");
}

}  // namespace nautilus::cuda
