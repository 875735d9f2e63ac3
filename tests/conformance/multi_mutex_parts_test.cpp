// SPDX-License-Identifier: Apache-2.0
// MultiMutex: parts of several kinds.
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

class MultiMutexParts : public LockTest {
 protected:
  bool all_become_empty() {
    return becomes_empty("/reader") && becomes_empty("/permits") && becomes_empty("/mutex");
  }
  int free_permits() const { return others_permits_.available_permits(); }
  // Returns the text of the Error without its code.
  template <class Call>
  static std::string cause_of(Call&& call) {
    const std::string text = error_text_of(std::forward<Call>(call));
    return text.substr(0, text.rfind(" ["));
  }

  const std::unique_ptr<Client> client_ = connect();
  MultiMutex mutex_{*client_,
                    {LockPart::reader("/reader"), LockPart::permits("/permits", 2, 5),
                     LockPart::mutex("/mutex")}};
  const std::unique_ptr<Client> other_ = connect();
  SharedMutex others_lock_{*other_, "/reader"};
  Semaphore others_permits_{*other_, "/permits", 5};
};

TEST_F(MultiMutexParts, Acquire_ReturnsHoldOfEachKind) {
  EXPECT_EQ(mutex_.paths(), (std::vector<std::string>{"/reader", "/permits", "/mutex"}));
  MultiHold hold = mutex_.acquire();
  ASSERT_EQ(hold.holds().size(), 3U);
  EXPECT_TRUE(hold[0].node().starts_with("/reader/"));
  EXPECT_EQ(hold[1].permits(), 2);
  EXPECT_TRUE(hold[2].node().starts_with("/mutex/"));
  EXPECT_EQ(mutex_.hold_count(), 1);
  EXPECT_FALSE(is_free("/mutex"));
  hold.release();
  EXPECT_EQ(mutex_.hold_count(), 0);
  EXPECT_TRUE(all_become_empty());
}

TEST_F(MultiMutexParts, ReaderPart_SharesWithReaders) {
  const Hold reader = others_lock_.acquire_shared({.owner = Owner::unique()});
  {
    const std::lock_guard guard(mutex_);
    EXPECT_FALSE(others_lock_.try_lock());
    EXPECT_TRUE(others_lock_.try_lock_shared());
    others_lock_.unlock_shared();
    EXPECT_EQ(SharedMutex(*client_, "/reader").read_count(), 1);
  }
  EXPECT_EQ(SharedMutex(*client_, "/reader").read_count(), 0);
  EXPECT_TRUE(reaches_nodes(1, "/reader"));
}

TEST_F(MultiMutexParts, WriterAhead_ReaderPartWaits) {
  Hold writer = others_lock_.acquire();
  EXPECT_FALSE(mutex_.try_lock());
  auto waiting = mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(2, "/reader"));
  writer.release();
  EXPECT_EQ(get(waiting).state(), HoldState::held);
  EXPECT_TRUE(all_become_empty());
}

TEST_F(MultiMutexParts, WriterPart_ExcludesReaders) {
  MultiMutex writer(*client_, {LockPart::writer("/reader")});
  writer.lock();
  EXPECT_FALSE(others_lock_.try_lock_shared());
  EXPECT_EQ(SharedMutex(*client_, "/reader").write_count(), 1);
  // The write lock covers a read lock of its owner.
  mutex_.lock();
  EXPECT_EQ(mutex_.hold_count(), 1);
  writer.unlock();  // downgrades
  ASSERT_TRUE(client_->flush(kTestTimeout));
  EXPECT_TRUE(others_lock_.try_lock_shared());
  others_lock_.unlock_shared();
  mutex_.unlock();
  EXPECT_TRUE(all_become_empty());
}

