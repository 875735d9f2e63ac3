// SPDX-License-Identifier: Apache-2.0
// Another program with CREATE on the lock path can create a znode that promises an announcement. It
// can also write that znode while another contender holds the lock. Such an announcement must not
// be believed.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/cohort_fixture.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

constexpr NodeAcl kOpenAcl{};
/// The clients have all permissions. Other programs have READ and CREATE.
constexpr NodeAcl kCreateOnly{.everyone = AclEntry::read | AclEntry::create,
                              .users = AclEntry::all};

class ForgedAnnouncement : public CohortFixture {
 protected:
  /// Two clients hand the lock to each other until the path counts as crowded.
  std::size_t holder_of_crowded_path() {
    auto holder = granted(0);
    for (int i = 1; i <= 10; ++i) {
      const auto next = waiting(static_cast<std::size_t>(i) % 2);
      release(holder);
      holder = next;
    }
    const auto path_lock = lock_.path_lock(1);
    const detail::EngineLock lock(path_lock->entry());
    EXPECT_TRUE(path_lock->is_crowded());
    return holder;
  }
  void set_acl(NodeAcl acl) { ASSERT_EQ(ensemble().set_acl(LockWorld::kPath, acl), Status::ok); }
  /// Creates a znode of another program.
  void forge(const std::string& prefix = "lock-") {
    const auto name =
        ensemble().create_sequential(LockWorld::kPath, prefix, "zklock 1\nannounces=1\n");
    ASSERT_TRUE(name);
    forged_ = LockWorld::kPath + ("/" + *name);
    run();
  }
  void write_forged() {
    ASSERT_EQ(ensemble().set_data(forged_, "released"), Status::ok);
    run();
  }
  void remove_forged() {
    ASSERT_EQ(ensemble().remove(forged_), Status::ok);
    run();
  }
  /// Expects no grant when the forged znode, which is between `first` and `second`, is written.
  void expect_forgery_grants_nothing(const Request& first, const Request& second,
                                     const std::string& prefix = "lock-") {
    const auto holder = granted(0, first);
    forge(prefix);
    const auto next = waiting(1, second);
    write_forged();
    EXPECT_FALSE(is_granted(next));
    EXPECT_EQ(call(holder).hold.state(), HoldState::held);
    remove_forged();
    EXPECT_FALSE(is_granted(next));
    release(holder);
    EXPECT_TRUE(is_granted(next));
    release(next);
  }
  /// Hands off the lock between the two clients. Returns how often they listed the children.
  std::size_t lists_of_handoffs(int handoffs) {
    reset_counts();
    auto holder = granted(0);
    for (int i = 1; i <= handoffs; ++i) {
      const auto next = waiting(static_cast<std::size_t>(i) % 2);
      release(holder);
      EXPECT_TRUE(is_granted(next));
      holder = next;
    }
    release(holder);
    return client(0).requests(Kind::list_children) + client(1).requests(Kind::list_children);
  }
  void SetUp() override {
    CohortFixture::SetUp();
    for (const std::size_t c : {0U, 1U, 2U}) lock_.use(c);
  }
  void end() {
    for (const std::size_t c : {0U, 1U, 2U}) lock_.end_use(c);
    expect_rest();
  }

  std::string forged_;
};

TEST_F(ForgedAnnouncement, OpenPath_TrustedAfterOneAclRead) {
  EXPECT_EQ(lists_of_handoffs(10), 0U);
  EXPECT_EQ(client(0).requests(Kind::get_acl), 1U);
  EXPECT_EQ(client(1).requests(Kind::get_acl), 1U);
  end();
}

TEST_F(ForgedAnnouncement, NoOtherContender_AclNotRead) {
  for (int i = 0; i < 5; ++i) release(granted(0));
  EXPECT_EQ(client(0).requests(Kind::get_acl), 0U);
  end();
}

TEST_F(ForgedAnnouncement, CreatorsMayNotDelete_ForgeryGrantsNothing) {
  set_acl(kCreateOnly);
  expect_forgery_grants_nothing({}, {});
  end();
}

TEST_F(ForgedAnnouncement, CreatorsMayNotDelete_ListedAfterOneAclRead) {
  set_acl(kCreateOnly);
  EXPECT_EQ(lists_of_handoffs(10), 10U);
  EXPECT_EQ(client(0).requests(Kind::get_acl), 1U);
  EXPECT_EQ(client(1).requests(Kind::get_acl), 1U);
  end();
}

