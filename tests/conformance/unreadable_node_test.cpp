// SPDX-License-Identifier: Apache-2.0
// Contenders on an open path with different credentials, which may not read each other's znodes.
#include <future>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "conformance/security_fixture.h"

namespace zklock::testing {
namespace {

class UnreadableNode : public Security {
 protected:
  UnreadableNode() { EXPECT_EQ(raw().create(kPath).rc, ZOK); }

  const std::unique_ptr<Client> first_ = connect(credential("right"));
  const std::unique_ptr<Client> second_ = connect(credential("another"));
  const std::unique_ptr<Client> third_ = connect();
};

TEST_F(UnreadableNode, DifferentCredentials_AreGrantedInTurn) {
  ReentrantMutex first_mutex(*first_, kPath);
  ReentrantMutex second_mutex(*second_, kPath);
  ReentrantMutex third_mutex(*third_, kPath);
  Hold hold = first_mutex.acquire();
  EXPECT_EQ(raw().get_data(hold.node()).rc, ZNOAUTH);
  auto second = second_mutex.async_acquire();
  ASSERT_TRUE(reaches_nodes(2));
  auto third = third_mutex.async_acquire();
  ASSERT_TRUE(reaches_nodes(3));
  hold.release();
  Hold next = get(second);
  EXPECT_TRUE(static_cast<bool>(next));
  EXPECT_FALSE(is_ready(third));
  next.release();
  EXPECT_TRUE(static_cast<bool>(get(third)));
}

TEST_F(UnreadableNode, ZnodeOfHolderDeleted_NextIsGranted) {
  ReentrantMutex second_mutex(*second_, kPath);
  const Hold hold = ReentrantMutex(*first_, kPath).acquire();
  auto second = second_mutex.async_acquire();
  ASSERT_TRUE(reaches_nodes(2));
  ASSERT_EQ(raw().delete_node(hold.node()), ZOK);
  EXPECT_TRUE(static_cast<bool>(get(second)));
  EXPECT_TRUE(eventually([&] { return hold.state() == HoldState::lost; }, kTestTimeout));
}

}  // namespace
}  // namespace zklock::testing
