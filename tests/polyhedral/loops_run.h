// Runs a Loop tree as the generated code would, recording the statement instances in order.
#pragma once

#include <functional>
#include <set>

#include "polyhedral/loops.h"

namespace nautilus::poly::testing_trees {

struct Execution {
  std::vector<std::pair<std::string, std::vector<int64_t>>> instances;  // in order of execution
  int full = 0, partial = 0, empty = 0;                                 // tile statements executed
};

inline void run(const LoopPtr& l, std::map<std::string, int64_t>& env, Execution& out) {
  switch (l->kind) {
    case Loop::Kind::Block:
      for (const LoopPtr& c : l->children) run(c, env, out);
      return;
    case Loop::Kind::For:
      for (int64_t v = l->lower.evaluate(env), end = l->upper.evaluate(env); v < end;
           v += l->step) {
        env[l->iv] = v;
        for (const LoopPtr& c : l->children) run(c, env, out);
      }
      env.erase(l->iv);
      return;
    case Loop::Kind::If:
      if (l->condition.evaluate(env))
        run(l->children[0], env, out);
      else if (l->children.size() > 1)
        run(l->children[1], env, out);
      return;
    case Loop::Kind::Statement: {
      std::vector<int64_t> x;
      for (const IndexExpr& b : l->base) x.push_back(b.evaluate(env));
      size_t inside = 0;
      std::map<std::string, int64_t> point = env;
      std::function<void(size_t)> scan = [&](size_t k) {
        if (k == x.size()) {
          if (l->partial && !l->mask.evaluate(point)) return;
          out.instances.emplace_back(l->stmt, x);
          ++inside;
          return;
        }
        if (l->axis[k].empty()) return scan(k + 1);
        const int64_t base = x[k];
        for (int64_t a = 0; a < l->extent[k]; ++a) {
          x[k] = base + a;
          point[l->axis[k]] = a;
          scan(k + 1);
        }
        x[k] = base;
      };
      scan(0);
      ++(inside == 0 ? out.empty : l->partial ? out.partial : out.full);
      return;
    }
  }
}

inline Execution run(const LoopPtr& l) {
  Execution out;
  std::map<std::string, int64_t> env;
  run(l, env, out);
  return out;
}

}  // namespace nautilus::poly::testing_trees
