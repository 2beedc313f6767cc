// How nautilusc and nautilus-explorer end.
#pragma once

namespace nautilus::driver {

// Exit statuses, the same for every verb and for the explorer (README.md tells them to users).
enum Exit : int {
  kGood = 0,
  kNo = 1,           // the answer is no: illegal, wrong result
  kBadInput = 2,     // the request or a file is wrong; a place that takes no file, known beforehand
  kBudget = 3,       // a budget or resource ran out
  kEnvironment = 4,  // something is missing here, and is named
};

}  // namespace nautilus::driver