TEST_F(MultiMutexParts, PermitsPart_TakesOnlyItsPermits) {
  Permit three = others_permits_.acquire({}, 3);
  const MultiHold hold = mutex_.acquire();
  EXPECT_EQ(free_permits(), 0);
  EXPECT_FALSE(static_cast<bool>(mutex_.acquire({.owner = Owner::unique(), .deadline = 50ms})));
  three.release();
  EXPECT_TRUE(eventually([this] { return free_permits() == 3; }, kTestTimeout));
}

TEST_F(MultiMutexParts, SharedCount_IsReadFromServers) {
  MultiMutex counted(*client_, {LockPart::permits("/counted", 2, SharedCount{.initial = 2})});
  Semaphore others(*other_, "/counted", SharedCount{.initial = 7});
  counted.lock();
  EXPECT_EQ(others.available_permits(), 0);
  others.set_permits(3);
  EXPECT_EQ(others.available_permits(), 1);
  counted.unlock();
  EXPECT_TRUE(eventually([&] { return others.available_permits() == 3; }, kTestTimeout));
}

TEST_F(MultiMutexParts, NestedCall_TakesNoMorePermits) {
  mutex_.lock();
  mutex_.lock();
  const MultiHold hold = mutex_.acquire();
  EXPECT_EQ(mutex_.hold_count(), 3);
  EXPECT_EQ(free_permits(), 3);
  EXPECT_EQ(nodes("/permits").size(), 1U);
  mutex_.unlock();
  mutex_.unlock();
  EXPECT_EQ(mutex_.hold_count(), 1);
  EXPECT_EQ(free_permits(), 3);
}

// Other contenders hold permits at the same time, so no other request of the owner can nest in its
// permits.
TEST_F(MultiMutexParts, OwnerWithPermits_GetsNoMutexAndNoOtherPermits) {
  const Permit others = others_permits_.acquire({}, 1);
  mutex_.lock();
  ReentrantMutex mutex(*client_, "/permits");
  EXPECT_EQ(error_of([&] { mutex.lock(); }), Errc::would_deadlock);
  EXPECT_EQ(error_of([&] { return mutex.try_lock(); }), Errc::would_deadlock);
  MultiMutex one(*client_, {LockPart::permits("/permits", 1, 5)});
  EXPECT_EQ(cause_of([&] { one.lock(); }),
            "lock /permits: this owner has or requests permits on the path; release them first");
  EXPECT_EQ(error_of([&] { MultiMutex(*client_, {LockPart::reader("/permits")}).lock(); }),
            Errc::would_deadlock);
  EXPECT_FALSE(mutex.is_held_by_this_thread());
  EXPECT_FALSE(SharedMutex(*client_, "/permits").is_held_by_this_thread());
  EXPECT_TRUE(mutex_.is_held_by_this_thread());
  mutex_.unlock();
  EXPECT_TRUE(one.try_lock());
  one.unlock();
  EXPECT_TRUE(reaches_nodes(1, "/permits"));
}

TEST_F(MultiMutexParts, UnlockThroughOtherObjects_IsRefusedHere) {
  mutex_.lock();
  SharedMutex(*client_, "/reader").unlock_shared();
  try {
    mutex_.unlock();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::not_owner);
    EXPECT_EQ(error.path(), "/reader");
  }
  EXPECT_TRUE(all_become_empty());
}

TEST_F(MultiMutexParts, LostPart_LosesAll) {
  if (SharedServer::server() == nullptr) GTEST_SKIP() << "needs a server of this kit";
  for (std::size_t part = 0; part < 3; ++part) {
    const MultiHold hold = mutex_.acquire();
    const std::string node = hold[part].node();
    ASSERT_TRUE(eventually([&] { return watched(*SharedServer::server(), node); }, kTestTimeout));
    ASSERT_EQ(raw().delete_node(node), ZOK);
    EXPECT_TRUE(eventually([&] { return hold.state() == HoldState::lost; }, kTestTimeout)) << node;
    EXPECT_EQ(mutex_.hold_count(), 0);
  }
  EXPECT_TRUE(all_become_empty());
}

