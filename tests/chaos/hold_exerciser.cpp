// SPDX-License-Identifier: Apache-2.0
#include "chaos/hold_exerciser.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <sstream>
#include <thread>

namespace zklock::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

constexpr microseconds kLook = 15ms;
// Long enough for a fault to be aimed at it.
constexpr microseconds kLong = 120ms;
// The timeout for the callbacks of a loss, enough for any machine.
constexpr std::chrono::seconds kHoldTimeout{30};
// Delays after a loss: at once, when others were granted, and much later.
constexpr std::array<std::chrono::nanoseconds, 4> kLate{0s, 1500ms, 4s, 8s};

}  // namespace

HoldExerciser::HoldExerciser(const Client& client, const std::string& socket_path, unsigned number,
                             unsigned life, unsigned thread)
    : client_(client), link_(socket_path), number_(number), life_(life), thread_(thread) {}

bool HoldExerciser::exercise(const Standing& standing, microseconds length) {
  standing_ = &standing;
  id_ = grant_id(number_, life_, thread_, grants_++);
  refused_ = 0;
  std::atomic<int> notified{0};
  const std::stop_callback on_loss(standing.lost, [&notified] { ++notified; });

  session_ = client_.session_id();
  last_ = 0;
  valid_ = true;
  look();
  first_ = now();
  report_grant(length >= kLong);
  visit();
  look();
  wait(length);
  if (valid_) {
    visit();
    look();
  }
  if (!valid_) {
    const auto until = std::chrono::steady_clock::now() + kHoldTimeout;
    const auto all_notified = [&] {
      return notified > 0 && (!standing.loss_received || standing.loss_received());
    };
    while (!all_notified() && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(1ms);
    }
  }
  std::ostringstream end;
  end << "E " << id_ << ' ' << last_ << ' ' << refused_ << ' ' << (valid_ ? 'r' : 'l') << ' '
      << notified;
  link_.send_line(end.str());
  if (!valid_ && standing.fenced) {
    for (const auto delay : kLate) late_.push_back({now() + delay.count(), visit_line(true)});
  }
  standing_ = nullptr;
  return valid_;
}

// Sleeps in short pieces, and acts after each before it queries the state. So does a program that
// does not know how long it was paused.
void HoldExerciser::wait(microseconds length) {
  while (valid_ && length > 0us) {
    const auto part = std::min(length, kLook);
    std::this_thread::sleep_for(part);
    length -= part;
    visit();
    look();
  }
}

// The hold was valid at some moment between the two reads of the clock. The earlier one is
// reported.
void HoldExerciser::look() {
  const Nanos before = now();
  if (!valid_) return;
  valid_ = standing_->state() != HoldState::lost;
  if (valid_) last_ = std::max(last_, before);
}

void HoldExerciser::visit() {
  if (!standing_->fenced) return;
  const bool accepted = link_.query(visit_line(false));
  if (!accepted && refused_ == 0) refused_ = now();
}

std::string HoldExerciser::visit_line(bool late) const {
  std::ostringstream line;
  line << "W " << id_ << ' ' << standing_->lock << ' ' << standing_->token.zxid << ' '
       << standing_->token.grant_index << ' ' << standing_->reading << ' ' << late;
  return line.str();
}

void HoldExerciser::report_grant(bool is_long) {
  std::ostringstream line;
  line << "G " << id_ << ' ' << standing_->lock << ' ' << standing_->weight << ' '
       << std::hash<Owner>{}(standing_->owner) << ' ' << standing_->token.zxid << ' '
       << standing_->token.grant_index << ' ' << standing_->call << ' ' << first_ << ' ' << session_
       << ' ' << static_cast<bool>(standing_->loss_received) << ' ' << is_long;
  link_.send_line(line.str());
}

void HoldExerciser::come_late() {
  for (auto& each : late_) {
    if (each.due > now()) continue;
    static_cast<void>(link_.query(each.line));
    each.due = 0;
  }
  std::erase_if(late_, [](const LateVisit& each) { return each.due == 0; });
}

}  // namespace zklock::chaos
