#include "compiler/runtime/reference/prepare.h"

#include <chrono>
#include <list>
#include <mutex>

namespace nautilus::runtime {

Expected<std::shared_ptr<const Prepared>> prepare(const poly::Program& p, const RunOptions& o) {
  static std::mutex mutex;
  static std::list<std::shared_ptr<const Prepared>> recent;
  const std::string key = poly::print_naut(p) + "|" + std::to_string(o.seed) + "|" +
                          std::to_string(o.scale) + "|" + std::to_string(o.sample);
  const std::lock_guard<std::mutex> lock(mutex);
  for (const auto& r : recent)
    if (r->key == key) return r;
  auto fresh = std::make_shared<Prepared>();
  fresh->key = key;
  fresh->inputs = make_inputs(p, {}, o.seed, o.scale);
  const auto start = std::chrono::steady_clock::now();
  auto evaluation = evaluate_rows(p, fresh->inputs, o.sample, o.seed, true);
  if (!evaluation) return evaluation.error();
  fresh->evaluation = std::move(*evaluation);
  fresh->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  recent.push_front(fresh);
  if (recent.size() > 2) recent.pop_back();
  return std::shared_ptr<const Prepared>(fresh);
}

}  // namespace nautilus::runtime
