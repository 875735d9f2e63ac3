// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/settings.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string_view>
#include <system_error>

#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/trim.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zklock/cli/command_text.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/text.h"
#include "zklock/cli/io/standard_streams.h"
#include "zklock/cli/io/unique_fd.h"

namespace zklock::cli {

namespace {

constexpr std::array kKeys{"hosts",  "session-timeout", "digest-file", "acl",
                           "tls-ca", "tls-certificate", "tls-key",     "application"};

[[noreturn]] void refuse_setting(const std::string& text) {
  throw Failure(ExitCode::kConfiguration, text);
}

std::string trimmed(std::string_view text) {
  return boost::trim_copy_if(std::string(text), boost::is_any_of(" \t\r"));
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// The keys and values of the configuration file.
class Configuration {
 public:
  explicit Configuration(const std::string& named) {
    std::string file = !named.empty() ? named : variable("ZKLOCK_CONFIG");
    const bool must_exist = !file.empty();
    if (!must_exist) file = default_file();
    std::ifstream input(file);
    if (!input) {
      if (must_exist)
        refuse_setting(display_text(file) + ": " + std::generic_category().message(errno));
      return;
    }
    std::string line;
    for (int number = 1; std::getline(input, line); ++number) {
      read_line(display_text(file) + ':' + std::to_string(number) + ": ", line);
    }
  }

  /// Returns the flag if it is set, else the variable, else the value of the key, else "".
  std::string value(const std::string& flag, const char* variable_name, const char* key) const {
    if (!flag.empty()) return flag;
    if (std::string value = variable(variable_name); !value.empty()) return value;
    return value_of(key);
  }
  std::string value_of(const char* key) const {
    const auto found = values_.find(key);
    return found != values_.end() ? found->second : std::string();
  }

 private:
  static std::string default_file() {
    if (const std::string folder = variable("XDG_CONFIG_HOME"); !folder.empty()) {
      std::string file = folder + "/zklock.conf";
      if (::access(file.c_str(), F_OK) == 0) return file;
    }
    return "/etc/zklock.conf";
  }

  void read_line(const std::string& place, const std::string& line) {
    const std::string text = trimmed(std::string_view(line).substr(0, line.find('#')));
    if (text.empty()) return;
    const auto sign = text.find('=');
    if (sign == std::string::npos) refuse_setting(place + "expected a line \"key = value\"");
    const std::string key = trimmed(std::string_view(text).substr(0, sign));
    if (std::ranges::find(kKeys, std::string_view(key)) == kKeys.end()) {
      refuse_setting(place + "unknown key \"" + display_text(key) + '"');
    }
    values_[key] = trimmed(std::string_view(text).substr(sign + 1));
  }

  std::map<std::string, std::string> values_;
};

DigestCredential read_digest(const std::string& file) {
  const std::string text = trimmed(read_secret(file));
  const auto colon = text.find(':');
  if (colon == 0 || colon == std::string::npos) {
    refuse_setting(display_text(file) + ": expected one line \"user:password\"");
  }
  return {text.substr(0, colon), text.substr(colon + 1)};
}

/// Prints the log of the library. The lines of the ZooKeeper C client are for programmers, so they
/// need -v: the texts of errors name the cause, too.
void set_log(ClientOptions& options, bool quiet, bool verbose) {
  options.log_level = quiet ? LogLevel::error : verbose ? LogLevel::info : LogLevel::warning;
  options.log_sink = [verbose](LogLevel, std::string_view line) {
    if (!verbose && line.starts_with("zookeeper client: ")) return;
    write_line((line.starts_with("zklock: ") ? "" : "zklock: ") +
               without_api_names(std::string(line)));
  };
}

}  // namespace

Settings read_settings(const GlobalOptions& options) {
  const Configuration file(options.config);
  Settings settings;
  settings.create_chroot = options.create_chroot;
  settings.json = options.json;
  settings.quiet = options.quiet;
  settings.verbose = options.verbose;
  settings.hosts = file.value(options.hosts, "ZKLOCK_HOSTS", "hosts");
  if (settings.hosts.empty()) {
    throw Failure(ExitCode::kUsage,
                  "no servers: use -z HOSTS, ZKLOCK_HOSTS or \"hosts\" in the configuration");
  }
  const std::string timeout =
      file.value(options.session_timeout, "ZKLOCK_SESSION_TIMEOUT", "session-timeout");
  if (!timeout.empty()) settings.session_timeout = parse_duration(timeout);
  const std::string digest = file.value(options.digest_file, "ZKLOCK_DIGEST_FILE", "digest-file");
  if (!digest.empty()) settings.digest = read_digest(digest);
  const std::string acl = file.value_of("acl");
  if (!acl.empty() && acl != "open" && acl != "creator-all") {
    refuse_setting("acl is open or creator-all, not \"" + display_text(acl) + '"');
  }
  settings.acl_is_creator_all = acl == "creator-all";
  const std::string authority = file.value_of("tls-ca");
  if (!authority.empty()) {
    const std::string key = file.value_of("tls-key");
    (void)read_secret(key);
    settings.tls = TlsOptions{.ca_file = authority,
                              .certificate_file = file.value_of("tls-certificate"),
                              .key_file = key,
                              .key_password = {}};
  }
  settings.application = file.value_of("application");
  return settings;
}

ClientOptions client_options(const Settings& settings, const std::string& application) {
  ClientOptions options;
  options.hosts = settings.hosts;
  options.create_chroot = settings.create_chroot;
  options.digest = settings.digest;
  options.tls = settings.tls;
  if (settings.acl_is_creator_all) options.acl = AclPolicy::creator_all();
  options.application = settings.application.empty() ? application : settings.application;
  if (settings.session_timeout) {
    options.session_timeout =
        std::chrono::duration_cast<std::chrono::milliseconds>(*settings.session_timeout);
  }
  set_log(options, settings.quiet, settings.verbose);
  return options;
}

std::string read_secret(const std::string& file) {
  const std::string name = display_text(file) + ": ";
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat status {};
  if (fd.get() < 0 || ::fstat(fd.get(), &status) != 0) {
    refuse_setting(name + std::generic_category().message(errno));
  }
  if (!S_ISREG(status.st_mode)) refuse_setting(name + "it is no regular file");
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    refuse_setting(name + "it belongs to another user");
  }
  const bool is_passed_by_root = status.st_uid == 0 && ::geteuid() != 0;
  if ((status.st_mode & (is_passed_by_root ? 037U : 077U)) != 0) {
    refuse_setting(name + "others can read it; chmod " + (is_passed_by_root ? "440" : "600") +
                   " it");
  }
  std::array<char, 4096> buffer{};
  const ssize_t length = ::read(fd.get(), buffer.data(), buffer.size());
  if (length < 0) refuse_setting(name + std::generic_category().message(errno));
  const std::string_view text(buffer.data(), static_cast<std::size_t>(length));
  return std::string(text.substr(0, std::min(text.find('\n'), text.size())));
}

}  // namespace zklock::cli
