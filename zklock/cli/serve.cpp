// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <csignal>
#include <cstddef>
#include <functional>
#include <memory>
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
#include "zklock/cli/core/text.h"
#include "zklock/cli/io/http_server.h"
#include "zklock/cli/io/standard_streams.h"
#include "zklock/cli/live_site.h"
#include "zklock/cli/survey_pass.h"
#include "zklock/client.h"
#include "zklock/survey.h"

namespace zklock::cli {

namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

constexpr std::size_t kMostShownWaiting = 100;  ///< described waiting contenders of a lock
constexpr std::chrono::seconds kBeatInterval{2};
constexpr milliseconds kShortestInterval{100};
constexpr std::chrono::hours kLongestInterval{24};

struct ServeOptions {
  std::string root;
  std::string listen = "127.0.0.1:9465";
  std::vector<std::string> allowed_hosts;
  std::size_t rate = 1'000;
  Duration interval = std::chrono::seconds(2);
};

void check_host(const std::string& name) {
  if (name.find_first_of(":/*") == std::string::npos) return;
  refuse("--allow-host takes a name without a scheme and a port, not " + display_text(name));
}

Duration parse_interval(const std::string& text) {
  const Duration interval = parse_duration(text);
  if (interval >= kShortestInterval && interval <= kLongestInterval) return interval;
  refuse("--interval must be from 100ms to 1d");
}

/// Calls `beat` now and every two seconds.
class BeatTimer {
 public:
  BeatTimer(asio::io_context& io, std::function<void()> beat) : timer_(io), beat_(std::move(beat)) {
    run();
  }

 private:
  void run() {
    beat_();
    timer_.expires_after(kBeatInterval);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error) run();
    });
  }

  asio::steady_timer timer_;
  const std::function<void()> beat_;
};

void announce(const HttpServer& server) {
  const auto endpoint = server.endpoint();
  write_line("zklock: serve: " + url_of(endpoint));
  if (endpoint.address().is_loopback()) return;
  write_line(
      "zklock: serve: each host that reaches this address can read owners, hosts and notes; let a "
      "proxy check passwords and encrypt");
}

int serve(const Settings& settings, const ServeOptions& options) {
  const auto interval = std::chrono::duration_cast<milliseconds>(options.interval);
  const auto listen = parse_endpoint(options.listen);
  for (const std::string& name : options.allowed_hosts) check_host(name);
  Client client(client_options(settings));
  asio::io_context io(1);
  LiveSite site(options.root, interval, [&client] { return client.is_connected(); });
  const auto now = [] { return std::chrono::system_clock::now(); };
  HttpServer server(
      io, listen,
      [&](std::string_view path, std::string_view query) {
        return site.answer(path, query, now());
      },
      options.allowed_hosts);
  BeatTimer beats(io, [&] {
    site.on_beat(now());
    server.wake_streams();
  });
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&io](const boost::system::error_code&, int) { io.stop(); });
  SurveyOptions limits;
  limits.max_waiting = kMostShownWaiting;
  limits.requests_per_second = options.rate;
  SurveyThread passes(
      client, {options.root, limits, interval},
      [&](std::shared_ptr<const Snapshot> snapshot) {
        asio::post(io, [&, data = LiveSite::data_of(std::move(snapshot))] {
          site.on_data(data, now());
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
  declare_option(options, "--interval", "DUR", "Time from the begin of a pass to the next (2s)",
                 [given](const auto& text) { given->interval = parse_interval(text); });
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
