// SPDX-License-Identifier: Apache-2.0
// Locks of a client whose ACL does not permit it to delete its znodes.
#include <algorithm>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "conformance/log_capture.h"
#include "conformance/security_fixture.h"

namespace zklock::testing {
namespace {

// The ACL of the lock's path permits everything but DELETE.
class WithoutDelete : public Security {
 protected:
  ClientOptions logged() const {
    ClientOptions with = options();
    with.logger = log_.logger();
    return with;
  }
  void permit_delete(bool permitted) {
    Id anyone = ZOO_ANYONE_ID_UNSAFE;
    ACL all{permitted ? ZOO_PERM_ALL : ZOO_PERM_ALL & ~ZOO_PERM_DELETE, anyone};
    ASSERT_EQ(raw().set_acl(kPath, ACL_vector{1, &all}), ZOK);
  }
  std::size_t lines_with(const std::string& text) const {
    const auto lines = log_.lines();
    return static_cast<std::size_t>(std::ranges::count_if(
        lines, [&](const std::string& line) { return line.find(text) != std::string::npos; }));
  }
  LogCapture log_;
  const std::unique_ptr<Client> client_ = connect(logged());
  ReentrantMutex mutex_{*client_, kPath};
};

TEST_F(WithoutDelete, Release_IsReportedByFlushAndLaterCalls) {
  Hold hold = mutex_.acquire();
  const std::string node = hold.node();
  permit_delete(false);
  hold.release();
  EXPECT_FALSE(client_->flush()) << "without a deadline, and at once";
  EXPECT_EQ(raw().exists(node).rc, ZOK);
  EXPECT_FALSE(client_->flush());
  EXPECT_EQ(error_of([&] { mutex_.lock(); }), Errc::no_auth);
  EXPECT_EQ(error_of([&] { return mutex_.try_lock_for(kTestTimeout); }), Errc::no_auth);
  const std::string text = error_text_of([&] { return mutex_.try_lock(); });
  EXPECT_NE(text.find(node), std::string::npos) << text;
  EXPECT_NE(text.find("the ACL of " + kPath + " does not permit"), std::string::npos) << text;
  EXPECT_FALSE(client_->flush());
  EXPECT_TRUE(eventually([this] { return lines_with("does not permit") == 1U; }, kTestTimeout))
      << log_.text();

  permit_delete(true);
  EXPECT_TRUE(client_->flush());
  EXPECT_EQ(raw().exists(node).rc, ZNONODE);
  EXPECT_TRUE(mutex_.try_lock());
  mutex_.unlock();
  EXPECT_TRUE(client_->flush());
}

TEST_F(WithoutDelete, Withdrawal_IsReportedByFlush) {
  const auto other = connect();
  Hold holder = ReentrantMutex(*other, kPath).acquire();
  permit_delete(false);
  EXPECT_FALSE(mutex_.try_lock());
  EXPECT_FALSE(client_->flush());
  EXPECT_TRUE(other->flush()) << "it has released nothing";
  permit_delete(true);
  holder.release();
  EXPECT_TRUE(client_->flush());
  EXPECT_TRUE(other->flush());
  EXPECT_TRUE(nodes().empty());
}

}  // namespace
}  // namespace zklock::testing
