// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "zklock/core/gathering.h"
#include "zklock/core/hold_limit.h"
#include "zklock/deadline.h"
#include "zklock/owner.h"
#include "zklock/recipes/composite.h"
#include "zklock/recipes/held_parts.h"

namespace zklock::recipes {

/// How a call that gathers several locks ended: with a grant, or with an error, or with neither
/// (the deadline passed, others hold, or it was stopped).
struct CompositeOutcome {
  bool granted = false;
  std::shared_ptr<HeldParts> held =
      {};  ///< of a grant to acquire(); what lock() took has no holder
  std::exception_ptr error = {};
};

/// One call that wants the locks.
struct CompositeWanted {
  Owner owner;
  Deadline deadline;
  core::CountKind kind = core::CountKind::hold;
  core::HoldLimit limit = {};  ///< from the grant of the whole on
  std::stop_token stop = {};
  /// Called once, with no lock held, on a thread that must not be kept; runs no user code.
  std::function<void(CompositeOutcome)> done = {};
};

/// One call that gathers the parts of a composite, whatever its face: drives the rule of
/// core::Gathering. No thread waits for it: what happens is put in line, and the thread that finds
/// nobody at work works the line off.
///
/// Thread-safety: all members, from any thread.
class CompositeCall : public std::enable_shared_from_this<CompositeCall> {
 public:
  static std::shared_ptr<CompositeCall> start(std::shared_ptr<Composite> composite,
                                              CompositeWanted wanted);
  /// The call will end soon, without a grant and without an error, unless it has ended.
  void cancel();
  /// As AcquireCall's: none, for it waits for several.
  static std::chrono::microseconds stay_awake() noexcept { return {}; }
  /// Its parts keep the deadline.
  static Deadline deadline() noexcept { return Deadline::never(); }
  static void expire() noexcept {}
  /// The same, with Error(closed): the public object is being destroyed.
  void close();

 private:
  CompositeCall(std::shared_ptr<Composite> composite, CompositeWanted wanted);

  struct Cancel {
    std::weak_ptr<CompositeCall> call;
    void operator()() const {
      if (const auto alive = call.lock()) alive->cancel();
    }
  };
  struct Look {
    std::weak_ptr<CompositeCall> call;
    void operator()() const;
  };
  /// A part that is held, or that was lost and not given back yet.
  struct Taken {
    Outcome outcome;
    std::unique_ptr<std::stop_callback<Look>> on_loss;
  };

  void post(std::function<void(CompositeCall&)> event);
  bool take_event(std::function<void(CompositeCall&)>& event);

  /// By the thread that works the line off.
  void look_for_losses();
  void carry_out(const core::GatheringEffects& effects);
  void carry_out(const core::GatheringEffect& effect);
  void ask(std::size_t part, bool once);
  void answered(std::size_t part, Outcome outcome);
  void failed(std::size_t part, std::exception_ptr error, core::PartAnswer how);
  void look_at_silence(std::uint64_t request);
  void look_later(std::uint64_t request);
  void look_no_more();
  core::Duration patience_with(core::Instant now, std::size_t parts_left) const;
  bool late() const;
  void drop(std::size_t part);
  void begin_time_of(std::size_t part);
  void grant();
  void finish(CompositeOutcome outcome);
  std::exception_ptr lost_error(std::size_t part) const;
  std::exception_ptr failure() const;

  const std::shared_ptr<Composite> composite_;
  CompositeWanted wanted_;
  const bool waits_;  ///< not a single attempt
  std::optional<std::stop_callback<Cancel>> on_stop_;

  // used by the thread that works the line off
  core::Gathering gathering_;
  std::vector<std::optional<Taken>> taken_;
  std::vector<std::exception_ptr> errors_;
  std::function<void()> call_off_;
  bool spare_ = false;         ///< the asked part is tried beyond the needed ones
  std::uint64_t request_ = 0;  ///< counts the asked parts, so that a timer knows its own
  core::Instant last_sign_{};  ///< of life, of the asked part
  core::Duration patience_{};  ///< with the asked part
  client::TimerId look_{};     ///< at its silence
  bool closed_ = false;
  bool finished_ = false;

  std::mutex mutex_;
  // guarded by mutex_
  std::deque<std::function<void(CompositeCall&)>> line_;
  bool at_work_ = false;
};

}  // namespace zklock::recipes
