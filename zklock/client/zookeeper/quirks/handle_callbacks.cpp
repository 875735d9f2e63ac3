// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/quirks/handle_callbacks.h"

#include <future>
#include <system_error>
#include <thread>
#include <utility>

#include <pthread.h>

#include "zklock/client/threads/start_thread.h"

namespace zklock::client {
namespace {

constinit thread_local HandleCallbacks* callbacks_of_this_thread = nullptr;
constinit thread_local const HandleListener* listener_here = nullptr;

}  // namespace

bool HandleListener::runs_here() const noexcept {
  return listener_here == this;
}

template <class Callback>
void HandleCallbacks::pass(Callback callback) noexcept {
  ++running_;  // before the pointer is read: see shut()
  if (HandleListener* const listener = listener_) {
    const HandleListener* const outer = std::exchange(listener_here, listener);
    callback(*listener);
    listener_here = outer;
  }
  if (--running_ == 0) running_.notify_all();
}

void HandleCallbacks::shut() noexcept {
  listener_ = nullptr;
  for (int running = running_; running > 0; running = running_) running_.wait(running);
}

void HandleCallbacks::on_event(zhandle_t* /*handle*/, int type, int state, const char* path,
                               void* context) noexcept {
  auto& callbacks = *static_cast<HandleCallbacks*>(context);
  if (!callbacks.is_closing_ && std::exchange(callbacks_of_this_thread, &callbacks) != &callbacks) {
    ::pthread_setname_np(::pthread_self(), "zklock-events");
  }
  callbacks.pass([&](HandleListener& listener) {
    if (type == ZOO_SESSION_EVENT) {
      listener.on_session_event(state);
    } else if (path != nullptr) {
      listener.on_watch_event(type, path);
    }
  });
}

void HandleCallbacks::complete(const void* data, const Completion& completion) noexcept {
  if (callbacks_of_this_thread == nullptr) return;
  callbacks_of_this_thread->pass([&](HandleListener& listener) {
    listener.completed(reinterpret_cast<PendingId>(data), completion);
  });
}

const void* HandleCallbacks::as_pointer(PendingId id) noexcept {
  return reinterpret_cast<const void*>(id);  // NOLINT(performance-no-int-to-ptr)
}

void HandleCallbacks::on_void(int code, const void* data) noexcept {
  complete(data, {.code = code});
}

void HandleCallbacks::on_stat(int code, const Stat* stat, const void* data) noexcept {
  complete(data, {.code = code, .stat = stat});
}

void HandleCallbacks::on_data(int code, const char* value, int length, const Stat* stat,
                              const void* data) noexcept {
  complete(data, {.code = code, .stat = stat, .value = value, .length = length});
}

void HandleCallbacks::on_strings(int code, const String_vector* strings, const Stat* stat,
                                 const void* data) noexcept {
  complete(data, {.code = code, .stat = stat, .strings = strings});
}

void HandleCallbacks::on_string(int code, const char* value, const void* data) noexcept {
  on_string_stat(code, value, nullptr, data);
}

void HandleCallbacks::on_string_stat(int code, const char* value, const Stat* stat,
                                     const void* data) noexcept {
  complete(data, {.code = code, .stat = stat, .value = value});
}

std::weak_ptr<const void> close_within(std::chrono::seconds longest,
                                       std::shared_ptr<const void> handle,
                                       HandleCallbacks& callbacks,
                                       std::shared_ptr<const void> user) {
  const auto closed = std::make_shared<std::promise<void>>();
  std::thread closing;
  try {
    closing = start_thread("zklock-close",
                           [handle = std::move(handle), user = std::move(user), closed]() mutable {
                             handle.reset();
                             closed->set_value();
                           });
  } catch (const std::system_error&) {
    return {};  // no thread: the handle was closed here
  }
  if (closed->get_future().wait_for(longest) == std::future_status::ready) {
    closing.join();
  } else {
    closing.detach();
    callbacks.shut();
  }
  return closed;
}

}  // namespace zklock::client
