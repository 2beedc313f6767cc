// Machine descriptions: data in corpus/machines/*.json, each number with its source.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "polyhedral/expected.h"
#include "polyhedral/expr.h"

namespace nautilus::sched {

struct Quantity {
  double value = 0;
  std::string unit;    // "FLOP/s", "B/s", "B", "s", "1"
  std::string source;  // "datasheet: ..." | "measured: ..., date"
};
struct MemoryLevel {
  std::string name;  // "hbm" "l2" "shared" "register" (GPU); "dram" "l3" "l2" "l1" (CPU)
  Quantity bandwidth, capacity;  // capacity: of the whole machine; per unit where per_unit
  bool per_unit = false;         // per SM / core
  Quantity shared_bandwidth{};  // of lines that several units read at about the same time; value 0:
                                // as bandwidth
  double best_bandwidth() const;  // the larger of the two
};
struct Machine {
  std::string id, name, kind;              // kind: "gpu" | "cpu"
  int units = 1;                           // SMs or cores
  Quantity clock;                          // Hz
  std::map<std::string, Quantity> matrix;  // by type "f16" "bf16" "tf32" "e4m3" "f32" "f64": FLOP/s
  Quantity fma;                            // FLOP/s f32 outside the matrix unit
  Quantity special;                        // exp2/rcp operations a second
  std::map<std::string, Quantity> rates;   // other scalar operations a second: "divide" (and square
                                           // roots), "convert", "compare" (min, max, select)
  std::map<std::string, Quantity> model;   // what the cost model takes from measurements besides:
                                           // the keys of model_keys(kind)
  std::vector<MemoryLevel> levels;         // outermost first
  Quantity registers_per_unit;             // bytes
  Quantity shared_per_unit;                // bytes a block may take (CPU: L2 per core, as scratch)
  Quantity launch_latency,
      barrier_latency;             // seconds: one more kernel in a stream; one barrier round trip
  Quantity memory_latency;         // seconds: from asking the outermost level to the data's arrival
  Quantity sustained{1, "1", ""};  // share of the matrix rate that lasts under the power limit
  int max_threads_per_unit = 2048;
  std::vector<int64_t> matrix_shape;  // multiples the matrix unit takes: {m, n, k}
  // Where those are of a warpgroup: what single warps take, and the share of the rate they reach.
  std::vector<int64_t> warp_shape;
  Quantity warp_share{1, "1", ""};
  const MemoryLevel* level(std::string_view name) const;
  double matrix_rate(
      Type t) const;  // FLOP/s for operands of type t; the FMA rate where no unit takes it
  double slots(const std::string& unit) const;  // issue slots of the lanes that one operation takes
  double figure(const std::string& key) const;  // of `model`; throws std::out_of_range
  double figure(const std::string& key, double otherwise) const;  // of one that may be left out
};
// Names, units and meanings of the figures in Machine::model.
struct ModelKey {
  const char *name, *unit, *meaning;
  bool needed = true;
};
const std::vector<ModelKey>& model_keys(const std::string& kind);
Expected<Machine> load_machine(const std::string& path);
Expected<Machine> machine_from_json(const nlohmann::json& j);
std::vector<std::string> list_machines();               // ids found in the corpus directory
Expected<Machine> find_machine(const std::string& id);  // by id in the corpus ("h200", "cpu")
// Measures this host (bandwidths by level, FMA rate, exp rate) in well under 2 s and returns its
// description.
Machine probe_cpu();
nlohmann::json machine_to_json(const Machine& m);  // round trip with machine_from_json
std::string corpus_dir();  // $NAUTILUS_CORPUS, else beside the executable, else the source tree

}  // namespace nautilus::sched
