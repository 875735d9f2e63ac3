// SPDX-License-Identifier: Apache-2.0
// A free lock without other contenders, at one path or at ever new paths, and a lock that the
// thread already holds.
#include <memory>
#include <string>
#include <utility>

#include "bench/measure.h"

namespace zklock::bench {
namespace {

constexpr std::size_t kMostOps = 2'000'000;

/// acquire, unlock: times only that call. The server has confirmed the release before the next call
/// begins. cycle: times both calls; cycles follow each other directly.
class Free final : public Measure {
 public:
  enum class What { acquire, unlock, cycle };

  Free(What what, const Params& params, Contestant& contestant)
      : what_(what),
        params_(params),
        session_(contestant.connect(params)),
        lock_(session_->make_lock(params.text("path"))) {
    lock_->lock();
    lock_->unlock();
    session_->flush();
  }

  Result run() override {
    Result result;
    const Window window(params_);
    for (auto now = Clock::now(); !window.over(now) && result.cycles < kMostOps;) {
      const auto begin = Clock::now();
      lock_->lock();
      const auto locked = Clock::now();
      lock_->unlock();
      const auto unlocked = Clock::now();
      if (what_ != What::cycle) session_->flush();
      ++result.cycles;
      now = Clock::now();
      if (!window.has(begin)) continue;
      switch (what_) {
        case What::acquire: result.samples.add(locked - begin); break;
        case What::unlock: result.samples.add(unlocked - locked); break;
        case What::cycle: result.samples.add(unlocked - begin); break;
      }
      result.seconds = in_seconds(now - window.begin);
    }
    session_->flush();
    result.ops = result.samples.count();
    return result;
  }

 private:
  const What what_;
  const Params params_;
  const std::unique_ptr<Session> session_;
  const std::unique_ptr<Lock> lock_;
};

/// Times the call that acquires the lock of a new path. The parent of these paths exists. The
/// server has confirmed the release of a lock before the next call begins.
class Cold final : public Measure {
 public:
  Cold(const Params& params, Contestant& contestant)
      : params_(params), session_(contestant.connect(params)) {
    acquire_next();
  }

  Result run() override {
    Result result;
    const Window window(params_);
    for (auto now = Clock::now(); !window.over(now) && result.cycles < kMostOps;) {
      const auto [begin, took] = acquire_next();
      ++result.cycles;
      now = Clock::now();
      if (!window.has(begin)) continue;
      result.samples.add(took);
      result.seconds = in_seconds(now - window.begin);
    }
    result.ops = result.samples.count();
    return result;
  }

 private:
  /// Acquires and releases the lock of the next path. Returns when the acquire began, and its time.
  std::pair<Clock::time_point, Clock::duration> acquire_next() {
    const auto lock = session_->make_lock(params_.text("path") + "/" + std::to_string(next_++));
    const auto begin = Clock::now();
    lock->lock();
    const auto locked = Clock::now();
    lock->unlock();
    session_->flush();
    return {begin, locked - begin};
  }

  const Params params_;
  const std::unique_ptr<Session> session_;
  std::size_t next_ = 0;
};

/// A sample is the mean of many pairs, because reading the clock takes as long as one pair.
class Nested final : public Measure {
 public:
  Nested(const Params& params, Contestant& contestant)
      : params_(params),
        session_(contestant.connect(params)),
        lock_(session_->make_lock(params.text("path"))) {
    lock_->lock();
  }
  ~Nested() override { lock_->unlock(); }

  Result run() override {
    constexpr std::size_t kPairs = 2000;
    Result result;
    const Window window(params_);
    for (auto now = Clock::now(); !window.over(now) && result.ops < 100 * kMostOps;) {
      const auto begin = now;
      lock_->nest(kPairs);
      now = Clock::now();
      result.cycles += kPairs;
      if (!window.has(begin)) continue;
      pairs_.add((now - begin) * 1000 / kPairs);
      result.ops += kPairs;
      result.seconds = in_seconds(now - window.begin);
    }
    // Stored a thousand times as long, because the clock counts whole nanoseconds.
    result.more["pair_ns"] = pairs_.percentile(0.5);
    result.more["pair_ns_p99"] = pairs_.percentile(0.99);
    return result;
  }

 private:
  const Params params_;
  const std::unique_ptr<Session> session_;
  const std::unique_ptr<Lock> lock_;
  Samples pairs_;
};

}  // namespace

std::unique_ptr<Measure> make_uncontended(const Params& params, Contestant& contestant) {
  const std::string& kind = params.text("kind");
  if (kind == "acquire") return std::make_unique<Free>(Free::What::acquire, params, contestant);
  if (kind == "unlock") return std::make_unique<Free>(Free::What::unlock, params, contestant);
  if (kind == "cycle") return std::make_unique<Free>(Free::What::cycle, params, contestant);
  if (kind == "cold") return std::make_unique<Cold>(params, contestant);
  if (kind == "nested") return std::make_unique<Nested>(params, contestant);
  return nullptr;
}

}  // namespace zklock::bench
