// SPDX-License-Identifier: Apache-2.0
#include "zklock/version.h"

#include <chrono>
#include <csignal>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>

#include "zklock/cli/command_support.h"
#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/json_text.h"
#include "zklock/cli/core/lock_history.h"
#include "zklock/cli/core/lock_query.h"
#include "zklock/cli/core/observed_metrics.h"
#include "zklock/cli/core/page_events.h"
#include "zklock/cli/core/snapshot.h"
#include "zklock/cli/core/text.h"
#include "zklock/cli/io/http_server.h"
#include "zklock/cli/io/standard_streams.h"
#include "zklock/cli/survey_pass.h"
#include "zklock/cli/survey_thread.h"
#include "zklock/client.h"
#include "zklock/metrics.h"
#include "zklock/survey.h"

namespace zklock::cli {

// The files of the folder `page`, from embed.cmake. The script is page.js with its parts.
extern const std::string_view kPage, kScript, kStyle;

namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

constexpr const char* kNoPass = "the first pass has not ended";
constexpr std::chrono::seconds kBeatInterval{2};

struct ServeOptions {
  std::string root;
  std::string listen = "127.0.0.1:9465";
  std::vector<std::string> allowed_hosts;
  std::size_t rate = 1'000;
  Duration interval = std::chrono::seconds(2);
  Duration held_over = std::chrono::minutes(10);
  Duration waited_over = std::chrono::minutes(1);
  HistoryBounds history = {};
};

/// The answers of `serve`, from the newest snapshot.
///
/// | path         | answer                                                                      |
/// |--------------|-----------------------------------------------------------------------------|
/// | /            | the page. Its policy permits only the next two as script and style          |
/// | /page.js     | its script                                                                  |
/// | /page.css    | its style                                                                   |
/// | /events      | PageEvents                                                                    |
/// | /api/locks   | JSON, zklock.locks/1; with a query zklock.found/1                           |
/// | /api/history | JSON, zklock.history/1                                                      |
/// | /metrics     | observed_metrics()                                                          |
/// | /healthz     | 200, or 503 if there is no connection or no recent pass                     |
/// | any other    | 404                                                                         |
///
/// Both APIs answer 400 if the query is malformed, and 503 before the end of the first pass.
/// /api/history answers 404 for a path that no pass covers.
/// Thread-safety: one thread, that of the HTTP server, except texts_of().
class LiveSite {
 public:
  LiveSite(const ServeOptions& options, std::function<bool()> is_connected)
      : root_(options.root),
        interval_(std::chrono::duration_cast<milliseconds>(options.interval)),
        is_connected_(std::move(is_connected)),
        feed_(options.root, ZKLOCK_VERSION_STRING),
        history_(options.history) {
    beat_.interval = interval_;
    beat_.held_over = std::chrono::duration_cast<milliseconds>(options.held_over);
    beat_.waited_over = std::chrono::duration_cast<milliseconds>(options.waited_over);
  }

  LiveSite(const LiveSite&) = delete;
  LiveSite& operator=(const LiveSite&) = delete;

  HttpAnswer answer(std::string_view path, std::string_view query, WallTime now) {
    if (path == "/") return page();
    if (path == "/page.js") return part("text/javascript", kScript);
    if (path == "/page.css") return part("text/css", kStyle);
    if (path == "/events") {
      const auto stream = std::make_shared<PageEvents::Stream>(feed_);
      return {.content_type = "text/event-stream", .events = [stream] { return stream->next(); }};
    }
    if (path == "/api/locks" || path == "/api/history") {
      try {
        return path == "/api/locks" ? locks(parse_lock_query(query), query.empty())
                                    : history(parse_history_query(query));
      } catch (const Failure& failure) {
        return text_answer(400, failure.what());
      }
    }
    if (path == "/metrics") {
      return {
          .content_type = std::string(kMetricsContentType),
          .body = shared(observed_metrics(snapshot_.get(), metric_paths_, is_connected_(), now))};
    }
    if (path == "/healthz") return health(now);
    return text_answer(404, "no such page");
  }

  /// Adds a snapshot to the history, and returns its texts. The thread that made the snapshot calls
  /// it, because that takes long.
  PageEvents::TextsPtr texts_of(const Snapshot& snapshot) {
    {
      const std::lock_guard guard(history_mutex_);
      history_.on_snapshot(snapshot, snapshot.late_after(interval_));
    }
    return PageEvents::texts_of(snapshot, history_);  // no other thread changes the history
  }

  /// `texts`: of this snapshot. Begins a beat, so that the sums of the page fit its locks.
  void on_snapshot(std::shared_ptr<const Snapshot> snapshot, PageEvents::TextsPtr texts,
                   WallTime now) {
    snapshot_ = std::move(snapshot);
    all_locks_.reset();
    metric_paths_ = metric_paths(*snapshot_, metric_paths_);
    beat_.error.clear();
    feed_.on_snapshot(std::move(texts));
    on_beat(now);
  }

  /// The last pass failed.
  void on_error(std::string error) { beat_.error = std::move(error); }

  /// Begins a beat of the event streams.
  void on_beat(WallTime now) {
    beat_.now = now;
    beat_.connected = is_connected_();
    feed_.on_beat(beat_);
  }

 private:
  static HttpAnswer part(const std::string& type, std::string_view text) {
    return {.content_type = type + "; charset=utf-8", .body = shared(std::string(text))};
  }

  static HttpAnswer page() {
    HttpAnswer answer = part("text/html", kPage);
    answer.content_security_policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    return answer;
  }

