// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/live_site.h"
#include "zklock/version.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>

#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/json_text.h"
#include "zklock/cli/core/lock_search.h"
#include "zklock/metrics.h"

namespace zklock::cli {

namespace {

/// Returns 128 random bits as hexadecimal digits.
std::string random_text() {
  std::random_device source;
  std::string text;
  for (int i = 0; i < 4; ++i) {
    std::array<char, 8> digits{};
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), std::uint32_t{source()}, 16);
    text.append(8 - static_cast<std::size_t>(end.ptr - digits.data()), '0');
    text.append(digits.data(), end.ptr);
  }
  return text;
}

std::string replaced(std::string_view text, std::string_view mark, std::string_view by) {
  std::string result;
  for (;;) {
    const auto at = text.find(mark);
    result += text.substr(0, at);
    if (at == std::string_view::npos) return result;
    result += by;
    text.remove_prefix(at + mark.size());
  }
}

}  // namespace

LiveSite::LiveSite(std::string root, std::chrono::milliseconds interval,
                   std::function<bool()> is_connected)
    : interval_(interval),
      is_connected_(std::move(is_connected)),
      feed_(std::move(root), ZKLOCK_VERSION_STRING) {}

HttpAnswer LiveSite::answer(std::string_view path, std::string_view query, WallTime now) {
  if (path == "/") return page();
  if (path == "/events") {
    const auto stream = std::make_shared<LiveFeed::Stream>(feed_);
    return {.content_type = "text/event-stream", .events = [stream] { return stream->next(); }};
  }
  if (path == "/api/locks") return locks(query);
  if (path == "/metrics") {
    return {.content_type = std::string(kMetricsContentType),
            .body = shared(
                observed_metrics(data_.snapshot.get(), metric_paths_, is_connected_(), now))};
  }
  if (path == "/healthz") return health(now);
  return {.status = 404, .body = shared("no such page\n")};
}

HttpAnswer LiveSite::page() const {
  const std::string nonce = random_text();
  const std::string from_nonce = "'nonce-" + nonce + "'; ";
  return {.content_type = "text/html; charset=utf-8",
          .body = shared(replaced(kPage, "@NONCE@", nonce)),
          .content_security_policy = "default-src 'none'; script-src " + from_nonce + "style-src " +
                                     from_nonce +
                                     "connect-src 'self'; img-src data:; base-uri 'none'; "
                                     "form-action 'none'; frame-ancestors 'none'"};
}

HttpAnswer LiveSite::locks(std::string_view query) const {
  LockQuery parsed;
  try {
    parsed = parse_lock_query(query);
  } catch (const Failure& failure) {
    return {.status = 400, .body = shared(std::string(failure.what()) + "\n")};
  }
  if (!data_.snapshot) return {.status = 503, .body = shared("the first pass has not ended\n")};
  if (query.empty()) return {.content_type = "application/json", .body = data_.locks};
  const Snapshot& snapshot = *data_.snapshot;
  const FoundLocks found = find_locks(snapshot, data_.marks, parsed, kMostFound, snapshot.as_of);
  return {.content_type = "application/json",
          .body = shared(json::found_locks(snapshot, data_.marks, found) + "\n")};
}

HttpAnswer LiveSite::health(WallTime now) const {
  const auto fail = [](const std::string& text) {
    return HttpAnswer{.status = 503, .body = shared(text + "\n")};
  };
  if (!is_connected_()) return fail("no connection to ZooKeeper");
  if (!error_.empty()) return fail("the last pass failed: " + error_);
  if (!data_.snapshot) return fail("the first pass has not ended");
  const auto data_age = age(data_.snapshot->as_of, now);
  if (data_age > 3 * (interval_ + data_.snapshot->duration)) {
    return fail("the last pass began " + text_of(data_age) + " ago");
  }
  return {.body = shared("ok\n")};
}

LiveSite::Data LiveSite::data_of(std::shared_ptr<const Snapshot> snapshot) {
  Data data;
  data.marks = cycle_marks(snapshot->cycles);
  data.texts = LiveFeed::texts_of(*snapshot, data.marks);
  data.locks = shared(json::locks(*snapshot, data.marks) + "\n");
  data.snapshot = std::move(snapshot);
  return data;
}

void LiveSite::on_data(Data data, WallTime now) {
  data_ = std::move(data);
  metric_paths_ = metric_paths(*data_.snapshot, metric_paths_);
  error_.clear();
  feed_.on_snapshot(data_.texts);
  on_beat(now);
}

void LiveSite::on_error(std::string error) {
  error_ = std::move(error);
}

void LiveSite::on_beat(WallTime now) {
  json::Beat beat;
  beat.now = now;
  beat.interval = interval_;
  beat.connected = is_connected_();
  beat.error = error_;
  feed_.on_beat(std::move(beat));
}

}  // namespace zklock::cli
