#include "gui/models/lesson_layout.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <random>
#include <vector>

#include "autosched/file.h"
#include "compiler/memory/ir.h"
#include "compiler/memory/layout.h"

namespace nautilus::gui {
namespace {

struct MemoryProgram {
  memory::Module module;
  poly::Sizes sizes;
};

std::vector<std::string> split_at(const std::string& text, char at) {
  std::vector<std::string> out(1);
  for (const char c : text)
    if (c == at)
      out.emplace_back();
    else
      out.back() += c;
  return out;
}

// Whether a line says `words`, where '_' stands for a space or itself.
bool says(const std::string& line, const std::string& words) {
  const auto same = [](char there, char asked) {
    return there == asked || (asked == '_' && there == ' ');
  };
  return std::search(line.begin(), line.end(), words.begin(), words.end(), same) != line.end();
}

// The first line is "# sizes M=128 N8=16"; lines with `without` are left out.
Expected<MemoryProgram> load_memory(const std::string& path, const std::string& without) {
  const Expected<std::string> text = sched::read_file(path);
  if (!text) return text.error();
  std::string kept;
  poly::Sizes sizes;
  int left_out = 0;
  for (const std::string& line : split_at(*text, '\n')) {
    if (line.starts_with("# sizes ")) {
      for (const std::string& word : split_at(line.substr(8), ' '))
        if (const size_t eq = word.find('='); eq != std::string::npos && word.size() - eq < 8)
          sizes[word.substr(0, eq)] = std::atoll(word.c_str() + eq + 1);
    } else if (without.empty() || !says(line, without)) {
      kept += line + "\n";
    } else {
      ++left_out;
    }
  }
  if (!without.empty() && left_out == 0)
    return Refusal{"read a memory program", path, "no line says '" + without + "'", ""};
  auto m = memory::parse(kept, path);
  if (!m) return m.error();
  if (const auto bad = memory::verify(*m)) return *bad;
  for (const std::string& s : m->sizes)
    if (!sizes.contains(s) || sizes[s] < 1)
      return Refusal{"read a memory program", path,
                     "size '" + s + "' is not given in its first line", "# sizes " + s + "=128"};
  return MemoryProgram{*std::move(m), sizes};
}

poly::Buffers random_inputs(const MemoryProgram& p) {
  std::mt19937_64 rng(1);
  poly::Buffers out;
  for (const memory::TensorDecl& t : p.module.tensors) {
    if (t.kind != poly::TensorKind::Input) continue;
    int64_t n = 1;
    for (const auto& e : t.extents) n *= e.evaluate(p.sizes);
    std::vector<double>& values = out[t.name];
    for (; n > 0; --n) values.push_back(static_cast<double>(rng() % 9) - 4);
  }
  return out;
}

}  // namespace

std::optional<double> layout_number(const std::string& what) {
  std::array<char, 16> how{};
  int rows = 0, cols = 0, bytes = 0, swizzle = 0, used = 0;
  if (std::sscanf(what.c_str(), "bank_passes.%15[a-z].%dx%d.%d.%d%n", how.data(), &rows, &cols,
                  &bytes, &swizzle, &used) != 5 ||
      used != static_cast<int>(what.size()))
    return std::nullopt;
  const auto power = [](int n) { return n > 0 && (n & (n - 1)) == 0 && n <= 256; };
  if (!power(rows) || !power(cols) || (bytes != 2 && bytes != 4) || swizzle < 0 || swizzle > 3)
    return std::nullopt;
  const std::string kind = how.data();
  const memory::Linear tile = memory::swizzled({{"i", rows}}, {{"j", cols}}, bytes, swizzle);
  if (kind == "ldmatrix") {
    if (bytes != 2 || rows < 16 || cols < 16) return std::nullopt;
    const memory::Linear fragment =
        memory::operand_a(memory::Shape::M16N8K16, {{"i", rows}}, {{"j", cols}});
    const auto access = memory::matrix_access(fragment, bytes, false);
    if (!access) return std::nullopt;
    return memory::bank_passes(*access, tile, bytes, memory::vector_bits(*access, tile, bytes));
  }
  if ((kind != "column" && kind != "row") || rows < 32 || cols < 32) return std::nullopt;
  const memory::Linear lanes = kind == "column"
                                   ? memory::blocked({{"i", rows}, {"j", cols}}, 0, 5, 0)
                                   : memory::blocked({{"j", cols}, {"i", rows}}, 0, 5, 0);
  return memory::bank_passes(lanes, tile, bytes, 0);
}

std::optional<double> memory_number(const std::string& dir, const std::string& what) {
  const std::vector<std::string> parts = split_at(what, '.');
  if (parts.size() != 3 || parts[0] != "memory" || parts[1].find('/') != std::string::npos)
    return std::nullopt;
  const auto p = load_memory(dir + "/" + parts[1] + ".mtile", "");
  if (!p || p->module.kernels.empty()) return std::nullopt;
  const memory::Kernel& k = p->module.kernels[0];
  int warps = 0, slots = k.buffers.empty() ? 0 : k.buffers[0].slots;
  for (const memory::Role& r : k.roles) warps += r.warps;
  double stage = 0;
  for (const memory::SharedBuffer& b : k.buffers) {
    double bytes = slots == b.slots ? type_bytes(b.elem) : 0;
    for (const memory::Axis& a : b.axes) bytes *= static_cast<double>(a.extent);
    stage += bytes;
  }
  const std::pair<const char*, double> numbers[] = {
      {"roles", static_cast<double>(k.roles.size())},
      {"warps", warps},
      {"barriers", static_cast<double>(k.mbarriers.size())},
      {"shared_bytes", static_cast<double>(k.shared_bytes())},
      {"slots", slots},
      {"stage_bytes", stage},
      {"ring_bytes", stage * slots}};
  for (const auto& [name, value] : numbers)
    if (parts[2] == name) return value;
  return std::nullopt;
}

Expected<std::string> interpreted(const std::string& dir, const std::string& what) {
  const std::vector<std::string> parts = split_at(what, '.');
  if (parts.size() < 2 || parts.size() > 3 || parts[0] != "interpreted" ||
      parts[1].find('/') != std::string::npos)
    return Refusal{"interpret " + what, "", "this names no memory program", "interpreted.NAME"};
  const std::string without = parts.size() == 3 ? parts[2] : "";
  const auto p = load_memory(dir + "/" + parts[1] + ".mtile", without);
  if (!p) return p.error();
  memory::InterpretOptions o;
  o.max_faults = 1;
  o.max_ops = 200'000'000;
  const auto run = memory::interpret(p->module, p->sizes, random_inputs(*p), o);
  if (!run) return run.error();
  if (run->faults.empty()) return std::string("clean");
  const memory::Fault& f = run->faults[0];
  std::string first = f.text.substr(0, f.text.find('\n'));
  if (first.ends_with(':')) first.pop_back();
  return std::string(memory::fault_name(f.kind)) + ": " + first;
}

}  // namespace nautilus::gui
