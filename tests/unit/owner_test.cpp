// SPDX-License-Identifier: Apache-2.0
#include "zklock/owner.h"

#include <functional>
#include <string>
#include <thread>
#include <unordered_set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "zklock/engine/session/process.h"

namespace zklock {
namespace {

using ::testing::MatchesRegex;

Owner owner_of_new_thread() {
  Owner owner = Owner::this_thread();
  std::thread([&] { owner = Owner::this_thread(); }).join();
  return owner;
}

// Returns the result of `text` in a fork()ed child.
template <class Text>
std::string in_child(Text text) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string answer = text();
    const auto written = ::write(ends[1], answer.data(), answer.size());
    ::_exit(written == static_cast<ssize_t>(answer.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string answer(4096, '\0');
  const auto got = ::read(ends[0], answer.data(), answer.size());
  answer.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  ::close(ends[0]);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return answer;
}

TEST(Owner, ThreadLifetime_KeepsTheOwner) {
  EXPECT_EQ(Owner::this_thread(), Owner::this_thread());
  const Owner before = Owner::this_thread();
  owner_of_new_thread();
  static_cast<void>(Owner::unique());
  EXPECT_EQ(Owner::this_thread(), before);
}

TEST(Owner, ThreadIdReused_IsAnotherOwner) {
  std::unordered_set<Owner> owners{Owner::this_thread()};
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(owners.insert(owner_of_new_thread()).second);
}

struct QueriedAtTheEnd {
  Owner* result = nullptr;
  ~QueriedAtTheEnd() {
    if (result != nullptr) *result = Owner::this_thread();
  }
};
thread_local QueriedAtTheEnd made_before;
thread_local QueriedAtTheEnd made_after;

TEST(Owner, ThreadLocalDestructor_SeesTheOwner) {
  Owner during = Owner::unique();
  Owner early = Owner::unique();
  Owner late = Owner::unique();
  std::thread([&] {
    made_before.result = &early;
    during = Owner::this_thread();
    made_after.result = &late;
  }).join();
  EXPECT_EQ(early, during);
  EXPECT_EQ(late, during);
}

TEST(Owner, Name_DoesNotDecideEquality) {
  const Owner a = Owner::unique("req-42");
  const Owner b = Owner::unique("req-42");
  EXPECT_NE(a, b);
  EXPECT_LT(a, b) << "the order of their serial numbers";
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): the copy is tested
  const Owner copy = a;
  EXPECT_EQ(copy, a);
  EXPECT_EQ(std::hash<Owner>()(copy), std::hash<Owner>()(a));
  EXPECT_EQ(copy.name(), "req-42");
  EXPECT_NE(a, Owner::unique());
}

TEST(Owner, Name_FollowsTheText) {
  const Owner owner = Owner::unique("req 42");
  EXPECT_THAT(owner.to_string(), MatchesRegex("[0-9a-f]{16}-[1-9][0-9]* req 42"));
  EXPECT_EQ(owner.to_string().substr(0, 17), Owner::unique().to_string().substr(0, 17));
  EXPECT_EQ(Owner::unique().name(), "");
  EXPECT_EQ(Owner::this_thread().name(), "");
  EXPECT_EQ(Owner::unique("").name(), "");
  EXPECT_THAT(Owner::unique("").to_string(), MatchesRegex("[0-9a-f]{16}-[1-9][0-9]*"));
}

TEST(Owner, LongOrHostileName_IsCutAndPrintable) {
  EXPECT_EQ(Owner::unique("\x1b[2J\n\xff").name(), "?[2J??");
  EXPECT_EQ(Owner::unique(std::string(23, 'n') + "\u20ac").name(), std::string(23, 'n'));
  const std::string text = Owner::unique(std::string(100, 'n')).to_string();
  EXPECT_TRUE(text.ends_with(" " + std::string(24, 'n')));
  EXPECT_LE(text.size(), 64U) << "the znode shows the whole text";
}

TEST(Owner, ForkedChild_HasItsOwnOwners) {
  const std::string parent = Owner::this_thread().to_string();
  const auto query = [] { return Owner::this_thread().to_string(); };
  const std::string first = in_child(query);
  const std::string second = in_child(query);
  EXPECT_THAT(first, MatchesRegex("[0-9a-f]{16}-[1-9][0-9]*"));
  EXPECT_NE(first, parent);
  EXPECT_NE(second, parent);
  EXPECT_NE(second, first);
  const Owner mine = Owner::this_thread();
  EXPECT_EQ(mine.to_string(), parent);
  EXPECT_EQ(in_child([&] { return Owner::this_thread() == mine ? "same" : "other"; }), "other");
}

TEST(ProcessIdentity, Fork_IncrementsTheGeneration) {
  const auto before = detail::fork_generation();
  EXPECT_EQ(in_child([] { return std::to_string(detail::fork_generation()); }),
            std::to_string(before + 1));
  EXPECT_EQ(
      in_child([] { return in_child([] { return std::to_string(detail::fork_generation()); }); }),
      std::to_string(before + 2));
  EXPECT_EQ(detail::fork_generation(), before);
}

TEST(ProcessIdentity, Identity_HasHostAndPid) {
  const auto identity = detail::process_identity();
  EXPECT_NE(identity.id, 0U);
  EXPECT_EQ(identity.id, detail::process_id());
  EXPECT_EQ(identity.pid, ::getpid());
  char host[256] = {};
  ASSERT_EQ(::gethostname(host, sizeof host - 1), 0);
  EXPECT_EQ(identity.host, host);
  EXPECT_EQ(in_child([] { return std::to_string(detail::process_identity().pid == ::getpid()); }),
            "1");
}

}  // namespace
}  // namespace zklock
