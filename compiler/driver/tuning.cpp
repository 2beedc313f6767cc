#include "compiler/driver/tuning.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <limits>
#include <mutex>
#include <thread>

#include "autosched/file.h"
#include "autosched/rank.h"
#include "compiler/driver/gpu_code.h"
#include "compiler/runtime/extents.h"
#include "compiler/runtime/process.h"

namespace nautilus::driver {

using nlohmann::json;

namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

struct Candidate {
  int node = 0;
  sched::Plan plan;
  std::string structure;
  double predicted = 0;  // seconds
  std::string file;      // plan.json
  json ran;              // what `run` answered; null if it did not
  std::string why;       // no time; "" if there is one
  std::vector<double> seconds = {};
  bool wrong = false;  // ran, and its outputs were not the reference's

  bool good() const { return !wrong && !seconds.empty(); }
  bool again() const { return good() && seconds.size() > 1; }
  // Median of the samples; the first of several was taken beside other work and is not among them.
  double time() const {
    std::vector<double> s = seconds;
    if (s.size() > 1) s.erase(s.begin());
    std::nth_element(s.begin(), s.begin() + static_cast<long>(s.size() / 2), s.end());
    return s[s.size() / 2];
  }
};

// The JSON object in what a program printed; null if there is none. Lines around it are of stderr.
json answer_in(const std::string& log) {
  const size_t first = log.starts_with("{") ? 0 : log.find("\n{");
  const size_t last = log.rfind('}');
  if (first == std::string::npos || last == std::string::npos || last < first) return nullptr;
  const json j = json::parse(log.substr(first, last + 1 - first), nullptr, false);
  return j.is_object() ? j : json(nullptr);
}

class Tuning {
 public:
  Tuning(const Input& in, const Loaded& loaded, const Searched& found, const SearchFlags& search,
         const TuneFlags& flags, const HostGpu& gpu, const std::string& scratch)
      : in_(in),
        loaded_(loaded),
        found_(found),
        search_(search),
        flags_(flags),
        gpu_(gpu),
        scratch_(scratch) {}

  int run() {
    pick();
    if (candidates_.empty()) {
      const bool none = passed_over_.empty();
      return fail(in_.json,
                  {"find a plan that becomes a kernel", loaded_.program.name,
                   interrupted() ? "interrupted"
                   : none        ? "no complete plan within the budget"
                                 : passed_over_[0],
                   "more --seconds or --max-plans"},
                  none || interrupted() ? kBudget : kNo);
    }
    measure();
    std::vector<Candidate*> order = ranked();
    if (order.size() > static_cast<size_t>(flags_.finalists))
      order.resize(static_cast<size_t>(flags_.finalists));
    if (order.size() > 1) repeat(order);
    order = ranked();
    // One that was timed alone is not compared with one that was not.
    std::stable_partition(order.begin(), order.end(),
                          [](const Candidate* c) { return c->again(); });
    return report(order.empty() ? nullptr : order.front());
  }

 private:
  const Input& in_;
  const Loaded& loaded_;
  const Searched& found_;
  const SearchFlags& search_;
  const TuneFlags& flags_;
  const HostGpu& gpu_;
  const std::string scratch_;
  std::vector<Candidate> candidates_;
  std::vector<std::string> passed_over_;  // why, of plans that no kernel could be made of

