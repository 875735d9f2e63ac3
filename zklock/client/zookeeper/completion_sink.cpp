// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/completion_sink.h"

namespace zklock::client {

namespace {

constinit thread_local CompletionSink* sink_of_this_thread = nullptr;

void complete(const void* data, const Completion& completion) {
  if (sink_of_this_thread == nullptr) return;
  sink_of_this_thread->completed(reinterpret_cast<PendingId>(data), completion);
}

}  // namespace

void CompletionSink::receive_here() noexcept {
  sink_of_this_thread = this;
}

const void* CompletionSink::as_pointer(PendingId id) noexcept {
  return reinterpret_cast<const void*>(id);  // NOLINT(performance-no-int-to-ptr)
}

void CompletionSink::on_void(int code, const void* data) noexcept {
  complete(data, {.code = code});
}

void CompletionSink::on_stat(int code, const Stat* stat, const void* data) noexcept {
  complete(data, {.code = code, .stat = stat});
}

void CompletionSink::on_data(int code, const char* value, int length, const Stat* stat,
                             const void* data) noexcept {
  complete(data, {.code = code, .stat = stat, .value = value, .length = length});
}

void CompletionSink::on_strings(int code, const String_vector* strings, const Stat* stat,
                                const void* data) noexcept {
  complete(data, {.code = code, .stat = stat, .strings = strings});
}

void CompletionSink::on_string(int code, const char* value, const void* data) noexcept {
  on_string_stat(code, value, nullptr, data);
}

void CompletionSink::on_string_stat(int code, const char* value, const Stat* stat,
                                    const void* data) noexcept {
  complete(data, {.code = code, .stat = stat, .value = value});
}

}  // namespace zklock::client
