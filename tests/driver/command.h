// Runs nautilusc as a user would.
#pragma once

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace nautilus::test {

// Exit statuses.
inline constexpr int kGood = 0, kNo = 1, kBadInput = 2, kBudget = 3, kEnvironment = 4;

struct Ran {
  int status = -1;  // exit status; 128 + signal when killed
  std::string out, err;
  nlohmann::json json() const { return nlohmann::json::parse(out, nullptr, false); }
};
// Runs the program with these arguments and no standard input; `interrupt_after` > 0 sends SIGINT
// then.
Ran nautilusc(const std::vector<std::string>& args, double interrupt_after = 0);
std::string write_temp(const std::string& name,
                       const std::string& text);  // path of a file with this text
std::string slurp(const std::string& path);

// A variable of the environment for the length of a test.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Setting() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// A fresh path of a folder or file that does not exist yet.
std::string folder(const std::string& name);

}  // namespace nautilus::test
