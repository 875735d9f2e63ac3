// SPDX-License-Identifier: Apache-2.0
// Pages, deadlines, failures and changes during a survey.
#include <chrono>
#include <utility>

#include "tests/model/survey_fixture.h"

namespace zklock::model {
namespace {

using Paths = std::vector<std::string>;

class SurveyFaults : public SurveyTest {
 protected:
  /// Makes the locks /a/10 to /a/(10 + count - 1), and returns their paths.
  Paths locks(int count) {
    directory("/a");
    Paths made;
    for (int i = 0; i < count; ++i) {
      made.push_back("/a/" + std::to_string(10 + i));
      lock(made.back());
    }
    return made;
  }
  /// Fails the request number `number`, counted from 0, with this status.
  void fail_request(int number, Status status) {
    servers_->before = [this, number, status](const Operation&) -> std::optional<Reply> {
      if (seen_++ != number) return std::nullopt;
      return status_only(status);
    };
  }
  int seen_ = 0;
  std::size_t broken_round_ = 0;
};

TEST_F(SurveyFaults, DeadlineInMiddle_NextCallContinues) {
  const Paths made = locks(30);
  servers_->before = [&](const Operation&) {
    time_->pass(10ms);
    return std::optional<Reply>();
  };
  Survey survey(*client_, "/a", unlimited());
  SurveyPage sum;
  int pages = 0;
  for (; !survey.is_complete() && pages < 100; ++pages) {
    add(survey.next(1'000, Deadline(time_->now() + 50ms)), sum);
  }
  EXPECT_EQ(paths(sum), made);
  EXPECT_GT(pages, 3);
  EXPECT_EQ(servers_->requests(), 61U) << "nothing is read twice";
}

// Each request in turn fails once: a list, the permit count, or a contender.
TEST_F(SurveyFaults, OneTemporaryFailure_NothingIsLost) {
  const Paths made = locks(2);
  directory("/a/s");
  contender("/a/s", "permits-1-", "first");
  contender("/a/s", "permits-1-", "second");
  ensemble_.create("/a/s/count", "1");
  for (const Status status : {Status::unknown, Status::session_ended, Status::throttled}) {
    for (int number = 0; number < 9; ++number) {
      seen_ = 0;
      fail_request(number, status);
      const SurveyPage page = all("/a");
      ASSERT_EQ(paths(page), (Paths{"/a/10", "/a/11", "/a/s"})) << number;
      EXPECT_EQ(page.visited, 4U);
      EXPECT_TRUE(page.unreadable.empty());
      EXPECT_EQ(page.locks[0].state.holders.size(), 1U);
      EXPECT_EQ(page.locks[2].permits, 1);
      ASSERT_EQ(page.locks[2].state.holders.size(), 1U);
      EXPECT_EQ(page.locks[2].state.holders[0].owner, "first");
      ASSERT_EQ(page.locks[2].waiters.size(), 1U);
      EXPECT_EQ(page.locks[2].waiters[0].owner, "second");
      EXPECT_LE(seen_, 11) << "only that request is repeated, and those of its lock";
    }
  }
}

TEST_F(SurveyFaults, NotConnected_ThrowsThenContinues) {
  const Paths made = locks(20);
  servers_->before = [this](const Operation&) -> std::optional<Reply> {
    if (seen_++ != 25) return std::nullopt;
    time_->pass(15s);
    return status_only(Status::not_connected);
  };
  Survey survey(*client_, "/a", unlimited());
  try {
    static_cast<void>(survey.next());
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.errc(), Errc::not_connected);
    EXPECT_EQ(e.path(), "/a");
    EXPECT_STREQ(e.what(),
                 "survey /a: no server answered within 15000 ms: no route to host [not_connected]");
  }
  SurveyPage rest = survey.next();
  EXPECT_TRUE(survey.is_complete());
  EXPECT_EQ(paths(rest), made) << "also those that were read before the error";
}

TEST_F(SurveyFaults, ClientEnds_Throws) {
  locks(3);
  const std::vector<std::pair<Status, Errc>> ends{{Status::closed, Errc::closed},
                                                  {Status::auth_failed, Errc::auth_failed}};
  for (const auto& [status, code] : ends) {
    seen_ = 0;
    fail_request(3, status);
    Survey survey(*client_, "/a", unlimited());
    EXPECT_EQ(error_of_next(survey), code);
  }
  Survey survey(*client_, "/a", unlimited());
  client_->close();
  EXPECT_EQ(error_of_next(survey), Errc::closed);
  EXPECT_THROW(Survey(*client_, "/a"), Error);
}

// A reply that is too large for the connection breaks it each time.
TEST_F(SurveyFaults, ListBreaksConnection_IsUnreadable) {
  Paths made = locks(12);
  servers_->before = [&](const Operation& operation) -> std::optional<Reply> {
    const bool in_flight = time_->due().size() != broken_round_;
    if (in_flight && path_of(operation) != "/a/15") return std::nullopt;
    if (in_flight) time_->pass(1s);  // so that an endless survey ends at the connection timeout
    broken_round_ = time_->due().size();  // the later requests of this round are lost with it
    return status_only(Status::unknown);
  };
  const SurveyPage page = all("/a");
  std::erase(made, "/a/15");
  EXPECT_EQ(paths(page), made);
  EXPECT_EQ(page.unreadable, Paths{"/a/15"});
}

// Without the root nothing is read, so an empty page would be wrong.
TEST_F(SurveyFaults, RootBreaksConnection_Throws) {
  const Paths made = locks(2);
  servers_->before = [this](const Operation&) {
    time_->pass(4s);
    return std::optional(status_only(Status::unknown));
  };
  Survey survey(*client_, "/a", unlimited());
  EXPECT_EQ(error_of_next(survey), Errc::not_connected);
  EXPECT_FALSE(survey.is_complete());
  servers_->before = {};
  const SurveyPage page = survey.next();
  EXPECT_EQ(paths(page), made);
  EXPECT_TRUE(page.unreadable.empty());
  EXPECT_TRUE(survey.is_complete());
}

TEST_F(SurveyFaults, HandOffsWithoutEnd_LockIsShown) {
  locks(1);
  contender("/a/10");
  directory("/a/10/below");
  servers_->before = [&](const Operation& operation) {
    if (!is_list(operation) && ensemble_.remove(path_of(operation)) == Status::ok) {
      contender("/a/10");
    }
    return std::optional<Reply>();
  };
  const SurveyPage page = all("/a");
  ASSERT_EQ(paths(page), Paths{"/a/10"});
  EXPECT_TRUE(page.locks[0].state.holders.empty());
  EXPECT_EQ(page.locks[0].state.waiting, 1U);
  EXPECT_EQ(servers_->count_of(OperationKind::list_children), 5U)
      << "the root, the lock three times, and the znode below, which is entered once";
  EXPECT_EQ(page.visited, 3U);
}

TEST_F(SurveyFaults, LockDeletedDuringRead_IsNotShown) {
  locks(2);
  servers_->before = [&](const Operation& operation) {
    if (!is_list(operation) && path_of(operation).starts_with("/a/10/")) {
      ensemble_.remove(path_of(operation));
      ensemble_.remove("/a/10");
    }
    return std::optional<Reply>();
  };
  EXPECT_EQ(paths(all("/a")), Paths{"/a/11"});
}

TEST_F(SurveyFaults, PathRecreatedDuringRead_NewPathIsShown) {
  directory("/a");
  const auto old = contender("/a", "lock-", "old");
  servers_->before = [&](const Operation& operation) {
    if (!is_list(operation) && ensemble_.find("/a/" + old)->data.find("old") != std::string::npos) {
      ensemble_.remove("/a/" + old);
      ensemble_.remove("/a");
      directory("/a");
      EXPECT_EQ(contender("/a", "lock-", "new"), old) << "the names repeat";
      contender("/a", "lock-", "second");
    }
    return std::optional<Reply>();
  };
  const SurveyPage page = all("/a");
  ASSERT_EQ(page.locks.size(), 1U);
  ASSERT_EQ(page.locks[0].state.holders.size(), 1U);
  EXPECT_EQ(page.locks[0].state.holders[0].owner, "new");
  EXPECT_EQ(page.locks[0].waiters.size(), 1U);
}

TEST_F(SurveyFaults, SlowRate_DeadlineIsKept) {
  locks(3);
  Survey survey(*client_, "/a", {.requests_per_second = 1});
  EXPECT_TRUE(survey.next(1, Deadline::passed()).locks.empty());
  EXPECT_EQ(servers_->requests(), 0U);
  EXPECT_TRUE(survey.next(1, Deadline(time_->now() + 20ms)).locks.empty());
  EXPECT_EQ(servers_->requests(), 1U);
}

}  // namespace
}  // namespace zklock::model
