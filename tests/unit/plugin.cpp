// SPDX-License-Identifier: Apache-2.0
// A shared object that contains a static zklock and hides its symbols. plugin_test.cpp loads and
// unloads it.
#include "plugin.h"

#include <stop_token>
#include <string_view>
#include <type_traits>

#include "zklock/zklock.h"

extern "C" [[gnu::visibility("default")]] int use_plugin() {
  zklock::Client client(
      {.hosts = "127.0.0.1:1", .log_sink = [](zklock::LogLevel, std::string_view) {}});
  zklock::ReentrantMutex mutex(client, "/lock");
  std::stop_source stopped;
  stopped.request_stop();
  return mutex.lock(stopped.get_token()) ? 0 : 1;
}
static_assert(std::is_same_v<decltype(use_plugin), UsePlugin>);