TEST_F(ForgedAnnouncement, CreatorsMayNotDelete_ForgeryGrantsNoWriter) {
  set_acl(kCreateOnly);
  const auto writer = LockWorld::to_write();
  expect_forgery_grants_nothing(writer, LockWorld::to_write());
  expect_forgery_grants_nothing(writer, LockWorld::to_write(), core::QueueRule::writer().prefix());
  expect_forgery_grants_nothing(LockWorld::to_read(), LockWorld::to_write());
  expect_forgery_grants_nothing(writer, LockWorld::to_read());
  expect_forgery_grants_nothing({}, LockWorld::to_write());
  end();
}

TEST_F(ForgedAnnouncement, CreatorsMayNotDelete_ForgeryGrantsNoBatch) {
  set_acl(kCreateOnly);
  expect_forgery_grants_nothing(on({.batch = 10}), on({.batch = 10}));
  end();
}

TEST_F(ForgedAnnouncement, CreatorsMayNotDelete_ForgeryGrantsNoIdleLock) {
  set_acl(kCreateOnly);
  const auto idle = on({.batch = 10, .keep_idle_for = 10s});
  release(granted(0, idle));
  expect_forgery_grants_nothing(idle, idle);
  run_for(20s);
  end();
}

TEST_F(ForgedAnnouncement, ForeignReleaseByDelete_Granted) {
  set_acl(kCreateOnly);
  forge();
  const auto next = waiting(1);
  remove_forged();
  EXPECT_TRUE(is_granted(next));
  release(next);
  end();
}

TEST_F(ForgedAnnouncement, AclChangedBetweenAcquires_ForgeryGrantsNothing) {
  EXPECT_EQ(lists_of_handoffs(4), 0U);
  set_acl(kCreateOnly);
  expect_forgery_grants_nothing({}, {});
  end();
}

TEST_F(ForgedAnnouncement, AclChangedWhileWaiting_ForgeryGrantsNothing) {
  const auto holder = granted(0);
  const auto second = waiting(1);
  set_acl(kCreateOnly);
  forge();
  const auto third = waiting(1);
  write_forged();
  EXPECT_FALSE(is_granted(third));
  release(holder);
  EXPECT_TRUE(is_granted(second));
  EXPECT_FALSE(is_granted(third));
  release(second);
  remove_forged();
  EXPECT_TRUE(is_granted(third));
  release(third);
  end();
}

// The ACL is safe again when it is read. The forged znode was created before that.
TEST_F(ForgedAnnouncement, AclMadeSafeAfterForgery_NotTrusted) {
  set_acl(kCreateOnly);
  const auto holder = granted(0);
  forge();
  set_acl(kOpenAcl);
  const auto next = waiting(1);
  write_forged();
  EXPECT_FALSE(is_granted(next));
  remove_forged();
  release(holder);
  release(next);
  lists_of_handoffs(2);  // client 0 has not read the ACL yet
  EXPECT_EQ(lists_of_handoffs(4), 0U) << "later nodes are believed";
  end();
}

TEST_F(ForgedAnnouncement, PathRecreatedWithAnotherAcl_ForgeryGrantsNothing) {
  EXPECT_EQ(lists_of_handoffs(4), 0U);
  ASSERT_EQ(ensemble().remove(LockWorld::kPath), Status::ok);
  ASSERT_EQ(ensemble().create_container(LockWorld::kPath), Status::ok);
  const auto first = granted(0);
  const auto aversion = ensemble().find(LockWorld::kPath)->acl_version;
  ASSERT_EQ(aversion, 0);
  const auto next = waiting(1);
  release(first);
  EXPECT_TRUE(is_granted(next));
  release(next);
  set_acl(kCreateOnly);
  expect_forgery_grants_nothing({}, {});
  end();
}

// READ permits both getChildren and getACL. So getACL fails only if the ACL changes in between.
TEST_F(ForgedAnnouncement, AclNotReadable_NotTrusted) {
  for (const std::size_t c : {0U, 1U}) client(c).fail_next(Kind::get_acl, Status::no_auth);
  expect_forgery_grants_nothing({}, {});
  EXPECT_EQ(lists_of_handoffs(4), 4U);
  EXPECT_EQ(client(1).requests(Kind::get_acl), 0U) << "it was refused before";
  end();
}

