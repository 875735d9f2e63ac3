// SPDX-License-Identifier: Apache-2.0
// Many waiters of one lock, without a thread for each. Measures how fast they are granted in turn,
// and their cost while they wait.
#include <chrono>
#include <fstream>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <malloc.h>

#include "bench/measure.h"
#include "bench/raw_session.h"

namespace zklock::bench {
namespace {

constexpr std::chrono::seconds kPatience{120};

/// A holder on its own session, and waiters on other sessions.
class Queue {
 public:
  Queue(const Params& params, Contestant& contestant, const std::string& hosts,
        std::size_t sessions)
      : path_(params.text("path")),
        settle_(params.seconds("settle")),
        probe_(hosts),
        holders_(contestant.connect(params)),
        holder_(holders_->make_lock(path_)) {
    for (std::size_t i = 0; i < sessions; ++i) sessions_.push_back(contestant.connect(params));
    holder_->lock();
  }

  void fill(std::size_t waiters) {
    waiting_ = waiters;
    exclusive_ = std::make_unique<Exclusive>();
    for (std::size_t i = 0; i < waiters; ++i) {
      sessions_[i % sessions_.size()]->queue(path_, [this] { granted(); });
    }
    const auto withdraw = Clock::now() + kPatience;
    while (probe_.count_children(path_) != static_cast<int>(waiters) + 1) {
      if (Clock::now() > withdraw) throw std::runtime_error("the waiters do not queue");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    std::this_thread::sleep_for(settle_);
  }

  /// Releases the lock. Returns the time from the release to the last grant.
  Clock::duration drain() {
    const auto begin = Clock::now();
    holder_->unlock();
    if (!drained_.try_acquire_for(kPatience)) {
      throw std::runtime_error("the queue stands still");
    }
    for (const auto& session : sessions_) session->flush();
    return exclusive_->last() - begin;
  }

  void hold_again() { holder_->lock(); }

  const Exclusive& exclusive() const { return *exclusive_; }

 private:
  void granted() {
    const bool last = exclusive_->enter() + 1 == waiting_;
    exclusive_->leave();
    if (last) drained_.release();
  }

  const std::string path_;
  const Clock::duration settle_;
  RawSession probe_;
  std::size_t waiting_ = 0;
  std::binary_semaphore drained_{0};
  std::unique_ptr<Exclusive> exclusive_;
  const std::unique_ptr<Session> holders_;
  std::vector<std::unique_ptr<Session>> sessions_;
  const std::unique_ptr<Lock> holder_;
};

class Drain final : public Measure {
 public:
  Drain(const Params& params, Contestant& contestant, const std::string& hosts)
      : waiters_(params.number("waiters")),
        queue_(params, contestant, hosts, params.number("sessions")) {
    queue_.fill(waiters_);
  }

  Result run() override {
    const auto took = queue_.drain();
    const Exclusive& exclusive = queue_.exclusive();
    return {.ops = waiters_,
            .seconds = in_seconds(took),
            .samples = exclusive.intervals(),
            .cycles = waiters_,
            .overlaps = exclusive.overlaps(),
            .more = {}};
  }

 private:
  const std::size_t waiters_;
  Queue queue_;
};

/// Returns a value from /proc/self/status.
double status_of_process(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(key + ":", 0) == 0) return std::stod(line.substr(key.size() + 1));
  }
  throw std::runtime_error("/proc/self/status has no " + key);
}

/// The memory and threads that waiters cost. The constructor drains a short queue first, so that
/// the library's own threads have started.
class Waiters final : public Measure {
 public:
  Waiters(const Params& params, Contestant& contestant, const std::string& hosts)
      : waiters_(params.number("waiters")), queue_(params, contestant, hosts, 1) {
    constexpr std::size_t kFew = 200;
    queue_.fill(kFew);
    queue_.drain();
    queue_.hold_again();
  }

  Result run() override {
    malloc_trim(0);  // otherwise waiters could use free memory of the heap, and seem to cost less
    const double memory = status_of_process("VmRSS");
    const double threads = status_of_process("Threads");
    const auto begin = Clock::now();
    queue_.fill(waiters_);
    Result result;
    result.ops = result.cycles = waiters_;
    result.seconds = in_seconds(Clock::now() - begin);
    const double grown = status_of_process("VmRSS") - memory;
    result.more["kilobytes"] = grown / static_cast<double>(waiters_);
    result.more["threads"] = status_of_process("Threads") - threads;
    return result;
  }

 private:
  const std::size_t waiters_;
  Queue queue_;
};

}  // namespace

std::unique_ptr<Measure> make_drain(const Params& params, Contestant& contestant,
                                    const std::string& hosts) {
  const std::string& kind = params.text("kind");
  if (kind == "drain") return std::make_unique<Drain>(params, contestant, hosts);
  if (kind == "waiters") return std::make_unique<Waiters>(params, contestant, hosts);
  return nullptr;
}

}  // namespace zklock::bench
