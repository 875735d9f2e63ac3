// SPDX-License-Identifier: Apache-2.0
// zklock as a contestant, through its public API.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <zklock/zklock.h>

#include "bench/contestant.h"

namespace zklock::bench {
namespace {

/// Sets the options that a measure needs; no other function does.
CohortOptions options_for(const Params& params) {
  CohortOptions options;
  if (params.has("max_local_handoffs")) {
    options.max_local_handoffs = static_cast<int>(params.number("max_local_handoffs"));
  }
  if (params.has("keep_idle_for")) {
    options.keep_idle_for =
        std::chrono::duration_cast<std::chrono::milliseconds>(params.seconds("keep_idle_for"));
  }
  return options;
}

class ZklockLock final : public Lock {
 public:
  ZklockLock(Client& client, const std::string& path, const CohortOptions& options)
      : mutex_(client, path, options) {}

  void lock() override { mutex_.lock(); }
  void unlock() override { mutex_.unlock(); }
  void nest(std::size_t pairs) override {
    for (std::size_t i = 0; i < pairs; ++i) {
      mutex_.lock();
      mutex_.unlock();
    }
  }

 private:
  ReentrantMutex mutex_;
};

class ZklockSession final : public Session {
 public:
  ZklockSession(const std::string& hosts, const Params& params)
      : client_(options(hosts, params)), mutex_options_(options_for(params)) {
    if (!client_.wait_until_connected(std::chrono::seconds(30))) {
      throw std::runtime_error("zklock does not connect");
    }
  }

  std::unique_ptr<Lock> make_lock(const std::string& path) override {
    return std::make_unique<ZklockLock>(client_, path, mutex_options_);
  }

  void queue(const std::string& path, std::function<void()> held) override {
    mutex(path).async_acquire({}, [held = std::move(held)](Hold hold, std::exception_ptr error) {
      if (error) return check(error);
      held();
      hold.release();
    });
  }

  void flush() override {
    if (!client_.flush(std::chrono::seconds(60))) throw std::runtime_error("no flush");
  }

 private:
  static ClientOptions options(const std::string& hosts, const Params& params) {
    ClientOptions options;
    options.hosts = hosts;
    options.session_timeout =
        std::chrono::duration_cast<std::chrono::milliseconds>(params.seconds("timeout"));
    return options;
  }

  // Some calls may wait when the session is closed. Any other error ends the process.
  static void check(const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const Error& e) {
      if (e.errc() == Errc::closed) return;
      std::fprintf(stderr, "zklock_bench: %s\n", e.what());
    }
    std::_Exit(1);
  }

  ReentrantMutex& mutex(const std::string& path) {
    auto& mutex = mutexes_[path];
    if (!mutex) mutex = std::make_unique<ReentrantMutex>(client_, path, mutex_options_);
    return *mutex;
  }

  Client client_;
  const CohortOptions mutex_options_;
  std::map<std::string, std::unique_ptr<ReentrantMutex>> mutexes_;
};

class Zklock final : public Contestant {
 public:
  explicit Zklock(std::string hosts) : hosts_(std::move(hosts)) {}

  std::string version() const override { return ZKLOCK_BENCH_VERSION; }
  std::string absence(const Params& /*params*/) const override { return {}; }
  std::unique_ptr<Session> connect(const Params& params) override {
    return std::make_unique<ZklockSession>(hosts_, params);
  }

 private:
  const std::string hosts_;
};

}  // namespace

std::unique_ptr<Contestant> make_zklock(std::string hosts) {
  return std::make_unique<Zklock>(std::move(hosts));
}

}  // namespace zklock::bench
