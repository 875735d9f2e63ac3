// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "zklock/cli/core/duration.h"
#include "zklock/client_options.h"

namespace zklock::cli {

/// The options that precede the command's name, as the user wrote them. An empty text is unset.
struct GlobalOptions {
  std::string hosts;
  std::string config;
  std::string digest_file;
  std::string session_timeout;
  bool create_chroot = false;
  bool json = false;
  bool quiet = false;
  bool verbose = false;
};

/// How to reach the servers. Each value comes from the command line, else from a variable, else
/// from the configuration file.
struct Settings {
  std::string hosts;
  std::optional<Duration> session_timeout;
  std::optional<DigestCredential> digest;
  std::optional<TlsOptions> tls;
  bool acl_is_creator_all = false;
  std::string application;  ///< empty: that of the command
  bool create_chroot = false;
  bool json = false;
  bool quiet = false;
  bool verbose = false;
};

/// Reads the variables ZKLOCK_HOSTS, ZKLOCK_CONFIG, ZKLOCK_DIGEST_FILE and ZKLOCK_SESSION_TIMEOUT,
/// and the configuration file. That file is `config`, else $XDG_CONFIG_HOME/zklock.conf, else
/// /etc/zklock.conf. It has lines "key = value", and comments after '#'. Its keys are hosts,
/// session-timeout, digest-file, acl, tls-ca, tls-certificate, tls-key and application.
/// Throws: Failure with ExitCode::kUsage if there are no hosts, else kConfiguration.
[[nodiscard]] Settings read_settings(const GlobalOptions& options);

/// Returns the options of a client. `application` applies if the settings have none.
[[nodiscard]] ClientOptions client_options(const Settings& settings,
                                           const std::string& application);

/// Returns the first line of a secret file. The file must be a regular one of this user, with
/// permissions for the owner only. Or it belongs to root, and this user is another one: then its
/// group may read it, because systemd and Kubernetes pass such files.
/// Throws: Failure with ExitCode::kConfiguration.
[[nodiscard]] std::string read_secret(const std::string& file);

}  // namespace zklock::cli
