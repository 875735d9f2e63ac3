// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "zklock/cli/core/duration.h"
#include "zklock/client_options.h"

namespace zklock::cli {

/// How to reach the servers, and what to print.
struct Settings {
  ClientOptions client;
  std::optional<Duration> session_timeout;  ///< set if the user chose one
  bool json = false;
  bool quiet = false;
  bool verbose = false;
};

/// The values of options, by their long names. An empty value is unset.
using SettingTexts = std::map<std::string, std::string>;

/// Returns `flags`, with all other settings. Each comes from an option, else from a variable, else
/// from the configuration file. That file is the option `config`, else $ZKLOCK_CONFIG, else
/// $XDG_CONFIG_HOME/zklock.conf, else /etc/zklock.conf. It has lines "key = value", and comments
/// after '#'. The table kKeys in settings.cpp has the keys and the variables.
/// Throws: Failure with ExitCode::kUsage if there are no hosts, else kConfiguration.
[[nodiscard]] Settings read_settings(Settings flags, SettingTexts options);

}  // namespace zklock::cli
