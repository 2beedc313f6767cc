// Figures of a benchmark: printed as they come, written as JSON and CSV, and whether a limit was
// missed.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace nautilus {

inline double at_quantile(std::vector<double> v, double q) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  return v[std::min(v.size() - 1, static_cast<size_t>(q * static_cast<double>(v.size())))];
}

inline std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

class Figures {
 public:
  // `limit` 0: told, not required.
  void add(const std::string& what, double value, const std::string& unit, double limit,
           const std::string& more = {}) {
    const bool good = limit <= 0 || value <= limit;
    missed_ += !good;
    std::printf("%-58s %9.1f %-3s", what.c_str(), value, unit.c_str());
    if (limit > 0) std::printf(" limit %g %s", limit, good ? "ok" : "MISSED");
    std::printf("%s%s\n", more.empty() ? "" : "   ", more.c_str());
    std::fflush(stdout);
    rows_.push_back({what, unit, more, value, limit, good});
  }
  // DIRECTORY/NAME.{csv,json}; 1 if a limit was missed, 2 if nothing could be written.
  int finish(const std::string& directory, const std::string& name) const {
    if (!directory.empty() && !write(directory + '/' + name)) return 2;
    return missed_ > 0 ? 1 : 0;
  }

 private:
  struct Row {
    std::string what, unit, more;
    double value, limit;
    bool good;
  };
  bool write(const std::string& stem) const {
    nlohmann::json j{{"machine", processor()},
                     {"processors", sysconf(_SC_NPROCESSORS_ONLN)},
                     {"figures", nlohmann::json::array()}};
    std::ofstream csv(stem + ".csv"), json(stem + ".json");
    csv << "what,value,unit,limit,met,remarks\n";
    for (const Row& r : rows_) {
      char value[32];
      std::snprintf(value, sizeof value, "%.2f", r.value);
      csv << '"' << r.what << "\"," << value << ',' << r.unit << ',';
      if (r.limit > 0)
        csv << r.limit << ',' << (r.good ? "yes" : "no");
      else
        csv << ',';
      csv << ",\"" << r.more << "\"\n";
      nlohmann::json row{{"what", r.what}, {"value", std::stod(value)}, {"unit", r.unit}};
      if (r.limit > 0) row["limit"] = r.limit, row["met"] = r.good;
      if (!r.more.empty()) row["remarks"] = r.more;
      j["figures"].push_back(row);
    }
    json << j.dump(2) << '\n';
    csv.flush(), json.flush();
    if (csv && json) return true;
    std::fprintf(stderr, "cannot write %s.csv, %s.json\n", stem.c_str(), stem.c_str());
    return false;
  }
  std::vector<Row> rows_;
  int missed_ = 0;
};

// [COUNT] [--out DIRECTORY]
struct BenchArguments {
  int count = 100'000;
  std::string out;
  BenchArguments(int argc, char** argv) {
    for (int k = 1; k < argc; ++k)
      if (std::string(argv[k]) == "--out" && k + 1 < argc)
        out = argv[++k];
      else
        count = std::max(100, std::atoi(argv[k]));
  }
};

}  // namespace nautilus