  // Complete plans, best first, as long as they give kernels of their own.
  void pick() {
    const sched::SearchResult& r = found_.result;
    std::vector<int> nodes;
    for (const sched::SearchNode& n : r.nodes)
      if (n.state == sched::NodeState::Complete && n.seconds > 0) nodes.push_back(n.id);
    std::stable_sort(nodes.begin(), nodes.end(),
                     [&](int a, int b) { return r.nodes[a].seconds < r.nodes[b].seconds; });
    std::set<std::string> sources;
    Progress progress(true);
    for (const int node : nodes) {
      if (candidates_.size() >= static_cast<size_t>(flags_.candidates) || interrupted()) break;
      progress.update("lowering: " + std::to_string(candidates_.size()) + " kernels that differ");
      auto plan = plan_of(found_, node);
      if (!plan) continue;
      Choice c{*plan, {{"predicted_seconds", r.nodes[node].seconds}}};
      PassPrinter quiet("", in_.json);
      const auto code = generate({c}, gpu_.description,
                                 {gpu_.target, false, &loaded_, false, nullptr, false}, quiet);
      if (!code) {
        passed_over_.push_back(knobs_text(r.nodes[node].knobs) + ": " + code.error().text());
        continue;
      }
      if (code->choice.plan.knobs != plan->knobs) {
        passed_over_.push_back(knobs_text(plan->knobs) + ": does not fit without smaller tiles");
        continue;
      }
      if (!sources.insert(code->source.text).second) continue;
      Candidate made{node, *plan, structure_text(r, node), r.nodes[node].seconds, "", nullptr, ""};
      made.file = scratch_ + "/plan" + std::to_string(candidates_.size()) + ".json";
      std::ofstream(made.file) << sched::plan_to_json(*plan).dump();
      candidates_.push_back(std::move(made));
    }
    progress.clear();
  }

  std::vector<std::string> arguments(const Candidate& c, int repeats, bool check) const {
    std::vector<std::string> a{"run", in_.spec};
    if (!in_.kernel.empty()) a.insert(a.end(), {"--kernel", in_.kernel});
    a.insert(a.end(),
             {"--plan", c.file, "--on", "gpu", "--json", "--machine", gpu_.machine, "--target",
              gpu_.target, "--numerics", search_.numerics, "--repeats", std::to_string(repeats),
              "--limit", std::to_string(flags_.limit), "--turns", scratch_ + "/turns"});
    if (flags_.flush) a.push_back("--flush");
    if (!check) a.push_back("--no-check");
    add_sizes(a);
    return a;
  }
  void add_sizes(std::vector<std::string>& a) const {
    if (!loaded_.sizes.empty()) a.push_back("--size");
    for (const auto& [name, value] : loaded_.sizes) a.push_back(name + "=" + std::to_string(value));
  }

  // Compiles, checks and runs a candidate in a child process, whose end it cannot outlive. What it
  // said before stands if it does not answer this time, but for wrong outputs.
  void run_candidate(Candidate& c, int repeats, bool check) {
    const auto end = runtime::run_child(runtime::worker_program(), arguments(c, repeats, check), {},
                                        {kUnlimited, 0, &interrupted(), runtime::kWholeLog, false});
    const json j = end ? answer_in(end->log) : json(nullptr);
    const auto get = [&](const char* key) { return j.value(key, std::string()); };
    std::string why;
    if (!end)
      why = end.error().text();
    else if (end->stopped)
      why = "interrupted";
    else if (j.is_null())
      why = end->signal ? "killed by " + runtime::signal_text(end->signal) : end->log;
    else if (j.contains("error"))
      why = j["error"].value("why", j["error"].dump());
    else if (j.contains("knobs") && j["knobs"] != json(c.plan.knobs))
      why = "its registers spill; it ran with smaller tiles";
    else if (!j.value("passed", false))
      why = get("failure").empty() ? "wrong result" : get("failure");
    else if (!sched::is_kernel_time(j.value("seconds", 0.0)))
      why = "its time could not be measured";
    if (why.empty()) {
      c.ran = j;
      c.why = "";
      c.seconds.push_back(j["seconds"]);
      return;
    }
    c.wrong |= j.is_object() && get("failure").starts_with("wrong result");
    if (c.wrong || c.seconds.empty()) c.why = why;
    if (c.wrong || c.ran.is_null()) c.ran = j;
  }

