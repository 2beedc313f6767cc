#include "autosched/exploration.h"

#include <algorithm>

#include "autosched/search/engine.h"

namespace nautilus::sched {
namespace {

// The engine of a program whose sizes may still have to be bound.
Expected<std::unique_ptr<Engine>> engine_for(poly::ProgramPtr program, const SearchOptions& options,
                                             OpsProvider& ops, EventSink sink) {
  if (options.machine.levels.empty())
    return Refusal{"search", "", "the options name no machine", "load one with find_machine"};
  if (!options.sizes.empty()) {
    poly::Sizes known;
    for (auto& [name, value] : options.sizes)
      if (std::find(program->params.begin(), program->params.end(), name) != program->params.end())
        known[name] = value;
    Expected<poly::Program> bound = poly::bind_sizes(*program, known);
    if (!bound) return bound.error();
    program = std::make_shared<const poly::Program>(*std::move(bound));
  }
  return std::make_unique<Engine>(std::move(program), options, ops, std::move(sink));
}

// What isl refuses while `fn` runs is a refusal, too.
template <class Fn>
auto guarded(const poly::ProgramPtr& program, const SearchOptions& options, Fn&& fn)
    -> Expected<decltype(fn())> {
  try {
    const poly::QuotaGuard quota(program->context->get(), options.isl_quota);
    return fn();
  } catch (const isl::exception& e) {
    return Refusal{"search", "", e.what(), "raise the quota of isl operations"};
  }
}

template <class Fn>
std::optional<Refusal> tried(const poly::ProgramPtr& program, const SearchOptions& options,
                             Fn&& fn) {
  auto answer = guarded(program, options, fn);
  return answer ? *answer : answer.error();
}

}  // namespace

Exploration::Exploration(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
Exploration::~Exploration() = default;

Expected<std::unique_ptr<Exploration>> Exploration::start(poly::ProgramPtr program,
                                                          const SearchOptions& options,
                                                          OpsProvider& ops, EventSink sink) {
  return resume(std::move(program), options, {}, ops, std::move(sink));
}

Expected<std::unique_ptr<Exploration>> Exploration::resume(poly::ProgramPtr program,
                                                           const SearchOptions& options,
                                                           SearchResult so_far, OpsProvider& ops,
                                                           EventSink sink) {
  try {
    Expected<std::unique_ptr<Engine>> engine =
        engine_for(std::move(program), options, ops, std::move(sink));
    if (!engine) return engine.error();
    if (auto bad = tried((*engine)->program(), options,
                         [&] { return (*engine)->take_over(std::move(so_far)); }))
      return *bad;
    return std::unique_ptr<Exploration>(new Exploration(*std::move(engine)));
  } catch (const isl::exception& e) {
    return Refusal{"search", "", e.what(), "raise the quota of isl operations"};
  }
}

StopReason Exploration::run(const Budget& budget) { return engine_->run(budget); }

StopReason Exploration::run() {
  const SearchOptions& o = options();
  return engine_->run({o.seconds, o.max_nodes, o.max_plans, 0});
}

StopReason Exploration::step() { return engine_->run({0, 0, 0, 1}); }

const SearchResult& Exploration::result() const { return engine_->result(); }
SearchResult Exploration::release() && { return std::move(engine_->result()); }
const SearchOptions& Exploration::options() const { return engine_->options(); }
const poly::ProgramPtr& Exploration::program() const { return engine_->program(); }
bool Exploration::exhausted() const { return engine_->exhausted(); }
void Exploration::close() { engine_->close(); }
int Exploration::root() const { return engine_->root(); }

std::optional<Refusal> Exploration::explore_below(int node) {
  return tried(program(), options(), [&] { return engine_->explore_below(node); });
}

Expected<int> Exploration::add_by_hand(int parent, const std::vector<poly::TransformStep>& steps) {
  auto answer =
      guarded(program(), options(), [&] { return engine_->add_by_hand(parent, steps); });
  return answer ? *answer : answer.error();
}

std::optional<Refusal> Exploration::set_machine(const Machine& machine, OpsProvider& ops) {
  return tried(program(), options(), [&] { return engine_->set_machine(machine, ops); });
}

Expected<SearchResult> search(poly::ProgramPtr program, const SearchOptions& options,
                              OpsProvider& ops, const EventSink& sink) {
  auto exploration = Exploration::start(std::move(program), options, ops, sink);
  if (!exploration) return exploration.error();
  try {
    (*exploration)->run();
  } catch (const isl::exception& e) {
    return Refusal{"search", "", e.what(), "raise the quota of isl operations"};
  }
  (*exploration)->close();
  return std::move(**exploration).release();
}

}  // namespace nautilus::sched
