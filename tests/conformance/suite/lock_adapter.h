// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conformance/suite/suite_lock.h"

namespace zklock::testing {

// The events that a listener receives: all of a ReentrantMutex, or only the first and the last.
enum class DeliveredEvents { all, begin_and_end };

// One way to use a lock class, as a table of facts. lock_adapters.h describes the members.
struct LockAdapter {
  const char* name;
  bool nests;
  bool shares;
  bool named;
  bool keeps_node;
  bool seeds_count;  // the first contender writes the count, then holds
  bool calls;
  bool fails_by_policy;
  bool waits_without_servers;
  bool frees_all_by_loss;
  bool leads;
  bool interrupts;
  bool has_delay;
  int delays;
  bool on_ensembles;
  bool has_lock;
  bool has_position;
  bool thread_owns;
  DeliveredEvents delivered;
  std::vector<std::string> paths;  // of the lock on kPath
  // Makes the lock for the clients of one process, which has one client for each ensemble.
  std::function<std::unique_ptr<SuiteLock>(const std::vector<Client*>&, const std::string& path,
                                           const CohortOptions&)>
      make;
};

// All classes under the suite.
const std::vector<LockAdapter>& all_lock_adapters();

}  // namespace zklock::testing
