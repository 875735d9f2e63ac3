// SPDX-License-Identifier: Apache-2.0
// The first acquire at a path that does not exist, and at paths that the client has not seen yet.
#include <cstddef>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"

namespace zklock::model {
namespace {

/// The parent of the lock path exists, and the path itself does not. The clients are new.
class NewPath : public PathLockTest {
 protected:
  void SetUp() override {
    lock_.connect_all();
    ensemble().create_container("/locks");
    reset_counts();
  }
  void make_path() { ASSERT_EQ(ensemble().create_container(LockWorld::kPath), Status::ok); }
  void remove_path() { ASSERT_EQ(ensemble().remove(LockWorld::kPath), Status::ok); }
  bool predicts_new_path() {
    const detail::EngineLock lock({lock_.core(0)});
    return lock_.core(0).path_facts().predicts_new_path();
  }
  void meet_missing_path() {
    const detail::EngineLock lock({lock_.core(0)});
    lock_.core(0).path_facts().met_missing_path();
  }
  /// Acquires and releases the lock. Returns the number of requests until the grant.
  std::size_t requests_of_a_grant(std::size_t c = 0) {
    reset_counts();
    const auto call = granted(c);
    const std::size_t requests = client(c).requests();
    release(call);
    return requests;
  }
};

TEST_F(NewPath, ExistingPaths_CostOneMoreRequestOnce) {
  make_path();
  EXPECT_EQ(requests_of_a_grant(), 3U) << "the first shows that paths exist";
  EXPECT_EQ(requests_of_a_grant(), 2U);
  EXPECT_EQ(requests_of_a_grant(), 2U);
}

TEST_F(NewPath, NewPathAfterExisting_IsExpectedFromThenOn) {
  make_path();
  requests_of_a_grant();
  remove_path();
  EXPECT_EQ(requests_of_a_grant(), 5U) << "create and count, the parents, create and count";
  remove_path();
  EXPECT_EQ(requests_of_a_grant(), 3U);
}

// An object that saw its path says nothing about the paths of others.
TEST_F(NewPath, UsedPathDeleted_ChangesNoExpectation) {
  make_path();
  lock_.use(0);
  requests_of_a_grant();
  remove_path();
  requests_of_a_grant();
  EXPECT_FALSE(predicts_new_path());
}

TEST_F(NewPath, UsedPath_IsNotCreatedAgain) {
  lock_.use(0);
  requests_of_a_grant();
  ASSERT_TRUE(predicts_new_path());
  for (int i = 0; i < 2; ++i) {
    requests_of_a_grant();
    EXPECT_EQ(client(0).requests(Kind::create_parents), 0U) << i;
  }
}

TEST_F(NewPath, ContendersAtOnce_CreatePathOnce) {
  const auto first = lock_.acquire(0);
  lock_.acquire(0);
  EXPECT_EQ(client(0).requests(Kind::create_parents), 1U);
  EXPECT_EQ(client(0).requests(Kind::create_contender), 2U);
  run();
  EXPECT_EQ(client(0).requests(Kind::create_parents), 1U);
  EXPECT_TRUE(is_granted(first));
}

TEST_F(NewPath, CreatesOfPathUnsent_AreRepeated) {
  lock_.use(0);
  lock_.world().disconnect(0);
  run();
  const auto attempt = lock_.acquire(0, {.timeout = Duration::zero()});
  run_for(11s);
  EXPECT_EQ(error(attempt), Errc::not_connected);
  lock_.world().reconnect(0);
  run();
  EXPECT_EQ(requests_of_a_grant(), 3U);
}

// The path's creation, the create and the count have arrived up to any point, and so have their
// replies.
TEST_F(NewPath, ConnectionLostAmongReplies_OneZnodeIsCreated) {
  for (int served = 0; served <= 3; ++served) {
    for (int received = 0; received <= served; ++received) {
      meet_missing_path();
      const auto call = lock_.acquire(0);
      ASSERT_EQ(client(0).unserved(), 3U) << served << ", " << received;
      for (int i = 0; i < served; ++i) lock_.world().run({Step::Kind::serve, 0});
      for (int i = 0; i < received; ++i) lock_.world().run({Step::Kind::receive, 0});
      lock_.world().disconnect(0);
      run();
      lock_.world().reconnect(0);
      run_for(1s);
      EXPECT_TRUE(is_granted(call)) << served << ", " << received;
      EXPECT_EQ(lock_.nodes().size(), 1U) << served << ", " << received;
      finish();
      run_for(1min);  // after that, no look for a late create needs the path lock
      remove_path();
    }
  }
}

}  // namespace
}  // namespace zklock::model
