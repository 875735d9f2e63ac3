// SPDX-License-Identifier: Apache-2.0
#include "tests/differential/player.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "zklock/client/port/znode_path.h"
#include "zklock/core/status.h"

namespace zklock::differential {
namespace {

namespace rq = client::request;

std::string tag_of(const OperationRef& ref) {
  return std::to_string(ref.step) + "." + std::to_string(ref.index);
}

class Player {
 public:
  Player(const Script& script, Side& side) : script_(script), side_(side) {}

  Transcript play() {
    side_.begin(script_);
    journal_number_ = side_.journal().script();
    for (const ScriptStep& step : script_.steps) {
      std::vector<Fact> own = run(step);
      if (!side_.settle() || !fence()) {
        throw std::runtime_error("no reply to " + to_text(step) + ", seed " +
                                 std::to_string(script_.seed));
      }
      for (Fact& fact : side_.journal().take()) own.push_back(std::move(fact));
      if (step.kind == ScriptStep::Kind::reconnect) {
        sort_events(own);
        for (Fact& fact : own) {
          if (!fact.kind.empty()) fact.kind += ", after an outage";
        }
      }
      transcript_.push_back({step.id, std::move(own)});
    }
    if (offline_) side_.reconnect(*offline_);  // the end of the outage was dropped
    side_.end();
    return std::move(transcript_);
  }

 private:
  // The order in which a server sends the events that a client has missed is not defined.
  static void sort_events(std::vector<Fact>& facts) {
    const auto is_event = [](const Fact& fact) {
      return fact.text.find(": watch ") != std::string::npos;
    };
    for (auto begin = facts.begin(); begin != facts.end();) {
      begin = std::find_if(begin, facts.end(), is_event);
      const auto end = std::find_if_not(begin, facts.end(), is_event);
      std::ranges::sort(begin, end, {}, &Fact::text);
      begin = end;
    }
  }

  // The server sends the events of a change before its reply to a later request of that client.
  bool fence() {
    for (std::size_t c = 0; c < kClients; ++c) {
      if (!watches_[c] || offline_ == c) continue;
      side_.journal().expect_reply(c);
      side_.coordinator(c).submit(
          {.operation = rq::Exists{"/"}},
          [&journal = side_.journal(), c](const client::Reply&) { journal.replied_to_fence(c); });
    }
    return side_.settle();
  }

  std::vector<Fact> run(const ScriptStep& step) {
    const auto operator_did = [](Status status) {
      const std::string text = "operator: " + std::string(core::to_string(status));
      return std::vector<Fact>{{text, {}, text}};
    };
    switch (step.kind) {
      case ScriptStep::Kind::submit:
        for (std::size_t i = 0; i < step.requests.size(); ++i) {
          submit({step.id, i}, step.client, step.requests[i]);
        }
        return {};
      case ScriptStep::Kind::unwatch: {
        const auto found = requests_.find(step.watch);
        if (found != requests_.end()) side_.coordinator(step.client).unwatch(found->second);
        return {};
      }
      case ScriptStep::Kind::close:
        side_.close(step.client);
        // Their ids now belong to another client.
        std::erase_if(requests_, [&](const auto& r) { return owner(r.first) == step.client; });
        return {};
      case ScriptStep::Kind::expire:
        // The real session is ended by another connection that takes it over. So the client does
        // not receive the events of its own znodes. In an expiry by timeout it may receive them.
        side_.journal().ignore_events(step.client);
        side_.expire(step.client);
        return {};
      case ScriptStep::Kind::disconnect:
        side_.disconnect(step.client);
        offline_ = step.client;
        return {};
      case ScriptStep::Kind::reconnect:
        side_.reconnect(step.client);
        offline_.reset();
        return {};
      case ScriptStep::Kind::create:
        return operator_did(side_.create(resolve(step.path), step.data, step.everyone));
      case ScriptStep::Kind::set_data:
        return operator_did(side_.set_data(resolve(step.path), step.data));
      case ScriptStep::Kind::set_acl:
        return operator_did(side_.set_acl(resolve(step.path), step.everyone));
      case ScriptStep::Kind::remove: return operator_did(side_.remove(resolve(step.path)));
      case ScriptStep::Kind::remove_subtree:
        return operator_did(remove_subtree(resolve(step.path)));
    }
    return {};
  }

  std::size_t owner(const OperationRef& ref) const { return owners_.at(ref); }

  Status remove_subtree(const std::string& path) {
    for (const std::string& name : side_.children(path)) {
      (void)remove_subtree(client::join(path, name));
    }
    return side_.remove(path);
  }

