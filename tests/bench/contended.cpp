// SPDX-License-Identifier: Apache-2.0
// Threads that lock and unlock in a loop, with one lock for all or one for each. And one thread
// that waits for another.
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/measure.h"

namespace zklock::bench {
namespace {

class Crowd : public Measure {
 protected:
  /// Makes the locks of `contenders` threads. With shared=1 they use one session.
  Crowd(const Params& params, Contestant& contestant) : params_(params) {
    const std::size_t count = params.number("contenders");
    const bool shared = params.number("shared") != 0;
    const bool apart = params.number("apart") != 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (i == 0 || !shared) sessions_.push_back(contestant.connect(params));
      const std::string path = params.text("path") + (apart ? "/" + std::to_string(i) : "");
      locks_.push_back(sessions_.back()->make_lock(path));
      locks_.back()->lock();
      locks_.back()->unlock();
      sessions_.back()->flush();
    }
  }

  /// Runs `loop` on a thread for each lock. Waits for the threads and for all releases.
  template <class Loop>
  void run_all(Loop&& loop) {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < locks_.size(); ++i) {
      threads.emplace_back([this, i, &loop] { loop(i, *locks_[i]); });
    }
    threads.clear();
    for (const auto& session : sessions_) session->flush();
  }

  std::size_t size() const { return locks_.size(); }
  const Params& params() const { return params_; }

 private:
  const Params params_;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<std::unique_ptr<Lock>> locks_;
};

/// Holds for a moment during the warm-up, so that an overlap would be detected.
void linger(const Window& window) {
  if (Clock::now() < window.begin) std::this_thread::sleep_for(std::chrono::microseconds(100));
}

/// One lock for all threads. A sample is the time from one grant to the next.
class HandOff final : public Crowd {
 public:
  HandOff(const Params& params, Contestant& contestant) : Crowd(params, contestant) {}

  Result run() override {
    const Window window(params());
    Exclusive exclusive;
    run_all([&](std::size_t, Lock& lock) {
      while (!window.over(Clock::now())) {
        lock.lock();
        exclusive.enter(&window);
        linger(window);
        exclusive.leave();
        lock.unlock();
      }
    });
    return {.ops = exclusive.intervals().count(),
            .seconds = exclusive.seconds(),
            .samples = exclusive.intervals(),
            .cycles = exclusive.grants(),
            .overlaps = exclusive.overlaps(),
            .more = {}};
  }
};

/// A lock for each thread. A sample is the time of one cycle.
class Independent final : public Crowd {
 public:
  Independent(const Params& params, Contestant& contestant) : Crowd(params, contestant) {}

  Result run() override {
    const Window window(params());
    std::vector<Samples> samples(size());
    std::vector<std::size_t> cycles(size(), 0);
    run_all([&](std::size_t i, Lock& lock) {
      for (auto now = Clock::now(); !window.over(now);) {
        const auto begin = now;
        lock.lock();
        lock.unlock();
        now = Clock::now();
        ++cycles[i];
        if (window.has(begin)) samples[i].add(now - begin);
      }
    });
    Result result;
    for (const Samples& each : samples) result.samples.add_all(each);
    for (const std::size_t each : cycles) result.cycles += each;
    result.ops = result.samples.count();
    result.seconds = in_seconds(window.end - window.begin);
    return result;
  }
};

/// One thread waits; the other releases some milliseconds later. A sample is the time from the call
/// of unlock() to the return of lock().
class Single final : public Measure {
 public:
  Single(const Params& params, Contestant& contestant)
      : params_(params),
        hold_(params.seconds("hold")),
        holders_(contestant.connect(params)),
        waiters_(contestant.connect(params)),
        holder_(holders_->make_lock(params.text("path"))),
        waiter_(waiters_->make_lock(params.text("path"))) {
    one_hand_off();
  }

  Result run() override {
    Result result;
    const Window window(params_);
    for (auto now = Clock::now(); !window.over(now); now = Clock::now()) {
      const auto took = one_hand_off();
      result.cycles += 2;
      if (took <= Clock::duration::zero()) ++result.overlaps;
      if (!window.has(now)) continue;
      result.samples.add(took);
      result.seconds = in_seconds(Clock::now() - window.begin);
    }
    result.ops = result.samples.count();
    return result;
  }

 private:
  Clock::duration one_hand_off() {
    holder_->lock();
    Clock::time_point granted;
    std::jthread waiting([&] {
      waiter_->lock();
      granted = Clock::now();
      waiter_->unlock();
    });
    std::this_thread::sleep_for(hold_);
    const auto released = Clock::now();
    holder_->unlock();
    waiting.join();
    holders_->flush();
    waiters_->flush();
    return granted - released;
  }

  const Params params_;
  const Clock::duration hold_;
  const std::unique_ptr<Session> holders_;
  const std::unique_ptr<Session> waiters_;
  const std::unique_ptr<Lock> holder_;
  const std::unique_ptr<Lock> waiter_;
};

}  // namespace

std::unique_ptr<Measure> make_contended(const Params& params, Contestant& contestant) {
  const std::string& kind = params.text("kind");
  if (kind == "handoff") return std::make_unique<HandOff>(params, contestant);
  if (kind == "independent") return std::make_unique<Independent>(params, contestant);
  if (kind == "single") return std::make_unique<Single>(params, contestant);
  return nullptr;
}

}  // namespace zklock::bench
