// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/background_work.h"

#include <algorithm>
#include <cassert>

#include "zklock/engine/session/wait_in_slices.h"

namespace zklock::detail {

BackgroundWork::Id BackgroundWork::begin(Id of) {
  const client::MutexLock guard(mutex_);
  const Id id = of == Id{} ? Id{++last_} : of;
  if (!closed_) ++pieces_[static_cast<std::uint64_t>(id)].under_way;
  return id;
}

void BackgroundWork::end(Id id) noexcept {
  move(id, &Piece::under_way, nullptr);
}

void BackgroundWork::stall(Id id) noexcept {
  move(id, &Piece::under_way, &Piece::stalled);
}

void BackgroundWork::resume(Id id) noexcept {
  move(id, &Piece::stalled, &Piece::under_way);
}

void BackgroundWork::move(Id id, int Piece::*from, int Piece::*to) noexcept {
  const client::MutexLock guard(mutex_);
  const auto piece = pieces_.find(static_cast<std::uint64_t>(id));
  if (piece == pieces_.end()) return;  // closed
  assert(piece->second.*from > 0);
  --(piece->second.*from);
  if (to != nullptr) ++(piece->second.*to);
  if (piece->second.under_way == 0 && piece->second.stalled == 0) pieces_.erase(piece);
  changed_.notify_all();
}

BackgroundWork::Id BackgroundWork::newest() const {
  const client::MutexLock guard(mutex_);
  return Id{last_};
}

bool BackgroundWork::idle() const {
  const client::MutexLock guard(mutex_);
  return pieces_.empty();
}

std::size_t BackgroundWork::size() const {
  const client::MutexLock guard(mutex_);
  return pieces_.size();
}

void BackgroundWork::close() noexcept {
  const client::MutexLock guard(mutex_);
  closed_ = true;
  pieces_.clear();
  changed_.notify_all();
}

bool BackgroundWork::wait(Deadline deadline, Id last) {
  const client::MutexLock guard(mutex_);
  const auto end = [&]() ZKLOCK_REQUIRES(mutex_) {
    return pieces_.upper_bound(static_cast<std::uint64_t>(last));
  };
  const auto settled = [&]() ZKLOCK_REQUIRES(mutex_) {
    return std::all_of(pieces_.begin(), end(),
                       [](const auto& piece) { return piece.second.under_way == 0; });
  };
  return wait_in_slices(changed_, mutex_, deadline, settled) && pieces_.begin() == end();
}

}  // namespace zklock::detail