  std::string resolve(const PathRef& path) const {
    if (!path.made_by) return side_.path(path.text);
    const auto found = side_.journal().name_of(tag_of(*path.made_by));
    const auto parent = parents_.find(*path.made_by);
    if (found.empty() || parent == parents_.end()) return side_.path("/none") + path.text;
    return client::join(parent->second, found) + path.text;
  }

  void submit(const OperationRef& self, std::size_t client, const RequestStep& request) {
    Journal& journal = side_.journal();
    const OperationAt at{tag_of(self), to_text(request.kind), resolve(request.path)};
    client::Request wanted;
    wanted.operation = operation_of(self, client, request, at);
    if (request.session == RequestStep::Session::current) {
      wanted.session = journal.current_session(client);
    } else if (request.session == RequestStep::Session::first) {
      wanted.session = journal.first_session(client);
    }
    journal.expect_reply(client);
    const client::RequestId id = side_.coordinator(client).submit(
        std::move(wanted),
        [&journal, script = journal_number_, client, at](const client::Reply& reply) {
          journal.replied(script, client, reply, at);
        });
    requests_.emplace(self, id);
    owners_.emplace(self, client);
  }

  client::Operation operation_of(const OperationRef& self, std::size_t client,
                                 const RequestStep& request, const OperationAt& at) {
    const std::string& path = at.path;
    const auto on_event = [&]() -> rq::OnWatchEvent {
      watches_[client] = true;
      return [&journal = side_.journal(), script = journal_number_, client, at](
                 SessionId /*session*/, rq::WatchEvent event) {
        journal.event(script, client, at, event);
      };
    };
    switch (request.kind) {
      case OperationKind::create_contender:
        parents_[self] = path;
        return rq::CreateContender{path, request.text, request.data, false, request.makes_path};
      case OperationKind::count_children: return rq::Exists{path};
      case OperationKind::create_parents: return rq::CreateParents{path};
      case OperationKind::list_children: return rq::ListChildren{path};
      case OperationKind::get: return rq::Get{path};
      case OperationKind::get_and_watch: return rq::GetAndWatch{path, on_event()};
      case OperationKind::check: return rq::Check{path};
      case OperationKind::remove: return rq::Delete{path};
      case OperationKind::announce_and_delete: return rq::AnnounceAndDelete{path};
      case OperationKind::list_and_watch: return rq::ListAndWatch{path, on_event()};
      case OperationKind::exists_and_watch: return rq::ExistsAndWatch{path, on_event()};
      case OperationKind::sync: return rq::Sync{path};
      case OperationKind::transaction: break;
    }
    rq::Transaction transaction;
    if (request.guarded) transaction.guard = path;
    for (const WriteOperation& write : request.writes) {
      transaction.writes.push_back(write_of(self, write));
    }
    return transaction;
  }

  rq::Write write_of(const OperationRef& self, const WriteOperation& write) {
    const std::string path = resolve(write.path);
    switch (write.kind) {
      case WriteOperation::Kind::create:
        if (write.sequential) parents_[self] = std::string(client::parent_of(path));
        return rq::write::Create{path, write.data, write.ephemeral, write.contender,
                                 write.sequential};
      case WriteOperation::Kind::set: return rq::write::Set{path, write.data, write.version};
      case WriteOperation::Kind::remove: return rq::write::Remove{path, write.version};
      case WriteOperation::Kind::check: return rq::write::CheckVersion{path, write.version};
    }
    return rq::write::CheckVersion{path};
  }

  const Script& script_;
  Side& side_;
  std::uint64_t journal_number_ = 0;
  std::array<bool, kClients> watches_{};
  std::optional<std::size_t> offline_;  ///< the client that is disconnected
  std::map<OperationRef, client::RequestId> requests_;
  std::map<OperationRef, std::size_t> owners_;
  std::map<OperationRef, std::string> parents_;  ///< parents of the created znodes
  Transcript transcript_;
};

}  // namespace

Transcript play(const Script& script, Side& side) {
  return Player(script, side).play();
}

std::vector<std::string> to_lines(const Transcript& transcript) {
  std::set<std::int64_t> zxids;
  for (const StepRecord& record : transcript) {
    for (const Fact& fact : record.facts) zxids.insert(fact.zxids.begin(), fact.zxids.end());
  }
  std::vector<std::string> lines;
  for (const StepRecord& record : transcript) {
    for (const Fact& fact : record.facts) {
      std::string line = std::to_string(record.step) + ": ";
      auto zxid = fact.zxids.begin();
      for (const char c : fact.text) {
        if (c != '#' || zxid == fact.zxids.end()) {
          line += c;
        } else {
          const auto rank = std::distance(zxids.begin(), zxids.find(*zxid++));
          line += '#' + std::to_string(rank);
        }
      }
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

}  // namespace zklock::differential
