// mma.sync: every group of accumulator registers meets its parts of the operands, step by step
// along the contracted axes. Operands that lie in shared memory are loaded just before the steps
// that need them.
#include <algorithm>

#include "compiler/backend/cuda/emitter.h"
#include "compiler/backend/cuda/scalar.h"

namespace nautilus::cuda {

// Parts of an operand by coordinates: those it shares with the accumulator, and the contracted
// ones.
KernelEmitter::Operand KernelEmitter::operand(const Instr& i, int position, const Geometry& c,
                                              std::vector<std::vector<int64_t>>& steps) {
  Operand o;
  o.value = i.operands[size_t(position)];
  if (auto it = deferred_.find(o.value); it != deferred_.end()) o.load = it->second;
  const bool wide_k = i.shape == memory::Shape::M16N8K16;
  o.group = position == 1 ? (wide_k ? 8 : 4) : (wide_k ? 4 : 2);
  const Geometry& g = geometry(o.value);
  std::vector<Axis> kept, contracted;
  for (const Axis& a : g.axes)
    (std::find(i.axes.begin(), i.axes.end(), a.name) != i.axes.end() ? contracted : kept)
        .push_back(a);
  std::map<std::pair<std::vector<int64_t>, std::vector<int64_t>>, int> where;
  for (int r = 0; r < g.registers; r += o.group) {
    where[{g.point(r, kept), g.point(r, contracted)}] = r;
    steps.push_back(g.point(r, contracted));
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  for (const auto& k : steps) {
    o.at.emplace_back();
    for (int r = 0; r < c.registers; r += 4) {
      auto it = where.find({c.point(r, kept), k});
      o.at.back().push_back(it == where.end() ? -1 : it->second);
    }
  }
  return o;
}

// Loads of a chunk of steps serve no other chunk.
bool KernelEmitter::own_loads(const std::vector<Operand*>& operands, int chunk) const {
  for (const Operand* o : operands) {
    if (!o->load) continue;
    const int size = std::max(o->group, type_bytes(type(o->value).elem) == 2 ? 8 : 4);
    std::map<int, int> owner;
    for (size_t k = 0; k < o->at.size(); ++k)
      for (int r : o->at[k])
        if (owner.emplace(r / size, int(k) / chunk).first->second != int(k) / chunk) return false;
  }
  return true;
}

void KernelEmitter::mma(const Instr& i) {
  const int result = i.results[0];
  const Geometry& c = geometry(result);
  if (!constants_.count(i.operands[0]))
    copy(result, i.operands[0]);
  else
    fill(result, constants_.at(i.operands[0]));
  std::vector<std::vector<int64_t>> steps, same;
  Operand a = operand(i, 1, c, steps), b = operand(i, 2, c, same);
  if (steps != same) return refuse(i, "the operands are contracted in different steps");
  for (const Operand* o : {&a, &b})
    for (const auto& list : o->at)
      for (int r : list)
        if (r < 0) return refuse(i, "an operand lacks a part that the accumulator needs");
  const int groups = c.registers / 4, total = int(steps.size());
  int chunk = 1;
  while (chunk < total && (total % chunk || !own_loads({&a, &b}, chunk))) ++chunk;
  const int chunks = total / chunk;
  const Type elem = type(a.value).elem;
  const std::string f = helpers_.use(elem == Type::F16    ? "mma_f16"
                                     : elem == Type::BF16 ? "mma_bf16"
                                                          : "mma_tf32");
  const std::string k = chunks > 1 ? names_.fresh("k_part") : "";

  // The registers of an operand for (chunk of steps; step in it, group), and its array.
  std::vector<std::string> texts;
  std::vector<std::function<void()>> loads;
  for (Operand* o : {&a, &b}) {
    Pick p{groups * chunk > 1 ? "g" : "", {}, k, groups * chunk};
    for (int n = 0; n < total; ++n)
      for (int r : o->at[size_t(n)]) p.regs.push_back(r);
    const int per = packed(elem) ? 2 : 1;
    if (!o->load) {
      for (int& r : p.regs) r /= per;
      texts.push_back("&" + storage(o->value, p));
      continue;
    }
    const auto m = matrix_place(*o->load, o->value);
    if (!m) return refuse(*o->load, "the fragment is not one of 8x8 matrices");
    // Loads of each chunk in order, and where their registers go in the chunk's array.
    std::vector<std::vector<int>> needed{size_t(chunks), std::vector<int>{}};
    for (int n = 0; n < total; ++n)
      for (int r : o->at[size_t(n)]) needed[size_t(n / chunk)].push_back(r / m->elements);
    Pick from{"n", {}, k, 0}, to{"n", {}};
    for (auto& list : needed) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      if (from.inner && from.inner != int(list.size()))
        return refuse(i, "parts of the product need different numbers of loads");
      from.inner = int(list.size());
      for (int l : list) from.regs.push_back(l * m->elements);
    }
    const int count = from.inner;
    for (int n = 0; n < count; ++n) to.regs.push_back(n * m->elements / per);
    if (count == 1) from.var.clear(), to.var.clear();
    size_t at = 0;
    for (int n = 0; n < total; ++n)
      for (int g = 0; g < groups; ++g, ++at) {
        const auto& list = needed[size_t(n / chunk)];
        const int r = p.regs[at],
                  slot = int(std::lower_bound(list.begin(), list.end(), r / m->elements) -
                             list.begin());
        p.regs[at] = (slot * m->elements + r % m->elements) / per;
      }
    const std::string array = names_.fresh(o->load->buffer + "_part");
    texts.push_back("&" + array + "[" + index(p) + "]");
    const std::string declaration = (packed(elem) ? "uint32_t " : "float ") + array + "[" +
                                    std::to_string(count * m->elements / per) + "];";
    const std::string statement = helpers_.use("load_matrix") + "<" + std::to_string(m->matrices) +
                                  ", " + (o->load->transposed ? "true" : "false") + ">(&" + array +
                                  "[" + index(to) + "], " + m->place.at(from) + ");";
    loads.push_back([=, this] {
      line(declaration);
      Pick over = to;
      unrolled(over, statement);
    });
  }
  Pick acc{groups * chunk > 1 ? "g" : "", {}};
  for (int n = 0; n < groups * chunk; ++n) acc.regs.push_back(n % groups * 4);
  std::string acc_text = storage(result, acc);
  if (chunk > 1 && groups > 1) {
    Pick one{"g", {}};
    for (int n = 0; n < groups; ++n) one.regs.push_back(4 * n);
    acc_text = variable(result).name + "[g % " + std::to_string(groups) + " * 4]";
  }
  auto body = [&] {
    for (const auto& load : loads) load();
    unrolled(acc, f + "(&" + acc_text + ", " + texts[0] + ", " + texts[1] + ");");
  };
  if (chunks > 1)
    unrolled(k, chunks, body);
  else if (loads.empty())
    body();
  else {
    open("{");
    body();
    close();
  }
}

}  // namespace nautilus::cuda
