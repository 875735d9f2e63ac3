// SPDX-License-Identifier: Apache-2.0
#include "tests/model/simulator/process.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "tests/model/client_factory.h"

namespace zklock::simulator {

namespace {

/// Returns a pointer that does not own the object; the process owns it.
template <class T>
std::shared_ptr<T> borrowed(T& object) {
  return {std::shared_ptr<void>(), &object};
}

model::ClientOptions options_of(const Setup& setup, int slot, Process number) {
  const Duration relay = std::chrono::milliseconds(setup.relay_ms);
  return {.session_timeout = std::chrono::milliseconds(setup.session_ms),
          .connection_timeout = std::chrono::milliseconds(2 * setup.session_ms),
          .relay_interval = relay,
          .relay_phase = relay * static_cast<int>(number % 7) / 7,
          .relay_jitter = std::chrono::milliseconds(setup.jitter_ms),
          .drift = setup.drift[static_cast<std::size_t>(slot) % kMostSlots]};
}

}  // namespace

SimProcess::SimProcess(SimClock& clock, std::vector<std::unique_ptr<SimEnsemble>>& ensembles,
                       Process number, int slot, const Setup& setup)
    : number_(number),
      slot_(slot),
      clock_(clock, number, setup.drift[static_cast<std::size_t>(slot) % kMostSlots]) {
  for (auto& ensemble : ensembles) {
    auto line = std::make_unique<Line>(clock, *ensemble, number, options_of(setup, slot, number));
    line->core = detail::ClientCore::make(
        {.coordinator = borrowed<client::Coordinator>(line->coordinator),
         .scheduler = borrowed<client::Scheduler>(clock_),
         .dispatcher = borrowed<client::Dispatcher>(handlers_),
         .loss_dispatcher = borrowed<client::Dispatcher>(losses_),
         .finish_losses =
             [this] {
               while (losses_.run_next()) {
               }
             }},
        {.hosts = "simulated",
         .application = "simulate",
         .host = "host",
         .connection_timeout = std::chrono::milliseconds(2 * setup.session_ms),
         .max_in_flight = static_cast<std::size_t>(setup.creates_at_once),
         .announces = setup.announces != 0,
         .marks_holds = setup.marks[static_cast<std::size_t>(slot) % kMostSlots] != 0});
    line->client = detail::ClientFactory::make(line->core);
    lines_.push_back(std::move(line));
  }
}

SimProcess::~SimProcess() {
  close();
}

void SimProcess::pause() {
  paused_ = true;
  for (auto& line : lines_) line->coordinator.pause();
}

void SimProcess::resume() {
  if (dead_) return;
  paused_ = false;
  for (auto& line : lines_) line->coordinator.resume();
}

void SimProcess::kill(bool hangs_up) {
  dead_ = true;
  pause();
  if (!hangs_up) return;
  for (auto& line : lines_) line->coordinator.disconnect();
}

bool SimProcess::refused() const {
  return std::ranges::any_of(lines_, [](const auto& l) { return l->coordinator.is_refused(); });
}

void SimProcess::close() {
  if (std::exchange(closed_, true)) return;
  for (auto& line : lines_) line->client->close();
}

}  // namespace zklock::simulator
