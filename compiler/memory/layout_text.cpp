// Text of linear maps and placements; read back exactly.
#include <algorithm>
#include <bit>

#include "compiler/memory/f2.h"
#include "compiler/memory/text.h"
#include "compiler/tile/text.h"

namespace nautilus::memory {
namespace {

using tile::Cursor;
using tile::quote_name;

constexpr int64_t kMaxRepeat = int64_t(1) << 31;

// Outputs as the images alone tell them: in order of appearance, as wide as what is reached.
std::vector<Bits> reached(const Linear& l) {
  std::vector<Bits> out;
  for (const auto& [name, bit] : input_bits(l))
    for (const Bits& o : l.out()) {
      const uint32_t v = l.image(name, bit, o.name);
      if (!v) continue;
      auto it =
          std::find_if(out.begin(), out.end(), [&](const Bits& x) { return x.name == o.name; });
      if (it == out.end()) it = out.insert(out.end(), {o.name, 0});
      it->bits = std::max(it->bits, int(std::bit_width(v)));
    }
  return out;
}

std::string image_text(const Linear& l, const std::string& in, int bit) {
  std::string s;
  for (const Bits& o : l.out())
    if (uint32_t v = l.image(in, bit, o.name))
      s += (s.empty() ? "" : "+") + quote_name(o.name) + "=" + std::to_string(v);
  return s.empty() ? "0" : s;
}

std::string extents_text(const std::vector<Bits>& dims) {
  std::string s;
  for (const Bits& d : dims)
    s += (s.empty() ? "" : ", ") + quote_name(d.name) + ": " + std::to_string(int64_t(1) << d.bits);
  return s;
}

struct Term {
  std::string out;
  uint32_t value;
};
// "0" or "i=1+j=8".
std::vector<Term> read_image(Cursor& c) {
  std::vector<Term> terms;
  if (c.word("0")) return terms;
  do {
    Term t;
    t.out = c.name();
    c.expect("=");
    const int64_t v = c.integer();
    if (v < 1 || v >> kMaxDimensionBits) c.fail("image out of range");
    t.value = uint32_t(v);
    for (const Term& other : terms)
      if (other.out == t.out) c.fail("output " + t.out + " is there twice in an image");
    terms.push_back(std::move(t));
  } while (!c.failed() && c.take("+"));
  return terms;
}

// "i: 32": a power of two.
Bits read_extent(Cursor& c) {
  Bits d;
  d.name = c.name();
  c.expect(":");
  const int64_t n = c.integer();
  d.bits = log2_exact(n);
  if (d.bits < 0 || d.bits > kMaxDimensionBits) {
    c.fail("the extent of an output must be a power of two");
    d.bits = 0;
  }
  return d;
}

template <class T, class Reader>
Expected<T> whole(std::string_view text, const char* what, Reader reader) {
  Cursor c(text);
  T t = reader(c);
  if (!c.failed() && !c.at_end()) c.fail("unexpected text");
  if (c.failed()) return Refusal{std::string("read ") + what, c.place(""), c.error(), ""};
  return t;
}

}  // namespace

std::string to_string(const Linear& l) {
  std::string s;
  for (const Bits& d : l.in()) {
    s += (s.empty() ? "" : "; ") + quote_name(d.name) + ":";
    for (int b = 0; b < d.bits; ++b) s += " " + image_text(l, d.name, b);
  }
  if (reached(l) == l.out()) return s;
  return s + (s.empty() ? "-> " : " -> ") + extents_text(l.out());
}

Linear read_linear(Cursor& c) {
  std::vector<Bits> in, out;
  std::vector<std::vector<Term>> images;
  while (!c.failed() && !c.at_end() && !c.peek("->") && !c.peek("}")) {
    Bits d{c.name(), 0};
    c.expect(":");
    while (!c.failed() && !c.at_end() && !c.peek(";") && !c.peek("->") && !c.peek("}")) {
      images.push_back(read_image(c));
      if (++d.bits > kMaxDimensionBits) c.fail("too many bits");
    }
    in.push_back(std::move(d));
    if (!c.take(";")) break;
  }
  const bool sizes = c.take("->");
  if (sizes && !c.at_end() && !c.peek("}")) {
    do out.push_back(read_extent(c));
    while (!c.failed() && c.take(","));
  }
  std::vector<std::vector<uint32_t>> rows;
  for (const auto& image : images)
    for (const Term& t : image) {
      auto it =
          std::find_if(out.begin(), out.end(), [&](const Bits& x) { return x.name == t.out; });
      if (it == out.end() && sizes) c.fail("no extent of output " + t.out);
      if (it == out.end()) it = out.insert(out.end(), {t.out, 0});
      if (!sizes) it->bits = std::max(it->bits, int(std::bit_width(t.value)));
    }
  if (c.failed()) return {};
  for (const auto& image : images) {
    std::vector<uint32_t> row(out.size(), 0);
    for (const Term& t : image)
      for (size_t o = 0; o < out.size(); ++o)
        if (out[o].name == t.out) row[o] = t.value;
    rows.push_back(std::move(row));
  }
  auto l = Linear::make(std::move(in), std::move(out), std::move(rows));
  if (!l) {
    c.fail(l.error().why);
    return {};
  }
  return *l;
}

Expected<Linear> parse_linear(std::string_view text) {
  return whole<Linear>(text, "linear map", read_linear);
}

std::string to_string(const Placement& p) {
  if (p.repeats.empty()) return to_string(p.map);
  std::string s;
  for (const Extent& e : p.repeats)
    s += (s.empty() ? "repeat (" : ", ") + quote_name(e.axis) + ": " + std::to_string(e.count);
  const std::string map = to_string(p.map);
  return s + ")" + (map.empty() ? "" : " ") + map;
}

Placement read_placement(Cursor& c) {
  Placement p;
  if (c.word("repeat")) {
    int64_t product = 1;
    c.expect("(");
    do {
      Extent e;
      e.axis = c.name();
      c.expect(":");
      e.count = c.integer();
      if (e.count < 1 || e.count > kMaxRepeat || (product *= e.count) > kMaxRepeat)
        c.fail("repeats out of range");
      p.repeats.push_back(std::move(e));
    } while (!c.failed() && c.take(","));
    c.expect(")");
  }
  p.map = read_linear(c);
  return p;
}

Expected<Placement> parse_placement(std::string_view text) {
  return whole<Placement>(text, "placement", read_placement);
}

}  // namespace nautilus::memory
