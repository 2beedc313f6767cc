// Linear maps over F2: construction and algebra.
#include <algorithm>
#include <set>
#include <stdexcept>

#include "compiler/memory/f2.h"

namespace nautilus::memory {
namespace {

const Bits* find(const std::vector<Bits>& dims, std::string_view name) {
  for (const Bits& d : dims)
    if (d.name == name) return &d;
  return nullptr;
}

// Why dimensions are not those of a map; empty if they are.
std::string bad_dims(const std::vector<Bits>& dims) {
  std::set<std::string> names;
  int64_t total = 0;
  for (const Bits& d : dims) {
    if (!names.insert(d.name).second) return "dimension " + d.name + " is there twice";
    if (d.bits < 0 || d.bits > kMaxDimensionBits)
      return "dimension " + d.name + " has " + std::to_string(d.bits) + " bits, not 0.." +
             std::to_string(kMaxDimensionBits);
    total += d.bits;
  }
  if (total > kMaxBits) return "more than " + std::to_string(kMaxBits) + " bits";
  return "";
}

Linear made(std::vector<Bits> in, std::vector<Bits> out,
            std::vector<std::vector<uint32_t>> images) {
  auto l = Linear::make(std::move(in), std::move(out), std::move(images));
  if (!l) throw std::invalid_argument(l.error().text());
  return *std::move(l);
}

// Images in all outputs of one packed vector.
std::vector<uint32_t> unpacked(const Packing& p, const std::vector<Bits>& out, uint64_t v) {
  std::vector<uint32_t> image;
  for (const Bits& o : out) image.push_back(p.get(o.name, v));
  return image;
}

// Dimensions of a, then those of b; of the same name: the sum of their bits.
std::vector<Bits> joined(std::vector<Bits> a, const std::vector<Bits>& b) {
  for (const Bits& d : b) {
    auto it = std::find_if(a.begin(), a.end(), [&](const Bits& x) { return x.name == d.name; });
    if (it == a.end())
      a.push_back(d);
    else
      it->bits += d.bits;
  }
  return a;
}

std::vector<Bits> ordered(const std::vector<Bits>& dims, const std::vector<std::string>& names) {
  std::vector<Bits> out;
  for (const std::string& n : names) {
    const Bits* d = find(dims, n);
    out.push_back({n, d ? d->bits : 0});
  }
  for (const Bits& d : dims)
    if (!find(out, d.name)) out.push_back(d);
  return out;
}

}  // namespace

Expected<Linear> Linear::make(std::vector<Bits> in, std::vector<Bits> out,
                              std::vector<std::vector<uint32_t>> images) {
  auto refuse = [](std::string why) {
    return Refusal{"make a linear map", "", std::move(why), ""};
  };
  for (const auto* dims : {&in, &out})
    if (std::string why = bad_dims(*dims); !why.empty()) return refuse(why);
  size_t bits = 0;
  for (const Bits& d : in) bits += size_t(d.bits);
  if (images.size() != bits)
    return refuse(std::to_string(images.size()) + " images for " + std::to_string(bits) + " bits");
  for (const auto& image : images) {
    if (image.size() != out.size()) return refuse("an image needs a coordinate an output");
    for (size_t o = 0; o < out.size(); ++o)
      if (image[o] >> out[o].bits)
        return refuse("image " + out[o].name + "=" + std::to_string(image[o]) + " is outside the " +
                      std::to_string(out[o].bits) + " bits of " + out[o].name);
  }
  Linear l;
  l.in_ = std::move(in);
  l.out_ = std::move(out);
  l.images_ = std::move(images);
  return l;
}

Linear Linear::identity(const std::string& in, const std::string& out, int bits) {
  std::vector<std::vector<uint32_t>> images;
  for (int b = 0; b < bits; ++b) images.push_back({uint32_t(1) << b});
  return made({{in, bits}}, {{out, bits}}, std::move(images));
}

Linear Linear::zeros(const std::string& in, int bits) {
  return made({{in, bits}}, {}, std::vector<std::vector<uint32_t>>(size_t(std::max(bits, 0))));
}

int Linear::in_bits(std::string_view name) const {
  const Bits* d = find(in_, name);
  return d ? d->bits : 0;
}
int Linear::out_bits(std::string_view name) const {
  const Bits* d = find(out_, name);
  return d ? d->bits : 0;
}

// 0 for an output that is not there.
uint32_t Linear::image(std::string_view in, int bit, std::string_view out) const {
  size_t first = 0;
  for (const Bits& d : in_) {
    if (d.name == in) {
      if (bit < 0 || bit >= d.bits) break;
      for (size_t o = 0; o < out_.size(); ++o)
        if (out_[o].name == out) return images_[first + size_t(bit)][o];
      return 0;
    }
    first += size_t(d.bits);
  }
  throw std::invalid_argument("no bit " + std::to_string(bit) + " of " + std::string(in));
}

std::map<std::string, int64_t> Linear::apply(const std::map<std::string, int64_t>& at) const {
  std::vector<uint32_t> sum(out_.size(), 0);
  size_t k = 0;
  for (const Bits& d : in_) {
    auto it = at.find(d.name);
    const int64_t x = it == at.end() ? 0 : it->second;
    if (x < 0 || x >> d.bits)
      throw std::invalid_argument(d.name + " = " + std::to_string(x) + " is no point of the map");
    for (int b = 0; b < d.bits; ++b, ++k)
      if (x >> b & 1)
        for (size_t o = 0; o < sum.size(); ++o) sum[o] ^= images_[k][o];
  }
  std::map<std::string, int64_t> out;
  for (size_t o = 0; o < sum.size(); ++o) out[out_[o].name] = sum[o];
  return out;
}

Linear Linear::operator*(const Linear& o) const {
  std::vector<Bits> in = joined(in_, o.in_), out = joined(out_, o.out_);
  std::vector<std::vector<uint32_t>> images;
  for (const Bits& d : in) {
    const int below = in_bits(d.name);
    for (int b = 0; b < d.bits; ++b) {
      const bool high = b >= below;
      std::vector<uint32_t> image;
      for (const Bits& x : out) {
        const uint32_t v =
            high ? o.image(d.name, b - below, x.name) : this->image(d.name, b, x.name);
        image.push_back(high ? v << out_bits(x.name) : v);
      }
      images.push_back(std::move(image));
    }
  }
  return made(std::move(in), std::move(out), std::move(images));
}

Linear Linear::after(const Linear& f) const {
  for (const Bits& d : f.out_)
    if (d.bits > in_bits(d.name))
      throw std::invalid_argument("composition: " + d.name + " has " + std::to_string(d.bits) +
                                  " bits, the next map takes " + std::to_string(in_bits(d.name)));
  std::vector<std::vector<uint32_t>> images;
  for (const auto& image : f.images_) {
    std::vector<uint32_t> sum(out_.size(), 0);
    size_t k = 0;
    for (const Bits& d : in_) {
      const Bits* middle = find(f.out_, d.name);
      const uint32_t x = middle ? image[size_t(middle - f.out_.data())] : 0;
      for (int b = 0; b < d.bits; ++b, ++k)
        if (x >> b & 1)
          for (size_t o = 0; o < sum.size(); ++o) sum[o] ^= images_[k][o];
    }
    images.push_back(std::move(sum));
  }
  return made(f.in_, out_, std::move(images));
}

std::optional<Linear> Linear::inverse() const {
  if (!injective()) return std::nullopt;
  return right_inverse();
}

// Bits of the inputs are taken from the last to the first, so that an early one is used only where
// no later ones reach.
std::optional<Linear> Linear::right_inverse() const {
  const Packing p(out_), back(in_);
  const auto bits = input_bits(*this);
  Basis basis;
  for (size_t n = bits.size(); n-- > 0;) basis.add(p.image(*this, bits[n].first, bits[n].second));
  std::vector<std::vector<uint32_t>> images;
  for (const Bits& d : out_)
    for (int b = 0; b < d.bits; ++b) {
      const auto combination = basis.solve(p.put(d.name, uint64_t(1) << b));
      if (!combination) return std::nullopt;
      uint64_t x = 0;
      for (size_t n = 0; n < bits.size(); ++n)
        if (*combination >> (bits.size() - 1 - n) & 1)
          x ^= back.put(bits[n].first, uint64_t(1) << bits[n].second);
      images.push_back(unpacked(back, in_, x));
    }
  return made(out_, in_, std::move(images));
}

Linear Linear::without_output(std::string_view name) const {
  Linear l = *this;
  for (size_t o = 0; o < l.out_.size(); ++o) {
    if (l.out_[o].name != name) continue;
    l.out_.erase(l.out_.begin() + long(o));
    for (auto& image : l.images_) image.erase(image.begin() + long(o));
    break;
  }
  return l;
}

Linear Linear::renamed(const std::map<std::string, std::string>& names) const {
  Linear l = *this;
  for (auto* dims : {&l.in_, &l.out_})
    for (Bits& d : *dims)
      if (auto it = names.find(d.name); it != names.end()) d.name = it->second;
  return made(std::move(l.in_), std::move(l.out_), std::move(l.images_));
}

Linear Linear::in_order(const std::vector<std::string>& in,
                        const std::vector<std::string>& out) const {
  std::vector<Bits> new_in = ordered(in_, in), new_out = ordered(out_, out);
  std::vector<std::vector<uint32_t>> images;
  for (const Bits& d : new_in)
    for (int b = 0; b < d.bits; ++b) {
      std::vector<uint32_t> image;
      for (const Bits& o : new_out) image.push_back(this->image(d.name, b, o.name));
      images.push_back(std::move(image));
    }
  return made(std::move(new_in), std::move(new_out), std::move(images));
}

int Linear::rank() const {
  const Packing p(out_);
  Basis basis;
  for (const auto& [name, bit] : input_bits(*this)) basis.add(p.image(*this, name, bit));
  return basis.rank();
}
bool Linear::injective() const { return rank() == int(images_.size()); }
bool Linear::surjective() const { return rank() == Packing(out_).bits(); }

std::vector<std::pair<std::string, int>> Linear::free_bits() const {
  std::vector<std::pair<std::string, int>> out;
  const auto bits = input_bits(*this);
  for (size_t k = 0; k < bits.size(); ++k)
    if (std::all_of(images_[k].begin(), images_[k].end(), [](uint32_t v) { return v == 0; }))
      out.push_back(bits[k]);
  return out;
}

bool Linear::operator==(const Linear& o) const {
  auto same_dims = [](const std::vector<Bits>& a, const std::vector<Bits>& b) {
    auto in_other = [](const std::vector<Bits>& x, const std::vector<Bits>& y) {
      return std::all_of(x.begin(), x.end(), [&](const Bits& d) {
        const Bits* e = find(y, d.name);
        return d.bits == (e ? e->bits : 0);
      });
    };
    return in_other(a, b) && in_other(b, a);
  };
  if (!same_dims(in_, o.in_) || !same_dims(out_, o.out_)) return false;
  for (const auto& [name, bit] : input_bits(*this))
    for (const Bits& d : out_)
      if (d.bits && image(name, bit, d.name) != o.image(name, bit, d.name)) return false;
  return true;
}

}  // namespace nautilus::memory
