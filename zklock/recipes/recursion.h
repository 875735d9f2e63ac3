// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace zklock::recipes {

class Contender;

/// The thread that has a path's lock by lock(), and how many times more it has locked it. Only that
/// thread counts here, and so it needs no mutex, and no look into the map of contenders.
///
/// | state  | event                                           | next                              |
/// |--------|-------------------------------------------------|-----------------------------------|
/// | empty  | begin(): a thread has got a count by lock()     | of that thread, 0                 |
/// | of one | its lock(), while its hold is valid             | one more                          |
/// |        | its unlock(), above 0                           | one less                          |
/// |        | its last count by lock() is given back          | empty                             |
/// |        | another thread's begin(), lock() and unlock()   | the same: they go by the map      |
///
/// The first count is the contender's, and stays there as long as there are any here. So nobody
/// else has to know of these: as long as there is one, there is that one. A hold that is lost keeps
/// them, to be given back.
///
/// Thread-safety: all members, from any thread; lock-free. But begin(), end() and clear() are called
/// with the engine's mutex held: a thread may come back from lock(), or end, after all objects have
/// gone, and so while they are being cleared up after.
class Recursion {
 public:
  Recursion() = default;
  Recursion(const Recursion&) = delete;
  Recursion& operator=(const Recursion&) = delete;

  /// The calling thread has a count of this contender by lock(). Unless another thread is here.
  void begin(std::shared_ptr<const Contender> contender) noexcept;
  /// True: the calling thread has the lock, and it is valid; one more is counted.
  bool enter() noexcept;
  /// True: one is counted less. False: what is given back is the contender's count.
  bool leave() noexcept;
  /// What the calling thread has counted here.
  int count() const noexcept { return is_here() ? count_ : 0; }
  /// The calling thread has given back its last count by lock().
  void end() noexcept;
  /// No thread can be here any more: there is no object to lock.
  void clear() noexcept;

 private:
  bool is_here() const noexcept;

  std::atomic<std::uint64_t> thread_{0};  ///< its number; 0: none
  // of that thread alone
  std::shared_ptr<const Contender> contender_;
  int count_ = 0;
};

}  // namespace zklock::recipes