TEST_F(MultiMutexParts, OtherCountOfContenders_IsMismatch) {
  const Permit four = Semaphore(*other_, "/permits", 4).acquire();
  const std::string text = error_text_of([this] { mutex_.lock(); });
  EXPECT_TRUE(text.starts_with("lock /permits: ")) << text;
  EXPECT_EQ(error_of([this] { mutex_.lock(); }), Errc::settings_mismatch);
  EXPECT_TRUE(becomes_empty("/mutex"));
}

TEST_F(MultiMutexParts, Participants_AreOfEachPath) {
  EXPECT_EQ(mutex_.participants(), std::vector<std::vector<Participant>>(3));
  const MultiHold hold = mutex_.acquire();
  const Hold reader = others_lock_.acquire_shared();
  auto waiting = others_permits_.async_acquire({}, 4);
  ASSERT_TRUE(reaches_nodes(2, "/permits"));
  const auto all = mutex_.participants();
  ASSERT_EQ(all.size(), 3U);
  ASSERT_EQ(all[0].size(), 2U);
  EXPECT_EQ(all[0][0].access, Access::shared);
  EXPECT_EQ(all[0][0].token, hold[0].token());
  EXPECT_TRUE(all[0][1].holds);
  ASSERT_EQ(all[1].size(), 2U);
  EXPECT_EQ(all[1][0].permits, 2);
  EXPECT_FALSE(all[1][1].holds);
  ASSERT_EQ(all[2].size(), 1U);
  EXPECT_TRUE(all[2][0].mine);
  client_->close();
  EXPECT_EQ(error_of([this] { return mutex_.participants(); }), Errc::closed);
}

TEST_F(MultiMutexParts, ParticipantsOfSharedCount_HoldByCountOfServers) {
  const MultiMutex counted(*client_, {LockPart::permits("/counted", 1, SharedCount{.initial = 1})});
  Semaphore others(*other_, "/counted", SharedCount{.initial = 2});
  const Permit first = others.acquire();
  const Permit second = others.acquire();
  auto third = others.async_acquire();
  ASSERT_TRUE(reaches_nodes(4, "/counted"));  // the znode `count`, too
  const auto all = counted.participants().at(0);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_TRUE(all[0].holds && all[1].holds);
  EXPECT_FALSE(all[2].holds);
}

TEST_F(MultiMutexParts, WrongCount_Throws) {
  const auto made_of = [this](const LockPart& part) {
    return cause_of([&] { return MultiMutex(*client_, {part}).paths(); });
  };
  EXPECT_EQ(made_of(LockPart::permits("/a", 1, 0)),
            "lock /a: the semaphore must have at least one permit, not 0");
  EXPECT_EQ(made_of(LockPart::permits("/a", 1, SharedCount{.initial = -1})),
            "lock /a: the semaphore must have at least 0 permits, not -1");
  EXPECT_EQ(made_of(LockPart::permits("/a", 3, 2)),
            "lock /a: a call can acquire from 1 to 2 permits, not 3");
  EXPECT_EQ(made_of(LockPart::permits("/a", 0, SharedCount{.initial = 2})),
            "lock /a: a call can acquire at least one permit, not 0");
  EXPECT_EQ(made_of(LockPart::permits("/a", 3, SharedCount{.initial = 2})), "");
  EXPECT_EQ(made_of(LockPart::reader("a")), "lock a: the path does not begin with a slash");
  const std::vector<LockPart> twice{LockPart::reader("/a"), LockPart::writer("/a")};
  EXPECT_EQ(cause_of([&] { return MultiMutex(*client_, twice).paths(); }),
            "lock /a: the path is given twice");
  EXPECT_EQ(cause_of([this] { return MultiMutex(*client_, {}).paths(); }),
            "lock: the list of paths is empty");
  EXPECT_EQ(raw().exists("/a").rc, ZNONODE);
}

}  // namespace
}  // namespace zklock::testing
