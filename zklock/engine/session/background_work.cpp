// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/background_work.h"

#include <algorithm>
#include <cassert>

namespace zklock::detail {

BackgroundWork::Id BackgroundWork::begin(Id of) {
  const Id id = of == Id{} ? Id{++last_} : of;
  if (!closed_) ++pieces_[static_cast<std::uint64_t>(id)].in_flight;
  return id;
}

void BackgroundWork::end(Id id) noexcept {
  move(id, &Piece::in_flight, nullptr);
}

void BackgroundWork::stall(Id id) noexcept {
  move(id, &Piece::in_flight, &Piece::stalled);
}

void BackgroundWork::resume(Id id) noexcept {
  move(id, &Piece::stalled, &Piece::in_flight);
}

void BackgroundWork::move(Id id, int Piece::*from, int Piece::*to) noexcept {
  const auto piece = pieces_.find(static_cast<std::uint64_t>(id));
  if (piece == pieces_.end()) return;  // closed
  assert(piece->second.*from > 0);
  --(piece->second.*from);
  if (to != nullptr) ++(piece->second.*to);
  if (piece->second.in_flight == 0 && piece->second.stalled == 0) pieces_.erase(piece);
  changed_.notify_all();
}

bool BackgroundWork::is_settled(Id last) const {
  return std::all_of(pieces_.begin(), pieces_.upper_bound(static_cast<std::uint64_t>(last)),
                     [](const auto& piece) { return piece.second.in_flight == 0; });
}

bool BackgroundWork::has_ended(Id last) const {
  return pieces_.empty() || pieces_.begin()->first > static_cast<std::uint64_t>(last);
}

void BackgroundWork::close() noexcept {
  closed_ = true;
  pieces_.clear();
  changed_.notify_all();
}

}  // namespace zklock::detail
