// SPDX-License-Identifier: Apache-2.0
#include "tests/model/simulator/history_writer.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "zklock/core/child_nodes.h"
#include "zklock/core/znode_data.h"

namespace zklock::simulator {

namespace {

constexpr std::string_view kLocks = "/locks/";
constexpr std::string_view kData = "/data/";

/// Returns 1 and "name" for "/locks/b/name". Returns std::nullopt for other paths.
struct LockNode {
  int path;
  std::string_view name;
};
std::optional<LockNode> place_of(std::string_view full, int paths) {
  if (!full.starts_with(kLocks) || full.size() < kLocks.size() + 3) return std::nullopt;
  const int path = full[kLocks.size()] - 'a';
  if (path < 0 || path >= paths || full[kLocks.size() + 1] != '/') return std::nullopt;
  return LockNode{path, full.substr(kLocks.size() + 2)};
}

}  // namespace

std::string path_of(int path) {
  return std::string(kLocks) + static_cast<char>('a' + path);
}

std::string data_path_of(int path) {
  return std::string(kData) + static_cast<char>('a' + path);
}

/// Observes the changes of the znodes of one ensemble.
class HistoryWriter::EnsembleListener final : public SimEnsemble::Server {
 public:
  EnsembleListener(HistoryWriter& history_writer, std::size_t ensemble)
      : history_writer_(history_writer), ensemble_(ensemble) {}
  void on_node_event(const std::string& path, model::WatchEvent event,
                     const model::NodeAcl& /*acl*/) override {
    switch (event) {
      case model::WatchEvent::created: return history_writer_.node_made(ensemble_, path);
      case model::WatchEvent::deleted: return history_writer_.node_deleted(ensemble_, path);
      case model::WatchEvent::changed:
        history_writer_.said_released(ensemble_, path);
        return history_writer_.data_set(ensemble_, path);
      case model::WatchEvent::children: return;
    }
  }
  void on_session_gone(core::SessionId) override {}

 private:
  HistoryWriter& history_writer_;
  const std::size_t ensemble_;
};

HistoryWriter::HistoryWriter(Universe& universe, const Setup& setup)
    : universe_(universe), paths_(setup.paths), nodes_(universe.ensembles()) {
  history_.reserve(256);
  for (std::size_t e = 0; e < universe.ensembles(); ++e) {
    listeners_.push_back(std::make_unique<EnsembleListener>(*this, e));
    universe.ensemble(e).attach(*listeners_.back());
  }
}

HistoryWriter::~HistoryWriter() = default;

void HistoryWriter::note(Event event) {
  if (over_) return;
  event.at = universe_.now();
  over_ = event.kind == Event::Kind::rest;
  ++counts_[static_cast<std::size_t>(event.kind)];
  if (event.kind == Event::Kind::refused && !event.flag) ++stale_refused_;
  if (event.kind == Event::Kind::granted) granted_.emplace(event.resource, event.token.zxid);
  if (on_event) on_event(event);
  history_.push_back(std::move(event));
}

void HistoryWriter::node_made(std::size_t ensemble, const std::string& path) {
  const auto lock_node = place_of(path, paths_);
  if (!lock_node) return;
  const model::Node& node = *universe_.ensemble(ensemble).find(path);
  auto made = model::contender_made(lock_node->name, node, stranger_);
  if (!made) return;
  made->resource = resource_of(ensemble, lock_node->path);
  nodes_[ensemble][path] = {made->resource, made->token.zxid, node.owner, universe_.now()};
  note(*std::move(made));
}

void HistoryWriter::node_deleted(std::size_t ensemble, const std::string& path) {
  const auto found = nodes_[ensemble].find(path);
  if (found == nodes_[ensemble].end()) return;
  note({.kind = Event::Kind::deleted,
        .flag = path == std::exchange(announced_, {}),
        .resource = found->second.resource,
        .token = {found->second.token},
        .text = path});
  const KnownNode node = found->second;
  nodes_[ensemble].erase(found);
  const core::SessionId acting = universe_.ensemble(ensemble).acting();
  if (acting == core::SessionId{} || acting == node.owner) return;
  // On a connection that is newer than a znode, a client must look at it before it deletes it.
  const bool may_be_in_flight = sent_after(acting) <= node.made_at;
  note({.kind = Event::Kind::spoiled,
        .flag = may_be_in_flight && taken_names_.contains({ensemble, path}),
        .resource = node.resource,
        .text = path});
}

Instant HistoryWriter::sent_after(core::SessionId session) {
  for (auto& process : universe_.processes()) {
    for (const auto& line : process->lines()) {
      if (line->coordinator.session() == session) return line->sent_after;
    }
  }
  return {};
}

void HistoryWriter::expect_commit(std::uint32_t number, std::size_t ensemble, std::string node) {
  commits_[number] = {ensemble, std::move(node)};
}

// Notes that a release has reached the znode of a waiter. The release was in flight to a holder's
// znode, which was deleted by hand with its path. A waiter of this client got that name in the
// recreated path. The contender behind it believes the announcement.
void HistoryWriter::said_released(std::size_t ensemble, const std::string& path) {
  const auto found = nodes_[ensemble].find(path);
  // The transaction that announces a release also deletes the znode. The events follow both
  // changes.
  if (found == nodes_[ensemble].end() || universe_.ensemble(ensemble).find(path) != nullptr) return;
  announced_ = path;
  if (!taken_names_.contains({ensemble, path})) return;
  if (granted_.contains({found->second.resource, found->second.token})) return;
  note({.kind = Event::Kind::spoiled,
        .flag = true,
        .resource = found->second.resource,
        .text = path});
}

// A guarded transaction writes the parts of the token and its own number.
void HistoryWriter::data_set(std::size_t ensemble, const std::string& path) {
  if (!path.starts_with(kData)) return proclaimed(ensemble, path);
  const std::string& text = universe_.ensemble(ensemble).find(path)->data;
  FencingToken token;
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  auto read = std::from_chars(text.data(), end, token.zxid);
  if (read.ptr != end) read = std::from_chars(read.ptr + 1, end, token.grant_index);
  if (read.ptr != end) read = std::from_chars(read.ptr + 1, end, number);
  committed(ensemble, path[kData.size()] - 'a', token, number);
}

// A leader proclaims the number of a commit.
void HistoryWriter::proclaimed(std::size_t ensemble, const std::string& path) {
  const auto lock_node = place_of(path, paths_);
  const model::Node* const node = universe_.ensemble(ensemble).find(path);
  if (!lock_node || !lock_node->name.starts_with(core::kProclamationPrefix) || node == nullptr)
    return;
  const auto said = core::Proclamation::parse(node->data);
  if (!said) return;
  std::uint32_t number = 0;
  std::from_chars(said->value.data(), said->value.data() + said->value.size(), number);
  committed(ensemble, lock_node->path, said->leader, number);
}

void HistoryWriter::committed(std::size_t ensemble, int path, FencingToken token,
                              std::uint32_t number) {
  const auto commit = commits_.find(number);
  if (commit == commits_.end()) return;
  const model::Node* const guard = universe_.ensemble(ensemble).find(commit->second.node);
  const bool guarded = guard != nullptr;
  // The path was deleted by hand and recreated, and another znode has the name.
  if (taken_names_.contains({ensemble, commit->second.node})) {
    note({.kind = Event::Kind::spoiled, .flag = true, .text = commit->second.node});
  }
  note({.kind = Event::Kind::written,
        .flag = guarded,
        .resource = guarded_by(resource_of(ensemble, path)),
        .token = token,
        .number = number});
}

}  // namespace zklock::simulator