TEST_F(ForgedAnnouncement, ReadableAclOfOwners_Trusted) {
  set_acl({.everyone = AclEntry::read, .users = AclEntry::all});
  EXPECT_EQ(lists_of_handoffs(2), 2U) << "the first ones may have been created before the change";
  EXPECT_EQ(lists_of_handoffs(6), 0U);
  end();
}

TEST_F(ForgedAnnouncement, AclReadFails_NotTrustedAndReadAgain) {
  client(1).fail_next(Kind::get_acl, Status::throttled);
  const auto holder = granted(0);
  const auto next = waiting(1);
  reset_counts();
  release(holder);
  EXPECT_TRUE(is_granted(next));
  EXPECT_EQ(client(1).requests(Kind::list_children), 1U);
  release(next);
  EXPECT_EQ(lists_of_handoffs(4), 0U);
  end();
}

TEST_F(ForgedAnnouncement, ReleasedBeforeTheAclIsKnown_Listed) {
  const auto holder = granted(0);
  const auto next = lock_.acquire(1);
  while (client(1).requests(Kind::get_acl) == 0) ASSERT_TRUE(step());
  client(1).cut_off();  // the request is not served
  release_node(holder);
  run();
  client(1).mend();
  while (client(1).can_receive()) client(1).receive();
  reset_counts();
  run();
  EXPECT_TRUE(is_granted(next));
  release(next);
  end();
}

// Every hand-off reads the ACL again, because the last stat is too old.
TEST_F(ForgedAnnouncement, CrowdedPathWithChangedAcl_TrustedAtSlowHandoffs) {
  set_acl(kOpenAcl);
  auto holder = granted(0);
  for (int i = 1; i <= 20; ++i) {
    if (i == 11) reset_counts();
    const auto next = waiting(static_cast<std::size_t>(i) % 2);
    run_for(2s);
    release(holder);
    ASSERT_TRUE(is_granted(next));
    holder = next;
  }
  release(holder);
  EXPECT_GE(client(0).requests(Kind::get_acl), 4U);
  for (const std::size_t c : {0U, 1U}) EXPECT_EQ(client(c).requests(Kind::list_children), 0U);
  end();
}

// The reply can show an ACL that is as old as the request.
TEST_F(ForgedAnnouncement, SlowAclReply_ReadAgain) {
  auto holder = holder_of_crowded_path();
  run_for(2s);
  reset_counts();
  const auto slow = lock_.acquire(1);
  while (client(1).requests(Kind::get_acl) == 0) ASSERT_TRUE(step());
  client(1).cut_off();
  run_for(1500ms);
  client(1).mend();
  run();
  const auto other = waiting(0);
  const auto last = waiting(1);
  EXPECT_EQ(client(1).requests(Kind::get_acl), 2U);
  for (const auto call : {holder, slow, other, last}) {
    ASSERT_TRUE(is_granted(call));
    release(call);
  }
  end();
}

// A contender of a crowded path does not count the children, and so gets no stat of the path.
TEST_F(ForgedAnnouncement, CrowdedPath_AclReadAtMostOnceASecond) {
  auto holder = holder_of_crowded_path();
  reset_counts();
  for (int i = 1; i <= 10; ++i) {
    const auto next = waiting(static_cast<std::size_t>(i) % 2);
    run_for(300ms);
    release(holder);
    ASSERT_TRUE(is_granted(next));
    holder = next;
  }
  EXPECT_EQ(client(1).requests(Kind::count_children), 0U);
  EXPECT_EQ(client(1).requests(Kind::list_children), 0U);
  EXPECT_LE(client(1).requests(Kind::get_acl), 3U);
  run_for(2s);
  set_acl(kCreateOnly);
  forge();
  const auto next = waiting(1);
  write_forged();
  EXPECT_FALSE(is_granted(next));
  release(holder);
  EXPECT_FALSE(is_granted(next));
  remove_forged();
  EXPECT_TRUE(is_granted(next));
  release(next);
  end();
}

}  // namespace
}  // namespace zklock::model
