// SPDX-License-Identifier: Apache-2.0
// Label and note of a contender, in the data of each znode that it has.
#include <cstddef>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>
#include <pthread.h>

#include "tests/model/path_lock_fixture.h"
#include "zklock/core/znode_data.h"
#include "zklock/engine/session/engine_context.h"

namespace zklock::model {
namespace {

using detail::CallTexts;

class CallTextsTest : public PathLockTest {
 protected:
  static Request with_note(std::string_view note, Request request = {}) {
    request.texts = CallTexts::of_call(CallTexts::of_object("catalog"), note);
    return request;
  }
  core::ZnodeData data_of(std::size_t client) {
    const Node* const node = ensemble().find(child(node_of(client)));
    return core::ZnodeData::parse(node->data).value();
  }
  template <class Body>
  static void on_thread(const char* name, Body body) {
    std::thread([name, &body] {
      ::pthread_setname_np(::pthread_self(), name);
      body();
    }).join();
  }
  void expect_note(std::size_t client, const std::string& note) {
    EXPECT_EQ(data_of(client).label, "catalog");
    EXPECT_EQ(data_of(client).note, note);
    EXPECT_FALSE(data_of(client).bound);
  }
};

TEST_F(CallTextsTest, NestedCall_LeavesTheTexts) {
  const Owner owner = Owner::unique();
  granted(0, with_note("rebuild", {.owner = owner}));
  granted(0, with_note("more", {.owner = owner}));
  expect_note(0, "rebuild");
}

TEST_F(CallTextsTest, ReplacedZnode_HasTheTexts) {
  const Owner owner = Owner::unique();
  const auto writes = granted(0, with_note("rebuild", LockWorld::to_write(owner)));
  granted(0, LockWorld::to_read(owner));
  release(writes);
  ASSERT_TRUE(node_of(0).starts_with("__READ__")) << "downgraded";
  expect_note(0, "rebuild");
  finish();
  granted(0, with_note("rebuild", LockWorld::at_gate(5)));
  ASSERT_TRUE(node_of(0).starts_with("lock-")) << "it has passed the gate";
  expect_note(0, "rebuild");
}

// The single attempt fails, and its reply comes on another thread than the calls. The call that has
// joined it continues with a new contender.
TEST_F(CallTextsTest, CallThatJoinedAttempt_HasItsOwnNoteAndThread) {
  const Owner owner = Owner::unique();
  granted(1);
  std::size_t attempt = 0;
  std::size_t joins = 0;
  on_thread("caller", [&] {
    attempt = lock_.acquire(0, with_note("attempt", {.owner = owner, .timeout = Duration::zero()}));
    joins = lock_.acquire(0, with_note("patient", {.owner = owner}));
  });
  run();
  expect_ended_with_nothing(attempt);
  expect_note(0, "patient");
  EXPECT_EQ(data_of(0).thread, "caller");
}

// Its lock node is made when the session has ended, on another thread.
TEST_F(CallTextsTest, CallBehindALockNode_KeepsItsThread) {
  const core::CohortPolicy shares{.batch = 8};
  const auto holds = granted(0, {.local = shares});
  std::size_t behind = 0;
  on_thread("behind", [&] { behind = lock_.acquire(0, {.local = shares}); });
  run();
  EXPECT_FALSE(lock_.call(behind).granted());
  lock_.world().expire(0);
  run();
  release(holds);  // it was lost
  EXPECT_TRUE(is_granted(behind));
  EXPECT_EQ(data_of(0).thread, "behind");
}

// A retained lock znode needs no thread's name. But here its lease has lapsed, unnoticed.
TEST_F(CallTextsTest, CallAfterAPause_NamesItsThread) {
  const Request kept{.local = {.keep_idle_for = 1h}};
  lock_.use(0);
  release(granted(0, kept));
  lock_.world().pause(0);
  lock_.world().run_for(8s);
  std::size_t after = 0;
  on_thread("after", [&] { after = lock_.acquire(0, kept); });
  lock_.world().resume(0);
  run_for(5s);
  EXPECT_TRUE(is_granted(after));
  EXPECT_EQ(data_of(0).thread, "after");
}

TEST(CallTexts, WithoutTexts_AreNull) {
  EXPECT_EQ(CallTexts::of_object(""), nullptr);
  EXPECT_EQ(CallTexts::of_call(nullptr, ""), nullptr);
  const auto label = CallTexts::of_object("catalog");
  EXPECT_EQ(CallTexts::of_call(label, ""), label) << "no allocation";
  EXPECT_EQ(CallTexts::of_call(nullptr, "rebuild")->label, "");
}

TEST(CallTexts, HostileText_IsCutAndPrintable) {
  const std::string hostile = "\x1b[2J\n\xff" + std::string(300, 'x');
  const auto texts = CallTexts::of_call(CallTexts::of_object(hostile), hostile);
  EXPECT_EQ(texts->label, "?[2J??" + std::string(58, 'x'));
  EXPECT_EQ(texts->note, "?[2J??" + std::string(194, 'x'));
}

}  // namespace
}  // namespace zklock::model
