// SPDX-License-Identifier: Apache-2.0
#include "bench/queue.h"

#include <chrono>
#include <stdexcept>
#include <thread>

namespace zklock::bench {
namespace {

constexpr std::chrono::seconds kTimeout{120};

}  // namespace

Queue::Queue(const Params& params, Contestant& contestant, const std::string& hosts,
             std::size_t sessions)
    : path_(params.text("path")),
      settle_(params.seconds("settle")),
      apart_(params.seconds("apart")),
      probe_(hosts),
      holders_(contestant.connect(params)),
      holder_(holders_->make_lock(path_)) {
  for (std::size_t i = 0; i < sessions; ++i) sessions_.push_back(contestant.connect(params));
  holder_->lock();
}

void Queue::fill(std::size_t waiters) {
  waiting_ = waiters;
  exclusive_ = std::make_unique<Exclusive>();
  for (std::size_t i = 0; i < waiters; ++i) {
    sessions_[i % sessions_.size()]->queue(path_, [this] { granted(); });
    std::this_thread::sleep_for(apart_);
  }
  const auto withdraw = Clock::now() + kTimeout;
  // More than the contenders: zklock marks a hold that lasts, by one more znode.
  while (probe_.count_children(path_) < static_cast<int>(waiters) + 1) {
    if (Clock::now() > withdraw) throw std::runtime_error("the waiters do not queue");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::this_thread::sleep_for(settle_);
}

void Queue::finish_drain() {
  if (!drained_.try_acquire_for(kTimeout)) {
    throw std::runtime_error("the queue stands still");
  }
  for (const auto& session : sessions_) session->flush();
}

Clock::duration Queue::drain() {
  const auto begin = Clock::now();
  begin_drain();
  finish_drain();
  return exclusive_->last() - begin;
}

void Queue::granted() {
  const bool last = exclusive_->enter() + 1 == waiting_;
  exclusive_->leave();
  if (last) drained_.release();
}

}  // namespace zklock::bench
