// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/servers/zookeeper_server.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "zklock/testing/servers/four_letter_word.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::testing {
namespace {

using std::chrono::milliseconds;

// The timeout of one four-letter word. A server that is starting does not answer all of them.
constexpr milliseconds kLongestQuery{1000};
// How often a healthy server is queried before it counts as down.
constexpr int kQueries = 20;

constexpr const char* kDefaultClassPath =
    "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar";
// kSuperDigest in the form of the server: user:base64(sha1("user:password")).
constexpr const char* kSuperDigestFlag =
    "-Dzookeeper.DigestAuthenticationProvider.superDigest=super:GTvXID4KgrBNvIYRGOvRjN2lsFw=";

std::string java() {
  const char* home = std::getenv("JAVA_HOME");
  return home != nullptr && *home != '\0' ? std::string(home) + "/bin/java" : "java";
}

// Returns the mode in the answer to "srvr", or nullopt if the server does not serve.
std::optional<std::string> mode_of(const std::string& answer) {
  constexpr std::string_view kKey = "\nMode: ";
  const auto key = answer.find(kKey);
  if (key == std::string::npos) return std::nullopt;
  const auto value = key + kKey.size();
  return answer.substr(value, answer.find('\n', value) - value);
}

}  // namespace

ZooKeeperServer::ZooKeeperServer(ZooKeeperOptions options)
    : options_(std::move(options)), ports_(1) {
  std::filesystem::create_directory(directory() / "data");
  write_config();
}

void ZooKeeperServer::write_config() const {
  const auto data = directory() / "data";
  if (options_.my_id != 0) std::ofstream(data / "myid") << options_.my_id << '\n';
  std::ofstream config(directory() / "zoo.cfg");
  config << "tickTime=" << options_.tick_time.count() << '\n'
         << "minSessionTimeout=" << options_.min_session_timeout.count() << '\n'
         << "maxSessionTimeout=" << options_.max_session_timeout.count() << '\n'
         << "dataDir=" << data.string() << '\n'
         << "clientPort=" << port() << '\n'
         << "clientPortAddress=127.0.0.1\n"
         << "admin.enableServer=false\n"
         << "4lw.commands.whitelist=*\n"
         << "maxClientCnxns=0\n";
  for (const std::string& line : options_.extra_config) config << line << '\n';
  config.flush();
  if (!config) throw std::runtime_error("cannot write " + (directory() / "zoo.cfg").string());
}

std::vector<std::string> ZooKeeperServer::command_line() const {
  std::string class_path;
  for (const std::string& jar : options_.extra_class_path) class_path += jar + ":";
  class_path += kDefaultClassPath;
  // UsePerfData leaves a file under /tmp when the process is killed. Without forceSync the server
  // does not wait for a disk that may be busy for seconds. The writes of a killed process are not
  // lost, as the kernel has them.
  std::vector<std::string> command = {java(),
                                      "-Xms32m",
                                      "-Xmx128m",
                                      "-XX:+UseSerialGC",
                                      "-XX:-UsePerfData",
                                      "-XX:TieredStopAtLevel=1",
                                      "-Dzookeeper.forceSync=no",
                                      kSuperDigestFlag,
                                      "-Dzookeeper.jmx.log4j.disable=true"};
  command.insert(command.end(), options_.extra_jvm_flags.begin(), options_.extra_jvm_flags.end());
  command.insert(command.end(),
                 {"-cp", class_path, "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                  (directory() / "zoo.cfg").string()});
  return command;
}

void ZooKeeperServer::start() {
  if (running()) return;
  ChildOptions child;
  child.argv = command_line();
  child.working_dir = directory();
  child.log_file = directory() / "server.log";
  process_ = std::make_unique<ChildProcess>(child);
}

void ZooKeeperServer::stop() {
  if (!process_) return;
  process_->terminate();
  process_->resume();  // a paused process would not receive the signal
  if (!process_->wait(std::chrono::seconds(10))) process_->kill();
}

void ZooKeeperServer::restart() {
  stop();
  start();
}

void ZooKeeperServer::kill_hard() {
  if (process_) process_->kill();
}

void ZooKeeperServer::erase_data() const {
  std::filesystem::remove_all(directory() / "data" / "version-2");
}

void ZooKeeperServer::pause() {
  if (process_) process_->pause();
}

void ZooKeeperServer::resume() {
  if (process_) process_->resume();
}

bool ZooKeeperServer::running() const {
  return process_ && process_->running();
}

bool ZooKeeperServer::paused() const {
  return process_ && process_->paused();
}

bool ZooKeeperServer::wait_until_serving(milliseconds timeout) const {
  // A paused server does not answer: one query must not use up the whole timeout.
  const auto query_timeout = std::clamp(timeout, milliseconds(20), kLongestQuery);
  bool up = false;
  (void)eventually(
      [&] {
        const auto answer = four_letter_word("srvr", query_timeout);
        up = answer && mode_of(*answer);
        return up || !running();
      },
      timeout, milliseconds(10));
  return up;
}

bool ZooKeeperServer::serving() const {
  return mode().has_value();
}

std::optional<std::string> ZooKeeperServer::mode() const {
  for (int queries = 0; queries < kQueries && running(); ++queries) {
    if (const auto answer = four_letter_word("srvr", kLongestQuery)) return mode_of(*answer);
  }
  return std::nullopt;
}

std::optional<std::string> ZooKeeperServer::four_letter_word(std::string_view word,
                                                             milliseconds timeout) const {
  return testing::four_letter_word(port(), word, timeout);
}

std::string ZooKeeperServer::log() const {
  constexpr std::streamoff kTail = 8192;
  std::ifstream file(directory() / "server.log", std::ios::binary | std::ios::ate);
  if (!file) return {};
  file.seekg(std::max<std::streamoff>(0, static_cast<std::streamoff>(file.tellg()) - kTail));
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace zklock::testing
