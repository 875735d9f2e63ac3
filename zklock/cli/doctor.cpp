// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "zklock/cli/command_support.h"
#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/findings.h"
#include "zklock/cli/core/json_text.h"
#include "zklock/cli/core/lock_facts.h"
#include "zklock/cli/core/server_facts.h"
#include "zklock/cli/core/text.h"
#include "zklock/cli/io/process_tree.h"
#include "zklock/cli/survey_pass.h"
#include "zklock/mutex.h"

namespace zklock::cli {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kServerLimit{2'000};
constexpr int kRoundTrips = 20;
constexpr const char* kNoPath = "/zklock-doctor";  ///< no znode: one round trip

struct DoctorOptions {
  std::string path;
  bool tries = false;
  Level fail_on = Level::warning;
};

/// Prints one line for each check, and keeps the worst level.
class Report {
 public:
  Report(bool is_json, Level fail_on) : is_json_(is_json), fail_on_(fail_on) {}

  void add(Level level, std::string_view check, const std::string& text) {
    worst_ = std::max(worst_, level);
    const std::string shown = display_text(text);
    std::string name(name_of(level));
    name.resize(6, ' ');
    print_line(is_json_ ? json::doctor(level, check, shown)
                        : name + std::string(check) + ": " + shown);
  }
  int exit_code() const noexcept { return exit_code_of(worst_, fail_on_); }