  // As many as there are cores, and as the host has room for: each holds its tensors in double
  // precision beside those that the device gets, while it waits for its turn.
  size_t most_jobs() const {
    double bytes = 1;
    if (const auto bound = runtime::instantiate_for_run(loaded_.program, loaded_.sizes))
      for (const poly::Tensor& t : bound->tensors)
        if (t.kind != poly::TensorKind::Temp)
          bytes += 3 * 8.0 *
                   static_cast<double>(runtime::element_count(runtime::extents_of(*bound, t.name)));
    const double room =
        static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    const double fit = std::max(1.0, room / 2 / bytes);
    return static_cast<size_t>(
        std::min<double>(fit, std::max(1u, std::thread::hardware_concurrency())));
  }

  // Each once: compiled and checked side by side, one at a time on the device.
  void measure() {
    std::mutex lock;
    size_t next = 0, done = 0;
    double best = 0;
    Progress progress(true);
    const auto work = [&] {
      for (;;) {
        size_t n = 0;
        {
          const std::lock_guard hold(lock);
          if (next == candidates_.size() || interrupted()) return;
          n = next++;
        }
        run_candidate(candidates_[n], flags_.repeats, true);
        const std::lock_guard hold(lock);
        ++done;
        if (candidates_[n].good() && (best == 0 || candidates_[n].time() < best))
          best = candidates_[n].time();
        progress.update("measuring: " + std::to_string(done) + " of " +
                        std::to_string(candidates_.size()) +
                        (best > 0 ? ", best " + human_time(best) : ""));
      }
    };
    const size_t jobs = flags_.jobs > 0 ? static_cast<size_t>(flags_.jobs) : most_jobs();
    std::vector<std::thread> workers;
    for (size_t n = 0; n < std::min(jobs, candidates_.size()); ++n) workers.emplace_back(work);
    for (std::thread& w : workers) w.join();
    progress.clear();
    for (Candidate& c : candidates_)
      if (c.seconds.empty() && c.why.empty()) c.why = "interrupted";
  }

  // The finalists again, in turns, while nothing else runs: the clock follows the load.
  void repeat(const std::vector<Candidate*>& finalists) {
    Progress progress(true);
    for (int round = 0; round < flags_.rounds; ++round)
      for (Candidate* c : finalists) {
        if (interrupted()) return;
        progress.update("again: round " + std::to_string(round + 1) + " of " +
                        std::to_string(flags_.rounds));
        run_candidate(*c, flags_.repeats, false);
      }
    progress.clear();
  }

  // Those with a time, fastest first.
  std::vector<Candidate*> ranked() {
    std::vector<Candidate*> out;
    for (Candidate& c : candidates_)
      if (c.good()) out.push_back(&c);
    std::stable_sort(out.begin(), out.end(),
                     [](const Candidate* a, const Candidate* b) { return a->time() < b->time(); });
    return out;
  }

  json candidate_json(const Candidate& c) const {
    json j{{"node", c.node},
           {"knobs", c.plan.knobs},
           {"structure", c.structure},
           {"predicted_seconds", c.predicted},
           {"why", c.why}};
    if (c.ran.is_object()) {
      for (const char* key : {"predicted_with_resources", "registers", "spills", "shared_bytes",
                              "occupancy", "max_error", "passed"})
        if (c.ran.contains(key)) j[key] = c.ran[key];
    }
    if (c.good()) j.update({{"seconds", c.time()}, {"samples", c.seconds}});
    return j;
  }

