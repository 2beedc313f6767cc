#include "compiler/runtime/reference/evaluate.h"

#include <algorithm>
#include <limits>
#include <set>

#include "compiler/backend/cpu/jit.h"
#include "compiler/backend/cpu/prelude.h"
#include "compiler/backend/cpu/threads.h"
#include "compiler/runtime/extents.h"
#include "compiler/runtime/random.h"

namespace nautilus::runtime {
namespace {

constexpr double kCheap = 3e8;   // statement instances that "all rows" may cost unasked
constexpr double kLimit = 1e12;  // beyond this no reference is attempted
constexpr int64_t kWholeElements =
    500'000'000;  // doubles of temporaries when a program is evaluated whole

using Entry = void (*)(double* const* t, const long* row, double* out);

// What one output needs: the restricted program and how its rows are numbered.
struct Job {
  std::string output;
  poly::Program program;                // restricted to one (parametric) row, or the whole program
  std::vector<std::string> row_params;  // empty: evaluated whole
  isl::set rows;
  std::vector<int64_t> row_extents;
  int64_t row_length = 1, n_rows = 1;
  std::vector<int64_t> chosen;
};

// Instances of all statements, each domain taken as its box, at one value of the row parameters.
double box_cost(const poly::Program& p, const poly::Sizes& row) {
  double total = 0;
  for (const poly::Statement& s : p.statements) {
    const isl::set domain = poly::substitute_params(s.domain, row);
    if (domain.is_empty()) continue;
    double points = 1;
    for (unsigned d = 0; d < poly::n_dim(domain); ++d) {
      const auto lo = poly::dim_min(domain, d), hi = poly::dim_max(domain, d);
      points *=
          lo && hi ? static_cast<double>(*hi - *lo + 1) : std::numeric_limits<double>::infinity();
    }
    total += points;
  }
  return total;
}

std::vector<int64_t> coordinates(const Job& job, int64_t row) {
  std::vector<int64_t> out(job.row_extents.size());
  for (size_t d = out.size(); d-- > 0;) {
    out[d] = row % job.row_extents[d];
    row /= job.row_extents[d];
  }
  return out;
}

// `count` distinct rows in ascending order, the first and last among them.
std::vector<int64_t> choose_rows(int64_t n, int64_t count, uint64_t seed, const std::string& name) {
  std::vector<int64_t> out;
  if (count >= n) {
    for (int64_t r = 0; r < n; ++r) out.push_back(r);
    return out;
  }
  std::set<int64_t> chosen{n - 1};
  if (count > 1) chosen.insert(0);
  Random random(seed, "rows of " + name);
  while (static_cast<int64_t>(chosen.size()) < count)
    chosen.insert(static_cast<int64_t>(random.below(static_cast<uint64_t>(n))));
  return {chosen.begin(), chosen.end()};
}

// Sets up the rows of one output and the program restricted to one of them.
Job make_job(const poly::Program& p, const poly::Tensor& t) {
  const auto extents = extents_of(p, t.name);
  Job job{t.name, p, {}, p.param_context, {}, 1, 1, {}};
  const size_t n = extents.size() >= 2 ? extents.size() - 1 : extents.size();
  std::string params, where, index;
  for (size_t d = 0; d < n; ++d) {
    const std::string name = "nautilus_row" + std::to_string(d);
    job.row_params.push_back(name);
    job.row_extents.push_back(extents[d]);
    params += (d ? ", " : "") + name;
    where += (d ? " and 0 <= " : "0 <= ") + name + " < " + std::to_string(extents[d]);
    index += (d ? ", " : "") + name;
  }
  job.n_rows = element_count(job.row_extents);
  if (n < extents.size()) {
    job.row_length = extents.back();
    index += ", x";
  }
  const std::string prefix = "[" + params + "] -> { ";
  isl::ctx ctx = p.context->get();
  if (n == 0) return job;
  job.rows = isl::set(ctx, prefix + ": " + where + " }");
  const isl::set wanted = isl::set(ctx, prefix + t.name + "[" + index + "] }")
                              .intersect_params(job.rows)
                              .intersect(p.elements(t));
  job.program = poly::restrict_to_demanded(p, wanted.to_union_set());
  return job;
}

void use_whole(Job& job, const poly::Program& p) {
  job.program = p;
  job.row_params.clear();
  job.rows = isl::set(p.context->get(), "{ : }");
}

// Decides rows and whether each row is evaluated by itself or the whole program once.
std::optional<Refusal> plan(Job& job, const poly::Program& p, int64_t sample, uint64_t seed) {
  if (job.n_rows == 0 || job.row_length == 0) return std::nullopt;
  const double whole = box_cost(p, {});
  double one = whole;
  if (!job.row_params.empty()) {
    one = 0;
    for (const int64_t at : {job.n_rows - 1, job.n_rows / 2}) {
      const auto row = coordinates(job, at);
      poly::Sizes fixed;
      for (size_t d = 0; d < row.size(); ++d) fixed[job.row_params[d]] = row[d];
      one = std::max(one, box_cost(job.program, fixed));
    }
  }
  int64_t temporaries = 0;
  for (const poly::Tensor& t : p.tensors)
    if (t.kind == poly::TensorKind::Temp)
      temporaries = std::min(INT64_MAX / 4, temporaries + element_count(extents_of(p, t.name)));
  int64_t count = sample > 0 ? std::min(sample, job.n_rows) : job.n_rows;
  if (sample < 0 && std::min(one * static_cast<double>(job.n_rows), whole) > kCheap)
    count = std::min(job.n_rows,
                     std::clamp<int64_t>(static_cast<int64_t>(kCheap / std::max(one, 1.0)), 8, 64));
  job.chosen = choose_rows(job.n_rows, count, seed, job.output);
  const double by_rows = one * static_cast<double>(count);
  const bool fits = temporaries <= kWholeElements;
  if (!job.row_params.empty() && fits && whole < by_rows) use_whole(job, p);
  const double cost = job.row_params.empty() ? whole : by_rows;
  if (cost > kLimit || (job.row_params.empty() && !fits))
    return Refusal{"evaluate the reference of " + job.output, p.name,
                   std::to_string(static_cast<int64_t>(std::min(cost, 9e18))) +
                       " statement instances are too many",
                   "smaller sizes or fewer sampled rows"};
  return std::nullopt;
}

struct Running {
  const Job* job;
  Entry entry;
  std::vector<double*> fixed;    // inputs and whole tensors; nullptr: from scratch
  std::vector<int64_t> offsets;  // of the others, in elements
  double* out;
};

void run_row(void* context, long i, char* scratch) {
  const Running& r = *static_cast<const Running*>(context);
  std::vector<double*> t = r.fixed;
  for (size_t k = 0; k < t.size(); ++k)
    if (!t[k]) t[k] = reinterpret_cast<double*>(scratch) + r.offsets[k];
  const int64_t row = r.job->chosen[static_cast<size_t>(i)];
  const auto at = coordinates(*r.job, row);
  const std::vector<long> where(at.begin(), at.end());
  r.entry(t.data(), where.data(), r.out + row * r.job->row_length);
}

// Runs the compiled code of one output over its chosen rows.
std::optional<Refusal> execute(const Job& job, const ReferenceText& text, Entry entry,
                               const poly::Buffers& inputs, std::vector<double>& out) {
  Running running{&job, entry, {}, {}, out.data()};
  std::map<std::string, std::vector<double>> whole;
  int64_t scratch = 0;
  for (size_t k = 0; k < job.program.tensors.size(); ++k) {
    const poly::Tensor& t = job.program.tensors[k];
    double* fixed = nullptr;
    running.offsets.push_back(scratch);
    if (t.kind == poly::TensorKind::Input) {
      fixed = const_cast<double*>(inputs.at(t.name).data());
    } else if (job.row_params.empty()) {
      if (t.name == job.output) {
        fixed = out.data();
      } else {
        auto& v = whole[t.name];
        v.assign(static_cast<size_t>(std::max<int64_t>(text.box[k], 1)), 0.0);
        fixed = v.data();
      }
    } else {
      scratch += (text.box[k] + 8) / 8 * 8;
    }
    running.fixed.push_back(fixed);
  }
  if (job.row_params.empty()) {
    entry(running.fixed.data(), nullptr, nullptr);
    return std::nullopt;
  }
  cpu::parallel_for(static_cast<long>(job.chosen.size()), 0, scratch * 8, run_row, &running);
  if (cpu::take_parallel_error())
    return Refusal{"evaluate the reference of " + job.output, "",
                   "not enough memory for the temporaries of a row", ""};
  return std::nullopt;
}

std::optional<Refusal> check_inputs(const poly::Program& p, const poly::Buffers& inputs) {
  for (const poly::Tensor& t : p.tensors) {
    if (t.kind != poly::TensorKind::Input) continue;
    const auto it = inputs.find(t.name);
    const int64_t want = element_count(extents_of(p, t.name));
    if (it == inputs.end() || static_cast<int64_t>(it->second.size()) != want)
      return Refusal{"evaluate the reference", t.name,
                     it == inputs.end() ? "there is no such input"
                                        : "the input has " + std::to_string(it->second.size()) +
                                              " elements, not " + std::to_string(want),
                     ""};
  }
  return std::nullopt;
}

std::string preamble() {
  return cpu::prelude_scalar() +
         "#undef min\n#undef max\n#define min(a, b) minl(a, b)\n#define max(a, b) maxl(a, b)\n";
}

Expected<Evaluation> evaluate_checked(const poly::Program& p, const poly::Buffers& inputs,
                                      int64_t sample, uint64_t seed, bool baseline) {
  std::vector<Job> jobs;
  std::vector<ReferenceText> texts;
  std::string exact_text = preamble(), own_text = exact_text;
  for (const poly::Tensor& t : p.tensors) {
    if (t.kind != poly::TensorKind::Output) continue;
    jobs.push_back(make_job(p, t));
    Job& job = jobs.back();
    if (auto bad = plan(job, p, sample, seed)) return *bad;
    texts.emplace_back();
    if (job.chosen.empty()) continue;
    const std::string entry = "rows_" + std::to_string(jobs.size());
    auto text = reference_text(job.program, job.output, job.row_params, job.rows,
                               Arithmetic::Double, entry);
    if (!text) return text.error();
    exact_text += text->text;
    texts.back() = *text;
    if (!baseline) continue;
    auto own = reference_text(job.program, job.output, job.row_params, job.rows,
                              Arithmetic::OwnTypes, entry);
    if (!own) return own.error();
    own_text += own->text;
  }
  Evaluation result;
  auto run = [&](const std::string& source, bool contract,
                 poly::Buffers& outputs) -> std::optional<Refusal> {
    auto library = cpu::load(source, {.contract = contract});
    if (!library) return library.error();
    for (size_t j = 0; j < jobs.size(); ++j) {
      const Job& job = jobs[j];
      auto& out = outputs[job.output];
      out.assign(static_cast<size_t>(job.n_rows * job.row_length),
                 std::numeric_limits<double>::quiet_NaN());
      if (job.chosen.empty()) continue;
      const auto entry =
          reinterpret_cast<Entry>((*library)->symbol("rows_" + std::to_string(j + 1)));
      if (auto bad = execute(job, texts[j], entry, inputs, out)) return bad;
    }
    return std::nullopt;
  };
  if (auto bad = run(exact_text, true, result.exact.outputs)) return *bad;
  if (baseline)
    if (auto bad = run(own_text, false, result.baseline)) return *bad;
  for (const Job& job : jobs) {
    auto& known = result.exact.known[job.output];
    known.assign(static_cast<size_t>(job.n_rows * job.row_length), 0);
    for (const int64_t r : job.chosen)
      std::fill_n(known.begin() + r * job.row_length, job.row_length, 1);
    // A program evaluated whole gave more than was asked for.
    for (poly::Buffers* outputs : {&result.exact.outputs, &result.baseline})
      if (const auto it = outputs->find(job.output); it != outputs->end())
        for (size_t k = 0; k < known.size(); ++k)
          if (!known[k]) it->second[k] = std::numeric_limits<double>::quiet_NaN();
  }
  return result;
}

}  // namespace

Expected<Evaluation> evaluate_rows(const poly::Program& p, const poly::Buffers& inputs,
                                   int64_t sample, uint64_t seed, bool baseline) {
  if (auto bad = check_inputs(p, inputs)) return *bad;
  try {
    return evaluate_checked(poly::restrict_to_demanded(p), inputs, sample, seed, baseline);
  } catch (const isl::exception& e) {
    return Refusal{"evaluate the reference", p.name, e.what(), ""};
  } catch (const std::bad_alloc&) {
    return Refusal{"evaluate the reference", p.name, "out of memory",
                   "smaller sizes or fewer sampled rows"};
  }
}

Expected<Reference> reference(const poly::Program& p, const poly::Sizes& sizes,
                              const poly::Buffers& inputs, int64_t sample, uint64_t seed) {
  auto bound = instantiate_for_run(p, sizes);
  if (!bound) return bound.error();
  auto result = evaluate_rows(*bound, inputs, sample, seed, false);
  if (!result) return result.error();
  return std::move(result->exact);
}

}  // namespace nautilus::runtime