 private:
  const bool is_json_;
  const Level fail_on_;
  Level worst_ = Level::ok;
};

/// The answer of a server to a four-letter word.
struct ServerAnswer {
  std::string text;     ///< at most 16 KiB
  std::string problem;  ///< why there is no answer
  std::string address;  ///< with the port; empty without a connection
  std::chrono::milliseconds time{0};
};

/// Sends a word such as "srvr" to "host:port", and reads until the server closes. Blocks for
/// `limit` at most, after the resolution of the name.
ServerAnswer four_letter_word(const std::string& host, const std::string& port,
                              const std::string& word, std::chrono::milliseconds limit) {
  using boost::asio::ip::tcp;
  constexpr std::size_t kMostBytes = 16'384;
  boost::asio::io_context io(1);
  boost::system::error_code error;
  const auto addresses = tcp::resolver(io).resolve(host, port, error);
  if (error) return {.text = {}, .problem = error.message(), .address = {}};
  ServerAnswer answer;
  const auto begin = std::chrono::steady_clock::now();
  tcp::iostream server;
  server.expires_after(limit);  // for all steps
  for (const auto& each : addresses) {
    server.clear();
    server.connect(each.endpoint());
    if (!server) continue;
    answer.address = each.endpoint().address().to_string() + ":" + port;
    break;
  }
  answer.text.resize(kMostBytes);
  server << word << std::flush;
  server.read(answer.text.data(), static_cast<std::streamsize>(answer.text.size()));
  answer.text.resize(static_cast<std::size_t>(server.gcount()));
  if (answer.text.empty() && server.error() != boost::asio::error::eof) {
    answer.problem = server.error().message();
  }
  answer.time = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begin);
  return answer;
}

void check_servers(const std::string& hosts, Report& report) {
  std::set<std::string> leaders;  // by address: two names can be of one server
  std::size_t answers = 0;
  std::size_t unknown = 0;
  const auto servers = servers_of(hosts);
  for (const auto& [host, port] : servers) {
    const ServerAnswer answer = four_letter_word(host, port, "srvr", kServerLimit);
    const std::string name = host + ":" + port + ": ";
    if (!answer.problem.empty() || answer.text.empty()) {
      const bool is_silent = answer.problem.empty();
      report.add(Level::warning, "server", name + (is_silent ? "no answer" : answer.problem));
      continue;
    }
    ++answers;
    const ServerFacts facts = parse_server_facts(answer.text);
    if (facts.mode == "leader" || facts.mode == "standalone") leaders.insert(answer.address);
    unknown += facts.mode.empty() ? 1 : 0;
    const std::string mode = facts.mode.empty() ? "mode unknown" : facts.mode;
    if (!facts.version) {
      report.add(Level::notice, "server",
                 name + mode +
                     ", the version is unknown: srvr is not permitted (4lw.commands.whitelist), "
                     "or the server has no quorum");
      continue;
    }
    const VersionVerdict verdict = verdict_of(*facts.version);
    std::string text =
        name + mode + ", ZooKeeper " + to_string(*facts.version) + ", " + text_of(answer.time);
    if (!verdict.reason.empty()) text += "; " + std::string(verdict.reason);
    report.add(verdict.level, "server", text);
  }
  if (leaders.size() == 1) {
    report.add(Level::ok, "quorum",
               "one leader, " + std::to_string(answers) + " of " +
                   counted(servers.size(), "server answers", "servers answer"));
  } else if (leaders.size() > 1) {
    report.add(Level::failure, "quorum",
               std::to_string(leaders.size()) +
                   " leaders: several ensembles, or one server with several addresses");
  } else {
    // A name can have several addresses, so the leader may be one that was not tried.
    report.add(unknown > 0 || answers > 0 ? Level::warning : Level::failure, "quorum",
               "no leader among the servers that answer");
  }
}

Snapshot read_one(Client& client, const std::string& path) {
  return read_snapshot(client, path, {.max_depth = 0, .requests_per_second = 0});
}

/// Returns whether there is a session.
bool check_session(Client& client, const Settings& settings, Report& report) {
  try {
    (void)read_one(client, kNoPath);
  } catch (const Error& error) {  // it has the cause
    report.add(Level::failure, "session", text_of(error));
    return false;
  }
  const milliseconds granted = client.session_timeout();
  const bool is_shorter = settings.session_timeout && granted < *settings.session_timeout;
  report.add(is_shorter ? Level::warning : Level::ok, "session",
             "the servers grant a timeout of " + text_of(granted) +
                 (is_shorter ? ", less than " + text_of(*settings.session_timeout) : ""));
  return true;
}

void check_round_trip(Client& client, Report& report) {
  const auto timeout = Duration(client.session_timeout());
  Duration longest{};
  for (int i = 0; i < kRoundTrips; ++i) {
    const auto begin = LeaseClock::now();
    (void)read_one(client, kNoPath);
    longest = std::max<Duration>(longest, LeaseClock::now() - begin);
  }
  const Level level = longest > timeout / 24    ? Level::failure
                      : longest > timeout / 240 ? Level::warning
                                                : Level::ok;
  const std::string limit =
      level == Level::ok ? ""
      : level == Level::warning
          ? ", more than 1/240 of the session timeout: little reserve for delays"
          : ", more than 1/24 of the session timeout: leases can run low";
  report.add(level, "round trip", "longest " + text_of(longest) + limit);
}

void check_host(Report& report) {
  try {
    check_process_tree();
    report.add(Level::ok, "host", "`zklock run` can find all descendants of its command");
  } catch (const Failure& failure) {  // as of `zklock run`
    report.add(Level::failure, "host", failure.what());
  }
}

/// Checks what follows the servers in HOSTS. Without it, no lock can be acquired.
void check_chroot(Client& client, const Settings& settings, Report& report) {
  const auto slash = settings.client.hosts.find('/');
  if (slash == std::string::npos || slash + 1 == settings.client.hosts.size()) return;
  const std::string chroot = settings.client.hosts.substr(slash);
  if (read_one(client, "/").has_root()) {
    report.add(Level::ok, "chroot", chroot + " exists");
  } else if (settings.client.create_chroot) {
    report.add(Level::notice, "chroot", chroot + " does not exist; the first lock creates it");
  } else {
    report.add(Level::failure, "chroot",
               chroot + " does not exist; create it, or use --create-chroot");
  }
}

void check_clock(const SurveyedLock& lock, Report& report) {
  WallTime newest;
  for (const auto* const list : {&lock.state.holders, &lock.waiters}) {
    for (const Participant& each : *list) newest = std::max(newest, each.since);
  }
  // Not an overflow: both are after 1970.
  const auto ahead = newest - std::chrono::system_clock::now();
  if (ahead <= std::chrono::seconds(1)) return;
  report.add(Level::warning, "clock",
             "this clock is behind the leader's by " + text_of(Duration(ahead)) +
                 " or more: ages are too short");
}

void check_path(Client& client, const std::string& path, Report& report) {
  const Snapshot snapshot = read_one(client, path);
  if (!snapshot.unreadable.empty()) {
    report.add(Level::failure, "path", path + ": no READ permission");
    return;
  }
  if (snapshot.locks.empty()) {
    report.add(Level::ok, "path", path + ": free");
    return;
  }
  const SurveyedLock& lock = snapshot.locks.front();
  const bool is_held = !lock.state.holders.empty();
  report.add(Level::ok, "path",
             path + ": " +
                 (is_held                 ? "held by " + text_of(lock.state.holders.front())
                  : lock.state.lock_delay ? delay_text(*lock.state.lock_delay)
                                          : "not held") +
                 ", " + std::to_string(lock.state.waiting) + " waiting");
  check_clock(lock, report);
  for (const Finding& each : findings(snapshot, {}, std::chrono::system_clock::now())) {
    report.add(each.level, each.kind, each.text);
  }
}

/// Contends once, without waiting for other contenders.
void try_path(Client& client, const std::string& path, Report& report) {
  Mutex mutex(client, path);
  AcquireOptions attempt;
  attempt.deadline = Deadline::passed();
  attempt.note = "doctor";
  const bool is_acquired = static_cast<bool>(mutex.acquire(attempt));
  (void)client.flush(std::chrono::seconds(5));
  report.add(Level::ok, "try", is_acquired ? "acquired and released" : "another contender holds");
}

int doctor(const Settings& settings, const DoctorOptions& options) {
  Report report(settings.json, options.fail_on);
  report.add(Level::ok, "settings", "hosts " + settings.client.hosts);
  if (settings.client.tls) {
    report.add(Level::notice, "server", "not checked, as srvr has no TLS");
  } else {
    check_servers(settings.client.hosts, report);
  }
  check_host(report);
  const auto client = view_client(settings);
  try {
    if (!check_session(*client, settings, report)) return report.exit_code();
    check_chroot(*client, settings, report);
    check_round_trip(*client, report);
    if (!options.path.empty()) check_path(*client, options.path, report);
    if (!options.path.empty() && options.tries) try_path(*client, options.path, report);
  } catch (const Error& error) {
    report.add(Level::failure, "path", text_of(error));
  }
  return report.exit_code();
}

}  // namespace

Action declare_doctor(CLI::App& options) {
  const auto given = std::make_shared<DoctorOptions>();
  auto* const path = options.add_option("PATH", given->path, "A lock to check")->type_name("");
  declare_fail_on(options, given->fail_on);
  options.add_flag("--try", given->tries, "Contend for PATH once")->needs(path);
  return {&given->path,
          [given](const Invocation& invocation) { return doctor(invocation.settings, *given); }};
}

}  // namespace zklock::cli
