// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/lock_event_reporter.h"

namespace zklock::detail {

namespace {

/// Returns an empty text for events that Contender logs itself, with durations.
std::string sentence_of(LockEvent::Kind kind, std::size_t position) {
  switch (kind) {
    case LockEvent::Kind::waiting:
      return position == 0 ? "waiting" : "waiting behind " + std::to_string(position);
    case LockEvent::Kind::suspended: return "suspended";
    case LockEvent::Kind::resumed: return "resumed";
    case LockEvent::Kind::release_requested: return "release requested";
    case LockEvent::Kind::expiring: return "expiring";
    case LockEvent::Kind::acquired:
    case LockEvent::Kind::released:
    case LockEvent::Kind::expired:
    case LockEvent::Kind::lost: break;
  }
  return {};
}

}  // namespace

LockEventReporter::LockEventReporter(EngineContext& context, const core::LockPath& path,
                                     const Caller& caller, LockEventSink sink)
    : context_(context),
      path_(path),
      owner_(caller.owner),
      texts_(caller.texts),
      sink_(std::move(sink)) {}

void LockEventReporter::report(LockEvent::Kind kind, FencingToken token, std::size_t position,
                               std::optional<LossReason> reason) const noexcept {
  if (logs(LogLevel::debug)) {
    const std::string sentence = sentence_of(kind, position);
    if (!sentence.empty()) log(LogLevel::debug, LogKind::event, sentence, {.token = token});
  }
  if (!has_listener()) return;
  sink_->listener->notify({.kind = kind,
                           .path = path_.str(),
                           .owner = owner_,
                           .token = token,
                           .position = position,
                           .part_index = sink_->part_index,
                           .reason = reason});
}

bool LockEventReporter::logs(LogLevel level) const noexcept {
  return context_.logs(level);
}

std::string LockEventReporter::line(std::string_view sentence, core::LogFields fields) const {
  fields.owner = owner_.to_string();
  if (texts_) {
    fields.label = texts_->label;
    fields.note = texts_->note;
  }
  return core::log_line("lock", path_.str(), sentence, fields);
}

void LockEventReporter::log(LogLevel level, LogKind kind, std::string_view sentence,
                            core::LogFields fields) const noexcept {
  context_.log({.level = level,
                .kind = kind,
                .text = line(sentence, std::move(fields)),
                .path = path_.str()});
}

}  // namespace zklock::detail
