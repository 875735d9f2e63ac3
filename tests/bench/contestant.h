// SPDX-License-Identifier: Apache-2.0
// The interface of a contestant that the measures use.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "bench/params.h"

namespace zklock::bench {

/// A lock on one path, for one thread at a time.
class Lock {
 public:
  Lock() = default;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  virtual ~Lock() = default;

  virtual void lock() = 0;
  virtual void unlock() = 0;
  /// Locks and unlocks the held lock `pairs` more times.
  virtual void nest(std::size_t pairs) = 0;
};

/// A session with the server, for any number of threads.
class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  virtual ~Session() = default;

  virtual std::unique_ptr<Lock> make_lock(const std::string& path) = 0;
  /// Enqueues without blocking. `held` runs under the lock, which is released when it returns.
  virtual void queue(const std::string& path, std::function<void()> held) = 0;
  /// Blocks until the server has confirmed every release.
  virtual void flush() = 0;
};

class Contestant {
 public:
  Contestant() = default;
  Contestant(const Contestant&) = delete;
  Contestant& operator=(const Contestant&) = delete;
  virtual ~Contestant() = default;

  virtual std::string version() const = 0;
  /// Returns why the contestant does not take part in a measure; empty if it does.
  virtual std::string absence(const Params& params) const = 0;
  /// Returns a new, connected session.
  virtual std::unique_ptr<Session> connect(const Params& params) = 0;
};

std::unique_ptr<Contestant> make_zklock(std::string hosts);
std::unique_ptr<Contestant> make_floor(std::string hosts);

}  // namespace zklock::bench
