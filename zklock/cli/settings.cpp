// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/settings.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/trim.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/text.h"
#include "zklock/cli/io/unique_fd.h"

namespace zklock::cli {

namespace {

/// A key of the configuration file.
struct SettingKey {
  std::string_view name;  ///< also that of the option
  const char* variable = nullptr;
};
constexpr std::array kKeys{SettingKey{"hosts", "ZKLOCK_HOSTS"},
                           SettingKey{"session-timeout", "ZKLOCK_SESSION_TIMEOUT"},
                           SettingKey{"digest-file", "ZKLOCK_DIGEST_FILE"},
                           SettingKey{"acl"},
                           SettingKey{"tls-ca"},
                           SettingKey{"tls-certificate"},
                           SettingKey{"tls-key"},
                           SettingKey{"application"}};

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

void read_line(const std::string& place, const std::string& line, SettingTexts& texts) {
  const std::string text = trimmed(std::string_view(line).substr(0, line.find('#')));
  if (text.empty()) return;
  const auto sign = text.find('=');
  if (sign == std::string::npos) refuse_setting(place + "expected a line \"key = value\"");
  const std::string key = trimmed(std::string_view(text).substr(0, sign));
  if (std::ranges::find(kKeys, key, &SettingKey::name) == kKeys.end()) {
    refuse_setting(place + "unknown key \"" + display_text(key) + '"');
  }
  texts[key] = trimmed(std::string_view(text).substr(sign + 1));
}

std::string default_file() {
  if (const std::string folder = variable("XDG_CONFIG_HOME"); !folder.empty()) {
    std::string file = folder + "/zklock.conf";
    if (::access(file.c_str(), F_OK) == 0) return file;
  }
  return "/etc/zklock.conf";
}

/// Returns the lines of the configuration file. A file that is not named may be missing.
SettingTexts read_file(const std::string& option) {
  const std::string named = option.empty() ? variable("ZKLOCK_CONFIG") : option;
  const std::string file = named.empty() ? default_file() : named;
  SettingTexts texts;
  std::ifstream input(file);
  if (!input && !named.empty()) {
    refuse_setting(display_text(file) + ": " + std::generic_category().message(errno));
  }
  std::string line;
  for (int number = 1; std::getline(input, line); ++number) {
    read_line(display_text(file) + ':' + std::to_string(number) + ": ", line, texts);
  }
  return texts;
}

/// Returns the first line of a secret file. The file must be a regular one of this user, with
/// permissions for the owner only. Or it belongs to root, and this user is another one: then its
/// group may read it, because systemd and Kubernetes pass such files.
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

DigestCredential read_digest(const std::string& file) {
  const std::string text = trimmed(read_secret(file));
  const auto colon = text.find(':');
  if (colon == 0 || colon == std::string::npos) {
    refuse_setting(display_text(file) + ": expected one line \"user:password\"");
  }
  return {text.substr(0, colon), text.substr(colon + 1)};
}

}  // namespace

Settings read_settings(Settings flags, SettingTexts options) {
  SettingTexts texts = std::move(options);
  const SettingTexts file = read_file(texts["config"]);
  for (const SettingKey& key : kKeys) {
    std::string& text = texts[std::string(key.name)];
    if (text.empty() && key.variable != nullptr) text = variable(key.variable);
    if (const auto line = file.find(std::string(key.name)); text.empty() && line != file.end()) {
      text = line->second;
    }
  }
  Settings settings = std::move(flags);
  ClientOptions& client = settings.client;
  client.hosts = texts["hosts"];
  if (client.hosts.empty()) {
    throw Failure(ExitCode::kUsage,
                  "no servers: use -z HOSTS, ZKLOCK_HOSTS or \"hosts\" in the configuration");
  }
  const std::string& timeout = texts["session-timeout"];
  if (!timeout.empty()) {
    settings.session_timeout = parse_duration(timeout);
    client.session_timeout =
        std::chrono::duration_cast<std::chrono::milliseconds>(*settings.session_timeout);
  }
  const std::string& digest = texts["digest-file"];
  if (!digest.empty()) client.digest = read_digest(digest);
  const std::string& acl = texts["acl"];
  if (!acl.empty() && acl != "open" && acl != "creator-all") {
    refuse_setting("acl is open or creator-all, not \"" + display_text(acl) + '"');
  }
  if (acl == "creator-all") client.acl = AclPolicy::creator_all();
  if (!texts["tls-ca"].empty()) {
    (void)read_secret(texts["tls-key"]);
    client.tls = TlsOptions{.ca_file = texts["tls-ca"],
                            .certificate_file = texts["tls-certificate"],
                            .key_file = texts["tls-key"],
                            .key_password = {}};
  }
  if (!texts["application"].empty()) client.application = texts["application"];
  return settings;
}

}  // namespace zklock::cli
