// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conformance/suite/suite_lock.h"

namespace zklock::testing {

// What a listener is told: everything that that of a ReentrantMutex is, or less.
enum class Hears { all, begin_and_end };

// One way to use a lock class, as a table of facts; faces.h says what they mean.
struct Face {
  const char* name;
  bool nests;
  bool shares;
  bool named;
  bool keeps_node;
  bool seeds_count;  // whoever comes first says how many permits there are, and then holds
  bool calls;
  bool fails_by_policy;
  bool waits_without_servers;
  bool frees_all_by_loss;
  bool leads;
  bool interrupts;
  bool refuses_delay;
  int delays;
  bool on_ensembles;
  bool has_lock;
  bool thread_owns;
  Hears hears;
  std::vector<std::string> paths;  // of the lock on kPath
  // For the clients that a process has, one for each ensemble.
  std::function<std::unique_ptr<SuiteLock>(const std::vector<Client*>&, const std::string& path,
                                           const MutexOptions&)>
      make;
};

// The classes under the suite.
const std::vector<Face>& all_faces();

}  // namespace zklock::testing
