// SPDX-License-Identifier: Apache-2.0
// Many sessions that send no requests of the user: they wait for one lock, hold locks, or are only
// connected. The driver measures their cost; run() only sleeps.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/measure.h"
#include "bench/process_status.h"
#include "bench/queue.h"

namespace zklock::bench {
namespace {

class AtRest : public Measure {
 public:
  Result run() override {
    std::this_thread::sleep_for(params_.seconds("seconds"));
    check();
    Result result;
    result.ops = result.cycles = sessions_;
    result.seconds = in_seconds(params_.seconds("seconds"));
    const auto each = static_cast<double>(sessions_ * std::max<std::size_t>(locks_each_, 1));
    result.more["kilobytes"] = memory_.kilobytes() / each;
    result.more["threads"] = (status_of_process("Threads") - threads_) / each;
    return result;
  }

 protected:
  explicit AtRest(const Params& params)
      : params_(params),
        sessions_(params.number("sessions")),
        locks_each_(params.number("locks")) {}

  std::size_t size() const { return sessions_; }
  std::size_t locks_each() const { return locks_each_; }
  const Params& params() const { return params_; }

 private:
  /// Throws if the sessions do not rest as they should.
  virtual void check() {}

  const Params params_;
  const std::size_t sessions_;
  const std::size_t locks_each_;
  const MemoryGrowth memory_;
  const double threads_ = status_of_process("Threads");
};

/// One waiter on each session, and a holder on one more.
class Waiting final : public AtRest {
 public:
  Waiting(const Params& params, Contestant& contestant, const std::string& hosts)
      : AtRest(params), queue_(params, contestant, hosts, size()) {
    queue_.fill(size());
  }
  ~Waiting() override { queue_.drain(); }

 private:
  void check() override {
    if (queue_.exclusive().grants() > 0) throw std::runtime_error("a waiter was granted");
  }

  Queue queue_;
};

/// Sessions that hold the same number of locks each.
class Connected final : public AtRest {
 public:
  Connected(const Params& params, Contestant& contestant) : AtRest(params) {
    for (std::size_t i = 0; i < size(); ++i) {
      std::this_thread::sleep_for(params.seconds("apart"));
      sessions_.push_back(contestant.connect(params));
      for (std::size_t j = 0; j < locks_each(); ++j) {
        const std::string path = params.text("path") + "/" + std::to_string(locks_.size());
        locks_.push_back(sessions_.back()->make_lock(path));
        locks_.back()->lock();
      }
    }
    std::this_thread::sleep_for(params.seconds("settle"));
  }
  ~Connected() override {
    for (const auto& lock : locks_) lock->unlock();
  }

 private:
  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<std::unique_ptr<Lock>> locks_;
};

}  // namespace

std::unique_ptr<Measure> make_at_rest(const Params& params, Contestant& contestant,
                                      const std::string& hosts) {
  const std::string& kind = params.text("kind");
  if (kind == "waiting") return std::make_unique<Waiting>(params, contestant, hosts);
  if (kind == "holding" || kind == "idle") {
    return std::make_unique<Connected>(params, contestant);
  }
  return nullptr;
}

}  // namespace zklock::bench
