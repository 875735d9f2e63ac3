// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/engine_context.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "zklock/engine/session/engine_lock.h"
#include "zklock/engine/session/process.h"

namespace zklock::detail {

namespace {

/// Returns a prefix that no other client of this or another process uses.
std::string unique_prefix() {
  static std::atomic<std::uint64_t> clients{0};
  std::array<char, 40> text{};
  const int length = std::snprintf(text.data(), text.size(), "%016llx-%llu-",
                                   static_cast<unsigned long long>(process_id()),
                                   static_cast<unsigned long long>(++clients));
  return {text.data(), static_cast<std::size_t>(length)};
}

}  // namespace

EngineContext::EngineContext(Ports ports, Settings settings)
    : ports_(std::move(ports)),
      settings_(std::move(settings)),
      pid_(process_identity().pid),
      attempt_prefix_(unique_prefix()),
      log_(settings_.log ? std::make_shared<LimitedLog>(settings_.log, *ports_.scheduler)
                         : nullptr),
      hosts_(settings_.hosts) {}

void EngineContext::check_usable(const char* operation, const std::string& path) const {
  if (forked()) throw Error(Errc::forked, operation, path);
  if (closed()) throw Error(Errc::closed, operation, path);
}

void EngineContext::log(LimitedLog::Line line) const noexcept {
  if (log_ && !forked()) log_->add(std::move(line));
}

void EngineContext::finish_log() noexcept {
  if (!log_) return;
  log_->report_omitted();
  ports_.finish_log();
  settings_.log->close();  // the user may destroy what the sink uses
}

LabelMetrics& EngineContext::metrics_of(std::string_view label) {
  EngineLock lock({*this});
  lock.permit_exceptions();  // a public constructor calls this
  return records_.labels.of(label);
}

std::shared_ptr<const CallTexts> CallTexts::of_object(std::string_view label) {
  if (label.empty()) return nullptr;
  return std::make_shared<const CallTexts>(
      CallTexts{core::printable(label, core::kMaxValueBytes), {}});
}

std::shared_ptr<const CallTexts> CallTexts::of_call(std::shared_ptr<const CallTexts> texts,
                                                    std::string_view note) {
  if (note.empty()) return texts;
  return std::make_shared<const CallTexts>(
      CallTexts{texts ? texts->label : std::string(), core::printable(note, core::kMaxNoteBytes)});
}

core::ZnodeData EngineContext::identify(const Caller& caller) const {
  return {.attempt = {},
          .owner = caller.owner.to_string(),
          .host = settings_.host,
          .thread = caller.thread.data(),
          .application = settings_.application,
          .label = caller.texts ? caller.texts->label : std::string(),
          .note = caller.texts ? caller.texts->note : std::string(),
          .pid = pid_,
          .announces = settings_.announces,
          .bound = caller.bound,
          .is_candidate = caller.is_candidate};
}

void EngineContext::add_session_listener(const std::shared_ptr<NewSessionListener>& listener) {
  engine_mutex_.assert_held();
  std::erase_if(session_listeners_, [](const auto& each) { return each.expired(); });
  session_listeners_.push_back(listener);
}

void EngineContext::notify_session_listeners() {
  std::vector<std::weak_ptr<NewSessionListener>> listeners;
  {
    const EngineLock lock({*this});
    listeners = session_listeners_;
  }
  for (const auto& each : listeners) {
    if (const auto listener = each.lock()) listener->session_began();
  }
}

}  // namespace zklock::detail