  // The session with what was measured; then the winner's files.
  std::optional<Refusal> write(const Candidate* best) const {
    if (!flags_.session.empty()) {
      sched::Session s = session_of(loaded_, found_);
      for (const Candidate& c : candidates_) {
        const double once = c.ran.is_object() ? c.ran.value("seconds", 0.0) : 0;
        if (c.good() || (c.wrong && sched::is_kernel_time(once)))
          s.measured[c.node] = {c.good() ? c.time() : once, c.good(),
                                "nautilusc tune on " + gpu_.name};
      }
      if (auto bad = sched::save_session(s, flags_.session)) return bad;
    }
    if (flags_.output.empty() || !best) return std::nullopt;
    std::vector<std::string> a{"compile", in_.spec};
    if (!in_.kernel.empty()) a.insert(a.end(), {"--kernel", in_.kernel});
    a.insert(a.end(), {"--plan", best->file, "--json", "--machine", gpu_.machine, "--target",
                       gpu_.target, "-o", flags_.output});
    add_sizes(a);
    // To its end, also after a Ctrl-C: what was measured is not lost.
    const auto end = runtime::run_child(runtime::worker_program(), a, {},
                                        {kUnlimited, 0, nullptr, runtime::kWholeLog, false});
    if (!end) return end.error();
    if (end->status == kGood && end->signal == 0) return std::nullopt;
    const json j = answer_in(end->log);
    return Refusal{
        "write the fastest plan's files", flags_.output,
        j.is_object() && j.contains("error") ? j["error"].value("why", end->log) : end->log,
        "another directory with -o"};
  }

  int report(const Candidate* best) {
    std::vector<double> predicted, measured;
    for (Candidate* c : ranked()) {
      predicted.push_back(c->predicted);
      measured.push_back(c->time());
    }
    const double correlation = sched::rank_correlation(predicted, measured);
    // The search alone would have taken the first that becomes a right kernel.
    const auto first = std::find_if(candidates_.begin(), candidates_.end(),
                                    [](const Candidate& c) { return c.good(); });
    const std::optional<Refusal> unwritten = write(best);
    const int status = unwritten ? kEnvironment : interrupted() ? kBudget : best ? kGood : kNo;
    if (unwritten) std::cerr << unwritten->text() << "\n";
    if (in_.json) {
      json out{{"name", loaded_.program.name},
               {"sizes", loaded_.sizes},
               {"machine", gpu_.machine},
               {"target", gpu_.target},
               {"numerics", search_.numerics},
               {"device", gpu_.name},
               {"plans_costed", found_.result.plans_costed},
               {"candidates", json::array()},
               {"passed_over", passed_over_},
               {"rank_correlation", correlation},
               {"notes", loaded_.notes}};
      if (unwritten) out["not_written"] = unwritten->text();
      for (const Candidate& c : candidates_) out["candidates"].push_back(candidate_json(c));
      if (best) {
        out["best"] = candidate_json(*best);
        out["gain_over_prediction"] = first->time() / best->time();
        if (best->ran.contains("useful_flops"))
          out["best"]["flops_per_second"] = best->ran["useful_flops"].get<double>() / best->time();
      }
      print_json(out);
      return status;
    }
    std::cout << loaded_.program.name << " at";
    for (const auto& [name, value] : loaded_.sizes) std::cout << " " << name << "=" << value;
    std::cout << " on " << gpu_.name << "\n";
    for (const std::string& n : loaded_.notes) std::cout << "  (" << n << ")\n";
    for (const Candidate* c : ranked())
      std::cout << (c == best ? "* " : "  ") << human_time(c->time()) << " (predicted "
                << human_time(c->predicted) << ")  " << knobs_text(c->plan.knobs) << "  "
                << c->structure << "\n";
    for (const Candidate& c : candidates_)
      if (!c.good())
        std::cout << "  no time: " << knobs_text(c.plan.knobs) << ": " << c.why << "\n";
    if (!passed_over_.empty())
      std::cout << "  " << passed_over_.size()
                << " plans gave no kernel, the first: " << passed_over_[0] << "\n";
    if (best)
      std::cout << "fastest: " << human_time(best->time()) << ", " << first->time() / best->time()
                << " times as fast as the best predicted; rank correlation of predictions "
                << correlation << "\n";
    else
      std::cout << "no candidate ran and was right\n";
    return status;
  }
};

}  // namespace

int tune_plans(const Input& in, const Loaded& loaded, const Searched& found,
               const SearchFlags& search, const TuneFlags& flags, const HostGpu& gpu,
               const std::string& scratch) {
  return Tuning(in, loaded, found, search, flags, gpu, scratch).run();
}

}  // namespace nautilus::driver
