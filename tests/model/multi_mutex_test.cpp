// SPDX-License-Identifier: Apache-2.0
// MultiMutexes with parts of several kinds on the simulated ensemble, in random interleavings.
#include "zklock/multi_mutex.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/client_factory.h"
#include "tests/model/lock_world.h"

namespace zklock::model {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kClients = 3;
constexpr std::size_t kPaths = 3;
constexpr int kCount = 2;  // of the permits on each path
constexpr int kRounds = 2;

std::string path_of(std::size_t path) {
  return "/locks/" + std::string(1, static_cast<char>('a' + path));
}

/// A client with a MultiMutex, which it acquires and releases some times.
struct User {
  std::array<Access, kPaths> accesses = {};
  std::array<int, kPaths> permits = {};
  std::unique_ptr<Client> client;
  std::unique_ptr<MultiMutex> mutex;
  MultiHold hold;
  int acquires = 0;
  int releases = 0;
};

/// The parts are in another order for each client. The requests are served in a random order.
class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed) : random_(seed) {
    lock_.connect_all();
    for (std::size_t c = 0; c < kClients; ++c) {
      users_[c].client = detail::ClientFactory::make(
          std::static_pointer_cast<detail::ClientCore>(lock_.core(c).shared_from_this()));
      make_mutex(users_[c]);
    }
  }

  /// Returns what is wrong, or an empty string.
  std::string run() {
    for (User& user : users_) acquire(user);
    for (int i = 0; i < 20'000 && wrong_.empty(); ++i) {
      if (std::ranges::all_of(users_, [](const User& u) { return u.releases == kRounds; })) {
        return at_rest();
      }
      User& any = users_[below(kClients)];
      if (any.hold && below(8) == 0) {
        release(any);
      } else {
        step();
      }
    }
    return wrong_.empty() ? "a contender is never granted" : wrong_;
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }

  void make_mutex(User& user) {
    std::vector<LockPart> parts;
    for (std::size_t path = 0; path < kPaths; ++path) {
      switch (below(3)) {
        case 0:
          user.accesses[path] = Access::exclusive;
          parts.push_back(below(2) == 0 ? LockPart::mutex(path_of(path))
                                        : LockPart::writer(path_of(path)));
          break;
        case 1:
          user.accesses[path] = Access::shared;
          parts.push_back(LockPart::reader(path_of(path)));
          break;
        default:
          user.accesses[path] = Access::permits;
          user.permits[path] = 1 + static_cast<int>(below(kCount));
          parts.push_back(LockPart::permits(path_of(path), user.permits[path], kCount));
          break;
      }
    }
    std::ranges::shuffle(parts, random_);
    user.mutex = std::make_unique<MultiMutex>(*user.client, parts);
  }

  void acquire(User& user) {
    if (user.acquires++ == kRounds) return;
    user.mutex->async_acquire([this, &user](MultiHold hold, const std::exception_ptr& error) {
      if (error || !hold) wrong_ = "an acquire fails";
      user.hold = std::move(hold);
      for (std::size_t path = 0; path < kPaths; ++path) check_exclusion(path);
    });
  }

  void release(User& user) {
    user.hold.release();
    ++user.releases;
    acquire(user);
  }

  void step() {
    auto steps = lock_.world().steps();
    const auto is_timer = [](const Step& s) { return s.kind == Step::Kind::timer; };
    if (!std::ranges::all_of(steps, is_timer)) std::erase_if(steps, is_timer);
    if (!steps.empty()) lock_.world().run(steps[below(steps.size())]);
  }

  void check_exclusion(std::size_t path) {
    int holders = 0;
    int permits = 0;
    bool all_equal = true;
    const User* last = nullptr;
    for (const User& user : users_) {
      if (!user.hold) continue;
      if (last) all_equal = all_equal && last->accesses[path] == user.accesses[path];
      last = &user;
      ++holders;
      permits += user.permits[path];
    }
    const bool alone = holders < 2;
    const bool exclusive = last && last->accesses[path] == Access::exclusive;
    if (!alone && (!all_equal || exclusive)) wrong_ = "two exclude each other, and both hold";
    if (permits > kCount) wrong_ = "too many permits are held";
  }

  std::string at_rest() {
    lock_.world().run_for(2s);
    for (std::size_t path = 0; path < kPaths; ++path) {
      const Node* const parent = lock_.world().ensemble().find(path_of(path));
      if (parent != nullptr && !parent->children.empty()) return "a znode is left";
    }
    return wrong_;
  }

  std::mt19937_64 random_;
  LockWorld lock_{kClients};
  std::array<User, kClients> users_;
  std::string wrong_;
};

TEST(MultiMutexRandom, PartsInAnyOrder_NeverDeadlock) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    RandomRun random(seed);
    ASSERT_EQ(random.run(), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace zklock::model
