// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/page_events.h"

#include <chrono>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "locks.h"

namespace zklock::cli::testing {
namespace {

using Json = nlohmann::json;

/// A page: applies the events of one stream.
class Page {
 public:
  explicit Page(PageEvents& feed) : stream_(feed) {}

  /// Reads all events that are there. Returns their names.
  std::vector<std::string> read() {
    std::vector<std::string> names;
    while (const SharedText text = stream_.next()) names.push_back(apply(*text));
    return names;
  }
  std::string read_one() { return apply(*stream_.next()); }

  const std::map<std::string, Json>& locks() const { return locks_; }
  const Json& beat() const { return beat_; }

 private:
  std::string apply(const std::string& text) {
    const auto name_at = text.find("event: ") + 7;
    const auto data_at = text.find("\ndata: ");
    EXPECT_TRUE(text.ends_with("\n\n"));
    std::string name = text.substr(name_at, data_at - name_at);
    const Json data = Json::parse(text.substr(data_at + 7));
    if (name == "change") {
      for (const Json& lock : data["locks"]) {
        Json& known = locks_[lock["path"].get<std::string>()];
        EXPECT_NE(known, lock) << "nothing changed";
        known = lock;
      }
      for (const Json& path : data["removed"]) EXPECT_EQ(locks_.erase(path.get<std::string>()), 1U);
    }
    if (name == "beat") beat_ = data;
    return name;
  }

  PageEvents::Stream stream_;
  std::map<std::string, Json> locks_;
  Json beat_;
};

void show(PageEvents& feed, const Snapshot& snapshot) {
  feed.on_snapshot(PageEvents::texts_of(snapshot));
}

json::Beat beat_at(WallTime now) {
  return {.now = now, .connected = true};
}

using Names = std::vector<std::string>;

TEST(PageEvents, NewStream_GetsAllLocks) {
  PageEvents feed("/", "1.0");
  feed.on_beat(beat_at(kNow));
  Snapshot snapshot = snapshot_of({busy_lock("/a"), busy_lock("/b")});
  snapshot.cycles = {{.steps = {}, .is_certain = true}, {}, {}};
  show(feed, snapshot);
  Page page(feed);
  EXPECT_EQ(page.read(), (Names{"hello", "change", "beat"}));
  EXPECT_EQ(page.locks().size(), 2U);
  EXPECT_EQ(page.beat()["locks"], 2);
  EXPECT_EQ(page.beat()["deadlocks"], 1);
  EXPECT_EQ(page.beat()["possible_deadlocks"], 2);
  EXPECT_EQ(page.read(), Names{});
}

TEST(PageEvents, BeforeTheFirstPass_BeatsAreSent) {
  PageEvents feed("/", "1.0");
  Page page(feed);
  EXPECT_EQ(page.read(), Names{"hello"});
  feed.on_beat(beat_at(kNow));
  EXPECT_EQ(page.read(), Names{"beat"});
  EXPECT_EQ(page.beat()["as_of_ms"], nullptr);
  show(feed, snapshot_of({busy_lock("/a")}));
  EXPECT_EQ(page.read(), Names{"change"});
}

/// Returns some of the locks /0 to /7.
std::vector<SurveyedLock> random_locks(std::mt19937& random) {
  std::vector<SurveyedLock> locks;
  for (int i = 0; i < 8; ++i) {
    if (random() % 2 == 0) continue;
    locks.push_back(lock_at("/" + std::to_string(i)));
    locks.back().state.waiting = random() % 3;
  }
  return locks;
}

TEST(PageEvents, RandomSnapshots_PageEqualsTheNewest) {
  std::mt19937 random(1);
  PageEvents feed("/", "1.0");
  show(feed, snapshot_of({}));
  Page page(feed);
  page.read();
  for (int round = 0; round < 500; ++round) {
    show(feed, snapshot_of(random_locks(random)));
    page.read();
    Page fresh(feed);
    fresh.read();
    ASSERT_EQ(page.locks(), fresh.locks());
  }
}

TEST(PageEvents, BigChange_ComesInSharedPieces) {
  PageEvents feed("/", "1.0");
  auto locks = busy_locks(1000, 1499);
  show(feed, snapshot_of(locks));
  Page page(feed);
  EXPECT_GT(page.read().size(), 3U);
  PageEvents::Stream first(feed);
  PageEvents::Stream second(feed);
  while (first.next() || second.next()) {
  }
  for (auto& lock : locks) lock.is_delayed = true;
  locks.resize(400);
  show(feed, snapshot_of(locks));
  const SharedText piece = first.next();
  EXPECT_EQ(piece, second.next());
  EXPECT_LT(piece->size(), 100'000U);
  const auto names = page.read();
  EXPECT_GT(names.size(), 3U);
  EXPECT_EQ(page.locks().size(), 400U);
  EXPECT_EQ(page.locks().at("/1399")["delay"], true);
}

TEST(PageEvents, SnapshotDuringAChange_FollowsIt) {
  PageEvents feed("/", "1.0");
  auto locks = busy_locks(1000, 1499);
  show(feed, snapshot_of(locks));
  Page page(feed);
  page.read();
  for (auto& lock : locks) lock.is_delayed = true;
  show(feed, snapshot_of(locks));
  EXPECT_EQ(page.read_one(), "change");
  locks.front().is_delayed = false;
  locks.pop_back();
  show(feed, snapshot_of(locks));
  page.read();
  EXPECT_EQ(page.locks().size(), 499U);
  EXPECT_EQ(page.locks().at("/1000")["delay"], false);
  EXPECT_EQ(page.locks().at("/1400")["delay"], true);
}

TEST(PageEvents, EqualSnapshot_OnlyMovesTheTime) {
  PageEvents feed("/", "1.0");
  show(feed, snapshot_of({busy_lock("/a")}));
  Page page(feed);
  page.read();
  auto later = snapshot_of({busy_lock("/a")});
  later.as_of = kNow + 5s;
  show(feed, later);
  feed.on_beat(beat_at(kNow + 6s));
  EXPECT_EQ(page.read(), Names{"beat"});
  const auto later_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>((kNow + 5s).time_since_epoch()).count();
  EXPECT_EQ(page.beat()["as_of_ms"], later_ms);
}

TEST(PageEvents, SlowStream_SkipsSnapshots) {
  PageEvents feed("/", "1.0");
  auto locks = busy_locks(1000, 1499);
  show(feed, snapshot_of(locks));
  Page page(feed);
  EXPECT_EQ(page.read_one(), "hello");
  EXPECT_EQ(page.read_one(), "change");
  locks.erase(locks.begin(), locks.begin() + 100);  // sent already
  show(feed, snapshot_of(locks));
  locks.push_back(busy_lock("/9"));
  show(feed, snapshot_of(locks));
  page.read();
  EXPECT_EQ(page.locks().size(), locks.size());
  for (const auto& lock : locks) EXPECT_TRUE(page.locks().contains(lock.path)) << lock.path;
}

}  // namespace
}  // namespace zklock::cli::testing
