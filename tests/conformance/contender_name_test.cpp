// SPDX-License-Identifier: Apache-2.0
// A contender that enqueues again describes itself correctly in the data of its new znode.
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <pthread.h>

#include "conformance/lock_test.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

class ContenderName : public LockTest {
 protected:
  const std::unique_ptr<Client> holder_ = connect();
  ReentrantMutex holders_mutex_{*holder_, kPath};
  Hold hold_ = holders_mutex_.acquire();
  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};
};

TEST_F(ContenderName, SessionEnds_ThreadNameIsRetained) {
  const std::string name = "order-clerk";
  auto waiting = in_thread([&] {
    ::pthread_setname_np(::pthread_self(), name.c_str());
    return mutex_.acquire({.deadline = kTestTimeout});
  });
  ASSERT_TRUE(reaches_nodes(2));
  const auto before = holders_mutex_.participants();
  ASSERT_EQ(before.size(), 2U);
  EXPECT_EQ(before[1].thread, name);

  expire_session(chroot_.hosts(), client_->session_id());
  std::vector<Participant> after;
  ASSERT_TRUE(eventually(
      [&] {
        after = holders_mutex_.participants();
        return after.size() == 2 && after[1].node != before[1].node;
      },
      kTestTimeout));
  EXPECT_NE(after[1].session_id, before[1].session_id);
  EXPECT_EQ(after[1].thread, name);
  EXPECT_EQ(after[1].owner, before[1].owner);
  EXPECT_EQ(after[1].application, before[1].application);
  EXPECT_EQ(after[1].pid, before[1].pid);
  EXPECT_FALSE(is_ready(waiting));
  hold_.release();
  EXPECT_TRUE(static_cast<bool>(get(waiting)));
}

TEST_F(ContenderName, PassedDeadline_ParticipantsAreReadInASingleAttempt) {
  const auto all = holders_mutex_.participants(Deadline::passed());
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].token, hold_.token());
  EXPECT_EQ(mutex_.participants(Deadline::passed()).size(), 1U);
  EXPECT_EQ(holders_mutex_.queue_position(std::nullopt, Deadline::passed()), 0U);
}

}  // namespace
}  // namespace zklock::testing
