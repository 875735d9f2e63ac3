// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "zklock/cli/core/lock_facts.h"
#include "zklock/cli/core/snapshot.h"
#include "zklock/participant.h"
#include "zklock/survey.h"

namespace zklock::cli::testing {

using namespace std::chrono_literals;

/// The time at which the tests look.
inline const WallTime kNow{std::chrono::hours(500'000)};

/// A contender of zklock that enqueued `queued` ago.
inline Participant contender(std::string node, std::chrono::seconds queued) {
  Participant each;
  each.node = std::move(node);
  each.host = "db7";
  each.pid = 812;
  each.application = "billing";
  each.session_id = 0x1000'00ab;
  each.since = kNow - queued;
  return each;
}

inline Participant holder(std::string node, std::chrono::seconds queued) {
  Participant each = contender(std::move(node), queued);
  each.holds = true;
  return each;
}

/// A contender of another library: without the data of zklock.
inline Participant foreign(std::string node) {
  Participant each;
  each.node = std::move(node);
  each.session_id = 0x1000'00ab;
  each.since = kNow - std::chrono::seconds(60);
  return each;
}

/// A contender whose znode the client may not read.
inline Participant unreadable(std::string node) {
  Participant each;
  each.node = std::move(node);
  return each;
}

inline void add_holder(SurveyedLock& lock, Participant each) {
  lock.state.holders.push_back(std::move(each));
  ++lock.state.holding;
}

inline void add_waiting(SurveyedLock& lock, Participant each) {
  lock.waiters.push_back(std::move(each));
  ++lock.state.waiting;
}

inline SurveyedLock lock_at(std::string path) {
  SurveyedLock lock;
  lock.path = std::move(path);
  return lock;
}

/// A mutex with a holder and one waiting contender.
inline SurveyedLock busy_lock(std::string path) {
  SurveyedLock lock = lock_at(std::move(path));
  add_holder(lock, holder("lock-0000000001", std::chrono::seconds(60)));
  add_waiting(lock, contender("lock-0000000002", std::chrono::seconds(10)));
  lock.next_sequence = 3;
  return lock;
}

/// Returns busy locks: /first to /last.
inline std::vector<SurveyedLock> busy_locks(int first, int last) {
  std::vector<SurveyedLock> locks;
  for (int i = first; i <= last; ++i) locks.push_back(busy_lock("/" + std::to_string(i)));
  return locks;
}

inline Participant with_token(Participant each, std::int64_t zxid) {
  each.token.zxid = zxid;
  return each;
}

/// Returns a snapshot of these locks, taken at kNow.
inline Snapshot snapshot_of(std::vector<SurveyedLock> locks) {
  Snapshot snapshot;
  snapshot.root = "/";
  snapshot.as_of = kNow;
  snapshot.locks = std::move(locks);
  return snapshot;
}

}  // namespace zklock::cli::testing
