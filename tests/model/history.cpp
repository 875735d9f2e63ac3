// SPDX-License-Identifier: Apache-2.0
#include "tests/model/history.h"

#include <array>
#include <cstdio>
#include <functional>

#include "zklock/core/znode_data.h"
#include "zklock/core/znode_name.h"

namespace zklock::model {

namespace {

const char* name_of(Event::Kind kind) {
  switch (kind) {
    case Event::Kind::wanted: return "wanted";
    case Event::Kind::ended: return "ended";
    case Event::Kind::granted: return "granted";
    case Event::Kind::said_held: return "said held";
    case Event::Kind::said_lost: return "said lost";
    case Event::Kind::notified: return "loss notified";
    case Event::Kind::released: return "released";
    case Event::Kind::resigned: return "resigned";
    case Event::Kind::taken: return "taken away";
    case Event::Kind::counted: return "counted";
    case Event::Kind::made: return "node created";
    case Event::Kind::deleted: return "node deleted";
    case Event::Kind::spoiled: return "another's node deleted";
    case Event::Kind::permits_set: return "permits set";
    case Event::Kind::written: return "written";
    case Event::Kind::refused: return "write refused";
    case Event::Kind::committed: return "commit ended";
    case Event::Kind::seen: return "seen";
    case Event::Kind::miscounted: return "miscounted";
    case Event::Kind::healed: return "healed";
    case Event::Kind::left: return "left";
    case Event::Kind::rest: return "rest";
    case Event::Kind::fault: return "fault";
  }
  return "";
}

const char* name_of(Access access) {
  switch (access) {
    case Access::exclusive: return "exclusive";
    case Access::shared: return "shared";
    case Access::permits: return "permits";
    case Access::weighted: return "weighted";
  }
  return "";
}

}  // namespace

std::optional<Event> contender_made(std::string_view name, const Node& node, bool by_stranger) {
  const auto parsed = core::parse_znode_name(name);
  if (!parsed) return std::nullopt;
  const auto said = by_stranger ? std::nullopt : core::ZnodeData::parse(node.data);
  const FencingToken token = core::queue_zxid(said, {node.czxid});
  const bool reads_on = token.zxid != node.czxid;
  return Event{.kind = Event::Kind::made,
               .flag = !said,
               .access = parsed->access,
               .owner = static_cast<std::uint64_t>(node.owner.value),
               .permits = parsed->permits,
               .token = token,
               .attempt = said && !reads_on ? std::hash<std::string>{}(said->attempt) : 0,
               .text = std::string(name)};
}

std::string to_text(const Event& event, Instant start) {
  std::array<char, 64> time{};
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(event.at - start).count();
  std::snprintf(time.data(), time.size(), "%12.6f  ", static_cast<double>(micros) / 1e6);
  std::string text = time.data();
  text += name_of(event.kind);
  if (event.hold != 0) text += " #" + std::to_string(event.hold);
  if (event.resource != 0) text += " of " + std::to_string(event.resource);
  if (event.owner != 0) text += " by " + std::to_string(event.owner);
  if (event.access != Access::exclusive) text.append(" ").append(name_of(event.access));
  if (event.permits != 0) text += " permits " + std::to_string(event.permits);
  if (event.token.zxid != 0) {
    text += " token " + std::to_string(event.token.zxid >> 32) + "/" +
            std::to_string(event.token.zxid & 0xffff'ffff);
    if (event.token.grant_index != 0) text += "." + std::to_string(event.token.grant_index);
  }
  if (event.number != 0) text += " number " + std::to_string(event.number);
  if (event.flag) text += " (!)";
  if (!event.text.empty()) text += " " + event.text;
  return text;
}

}  // namespace zklock::model
