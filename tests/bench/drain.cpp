// SPDX-License-Identifier: Apache-2.0
// Many waiters of one lock, without a thread for each. Measures how fast they are granted in turn,
// and their cost while they wait.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/process_status.h"
#include "bench/queue.h"

namespace zklock::bench {
namespace {

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

/// Many queues that are drained at the same time, each with sessions of its own.
class Drains final : public Measure {
 public:
  Drains(const Params& params, Contestant& contestant, const std::string& hosts)
      : waiters_(params.number("waiters")) {
    for (std::size_t i = 0; i < params.number("queues"); ++i) {
      const Params each = params.with("path", params.text("path") + "/" + std::to_string(i));
      queues_.push_back(
          std::make_unique<Queue>(each, contestant, hosts, params.number("sessions")));
      queues_.back()->fill(waiters_);
    }
  }

  Result run() override {
    const auto begin = Clock::now();
    for (const auto& queue : queues_) queue->begin_drain();
    Result result;
    auto last = begin;
    for (const auto& queue : queues_) {
      queue->finish_drain();
      last = std::max(last, queue->exclusive().last());
      result.overlaps += queue->exclusive().overlaps();
    }
    result.seconds = in_seconds(last - begin);
    result.ops = result.cycles = waiters_ * queues_.size();
    return result;
  }

 private:
  const std::size_t waiters_;
  std::vector<std::unique_ptr<Queue>> queues_;
};

/// The memory and threads that waiters cost. The constructor drains a short queue first, so that
/// the library's own threads have started.
class Waiters final : public Measure {
 public:
  Waiters(const Params& params, Contestant& contestant, const std::string& hosts)
      : waiters_(params.number("waiters")),
        queue_(params, contestant, hosts, params.number("sessions")) {
    constexpr std::size_t kFew = 200;
    queue_.fill(kFew);
    queue_.drain();
    queue_.hold_again();
  }

  Result run() override {
    const MemoryGrowth memory;
    const double threads = status_of_process("Threads");
    const auto begin = Clock::now();
    queue_.fill(waiters_);
    Result result;
    result.ops = result.cycles = waiters_;
    result.seconds = in_seconds(Clock::now() - begin);
    result.more["kilobytes"] = memory.kilobytes() / static_cast<double>(waiters_);
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
  if (kind == "drains") return std::make_unique<Drains>(params, contestant, hosts);
  if (kind == "waiters") return std::make_unique<Waiters>(params, contestant, hosts);
  return nullptr;
}

}  // namespace zklock::bench