  HttpAnswer locks(const LockQuery& query, bool is_all) {
    if (!snapshot_) return text_answer(503, kNoPass);
    const Snapshot& snapshot = *snapshot_;
    if (is_all) {
      if (!all_locks_) all_locks_ = shared(json::locks(snapshot) + "\n");
      return json_answer(all_locks_);
    }
    const FoundLocks found = find_locks(snapshot, query, kMostFound, snapshot.as_of);
    return json_answer(shared(json::found_locks(snapshot, found) + "\n"));
  }

  HttpAnswer history(const std::string& path) {
    if (!is_below(root_, path)) return text_answer(404, "not below the root of this page");
    if (!snapshot_) return text_answer(503, kNoPass);
    const std::lock_guard guard(history_mutex_);
    return json_answer(shared(json::history(root_, path, history_) + "\n"));
  }

  static HttpAnswer json_answer(SharedText body) {
    return {.content_type = "application/json", .body = std::move(body)};
  }

  HttpAnswer health(WallTime now) const {
    if (!is_connected_()) return text_answer(503, "no connection to ZooKeeper");
    if (!beat_.error.empty()) return text_answer(503, "the last pass failed: " + beat_.error);
    if (!snapshot_) return text_answer(503, kNoPass);
    const auto data_age = age(snapshot_->as_of, now);
    if (data_age > snapshot_->late_after(interval_)) {
      return text_answer(503, "the last pass began " + text_of(data_age) + " ago");
    }
    return text_answer(200, "ok");
  }

  const std::string root_;
  const milliseconds interval_;
  const std::function<bool()> is_connected_;
  PageEvents feed_;
  MetricPaths metric_paths_;
  std::shared_ptr<const Snapshot> snapshot_;  ///< of the last pass; null before its end
  SharedText all_locks_;                      ///< /api/locks for it; null: not requested yet
  json::Beat beat_;                           ///< with the error of the last pass
  std::mutex history_mutex_;                  ///< guards changes of history_, and answers
  LockHistory history_;
};

void check_host(const std::string& name) {
  if (name.find_first_of(":/*") == std::string::npos) return;
  refuse("--allow-host takes a name without a scheme and a port, not " + display_text(name));
}

void announce(const HttpServer& server) {
  const auto endpoint = server.endpoint();
  write_line("zklock: serve: " + url_of(endpoint));
  if (endpoint.address().is_loopback()) return;
  write_line(
      "zklock: serve: each host that reaches this address can read owners, hosts and notes; let a "
      "proxy check passwords and encrypt");
}

int serve(const Settings& settings, const ServeOptions& options) {
  const auto listen = parse_endpoint(options.listen);
  for (const std::string& name : options.allowed_hosts) check_host(name);
  Client client(client_options(settings));
  asio::io_context io(1);
  LiveSite site(options, [&client] { return client.is_connected(); });
  const auto now = [] { return std::chrono::system_clock::now(); };
  HttpServer server(
      io, listen,
      [&](std::string_view path, std::string_view query) {
        return site.answer(path, query, now());
      },
      options.allowed_hosts);
  asio::steady_timer timer(io);
  const std::function<void()> beat = [&] {
    site.on_beat(now());
    server.wake_streams();
    timer.expires_after(kBeatInterval);
    timer.async_wait([&](const boost::system::error_code& error) {
      if (!error) beat();
    });
  };
  beat();
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&io](const boost::system::error_code&, int) { io.stop(); });
  const SurveyOptions limits{.max_waiting = kMostShownWaiting, .requests_per_second = options.rate};
  SurveyThread passes(
      client, {options.root, limits, options.interval},
      [&](std::shared_ptr<const Snapshot> snapshot) {
        asio::post(io, [&, snapshot, texts = site.texts_of(*snapshot)] {
          site.on_snapshot(snapshot, texts, now());
          server.wake_streams();
        });
      },
      [&](std::string error) {
        asio::post(io, [&site, error = std::move(error)] { site.on_error(error); });
      });
  announce(server);
  io.run();
  return 0;
}

}  // namespace

Action declare_serve(CLI::App& options) {
  const auto given = std::make_shared<ServeOptions>();
  options.add_option("ROOT", given->root, "Path whose locks are shown")->required();
  options
      .add_option("--listen", given->listen,
                  "Address to serve at, also [::1]:9465 (127.0.0.1:9465)")
      ->type_name("ADDR");
  options
      .add_option("--allow-host", given->allowed_hosts,
                  "Accept requests for this name, too (Host field)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  options.add_option("--rate", given->rate, "Maximum of requests to ZooKeeper a second (1000)")
      ->check(CLI::Range(1, 1'000'000));
  declare_duration(options, "--held-over", "Age from which the page marks a hold as long (10m)",
                   given->held_over, std::chrono::seconds(1));
  declare_duration(options, "--waited-over", "Age from which the page marks a wait as long (1m)",
                   given->waited_over, std::chrono::seconds(1));
  options
      .add_option(
          "--history", given->history.spans,
          "Holds to remember, of all locks; at most 50 of each. Each needs 500 bytes (20000)")
      ->check(CLI::Range(0, 1'000'000));
  declare_duration(options, "--interval", "Time from the begin of a pass to the next (2s)",
                   given->interval, milliseconds(100), std::chrono::hours(24));
  return {&given->root, [given](const Invocation& invocation) {
            try {
              return serve(invocation.settings, *given);
            } catch (const boost::system::system_error& error) {
              throw Failure(ExitCode::kSystem,
                            display_text(given->listen) + ": " + error.code().message());
            }
          }};
}

}  // namespace zklock::cli
