// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/request_registry.h"

namespace zklock::client {

RequestRegistry& RequestRegistry::instance() {
  static auto* const registry = new RequestRegistry;
  return *registry;
}

Ticket RequestRegistry::expect(CompletionSink& sink) {
  const MutexLock guard(mutex_);
  // 0 is no ticket. If pointers are short, the counter may wrap while an old ticket is still
  // awaited.
  while (++last_ == 0 || awaited_.contains(last_)) continue;
  awaited_.emplace(last_, &sink);
  return last_;
}

void RequestRegistry::forget(Ticket ticket) {
  const MutexLock guard(mutex_);
  awaited_.erase(ticket);
}

void RequestRegistry::forget_all(const CompletionSink& sink) {
  const MutexLock guard(mutex_);
  std::erase_if(awaited_, [&sink](const auto& entry) { return entry.second == &sink; });
}

std::size_t RequestRegistry::size() const {
  const MutexLock guard(mutex_);
  return awaited_.size();
}

const void* RequestRegistry::as_pointer(Ticket ticket) noexcept {
  return reinterpret_cast<const void*>(ticket);
}

void RequestRegistry::complete(const void* data, const Completion& completion) {
  const auto ticket = reinterpret_cast<Ticket>(data);
  CompletionSink* sink = nullptr;
  {
    const MutexLock guard(mutex_);
    const auto found = awaited_.find(ticket);
    if (found == awaited_.end()) return;
    sink = found->second;
    awaited_.erase(found);
  }
  sink->completed(ticket, completion);
}

void RequestRegistry::on_void(int code, const void* data) noexcept {
  Completion completion;
  completion.code = code;
  instance().complete(data, completion);
}

void RequestRegistry::on_stat(int code, const Stat* stat, const void* data) noexcept {
  Completion completion;
  completion.code = code;
  completion.stat = stat;
  instance().complete(data, completion);
}

void RequestRegistry::on_data(int code, const char* value, int length, const Stat* stat,
                              const void* data) noexcept {
  instance().complete(data, {code, stat, value, length, nullptr});
}

void RequestRegistry::on_strings(int code, const String_vector* strings, const Stat* stat,
                                 const void* data) noexcept {
  Completion completion;
  completion.code = code;
  completion.stat = stat;
  completion.strings = strings;
  instance().complete(data, completion);
}

void RequestRegistry::on_acl(int code, ACL_vector* acl, Stat* stat, const void* data) noexcept {
  Completion completion;
  completion.code = code;
  completion.stat = stat;
  completion.acl = acl;
  instance().complete(data, completion);
}

void RequestRegistry::on_string_stat(int code, const char* value, const Stat* stat,
                                     const void* data) noexcept {
  Completion completion;
  completion.code = code;
  completion.value = value;
  completion.stat = stat;
  instance().complete(data, completion);
}

}  // namespace zklock::client
