// SPDX-License-Identifier: Apache-2.0
// A shared object that contains zklock is loaded and unloaded. This program itself does not link
// zklock.
#include "plugin.h"

#include <future>
#include <memory>
#include <thread>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

namespace {

class Plugin {
 public:
  Plugin() : object_(::dlopen(ZKLOCK_PLUGIN, RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(object_, nullptr) << ::dlerror();
  }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  ~Plugin() { EXPECT_EQ(::dlclose(object_), 0); }
  bool use() const {
    auto* const function = reinterpret_cast<UsePlugin*>(::dlsym(object_, kUsePlugin));
    return function != nullptr && function() == 1;
  }

 private:
  void* const object_;
};

TEST(Plugin, LoadedOften_LeavesKeys) {
  for (int i = 0; i < 2000; ++i) {
    const Plugin plugin;
    if (i % 100 == 0) {
      ASSERT_TRUE(plugin.use()) << i;
    }
  }
  pthread_key_t key{};  // a process has 1,024
  ASSERT_EQ(::pthread_key_create(&key, nullptr), 0);
  ::pthread_key_delete(key);
}

TEST(Plugin, UnloadedBeforeAThreadThatLocked_TheThreadEnds) {
  auto plugin = std::make_unique<Plugin>();
  std::promise<bool> used;
  std::promise<void> unloaded;
  std::thread thread([&] {
    used.set_value(plugin->use());
    unloaded.get_future().wait();
  });
  EXPECT_TRUE(used.get_future().get());
  plugin.reset();
  unloaded.set_value();
  thread.join();
}

}  // namespace
