// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "zklock/testing/simulation/sim_ensemble.h"

namespace zklock::differential {

using model::OperationKind;

/// The number of clients of a script.
inline constexpr std::size_t kClients = 3;

/// Identifies an operation of a script. Step ids do not change when other steps are dropped.
struct OperationRef {
  std::size_t step = 0;
  std::size_t index = 0;  ///< within the batch
  friend auto operator<=>(const OperationRef&, const OperationRef&) = default;
};

/// A path of a script: a fixed one, or one that begins with a znode that an operation created.
struct PathRef {
  std::optional<OperationRef> made_by;
  std::string text;  ///< below the script's directory, or below that znode
};

struct WriteOperation {
  enum class Kind { create, set, remove, check };
  Kind kind{};
  PathRef path;
  std::string data;
  std::int32_t version = -1;
  bool ephemeral = false;
  bool contender = false;
  bool sequential = false;
};

struct RequestStep {
  enum class Session { any, current, first };
  OperationKind kind{};
  PathRef path;
  std::string text;         ///< the prefix of a contender
  std::string data;         ///< of a contender
  bool makes_path = false;  ///< of a contender
  bool guarded = false;     ///< a transaction: `path` is its guard
  std::vector<WriteOperation> writes;
  Session session = Session::any;
};

struct ScriptStep {
  enum class Kind {
    submit,         ///< sends `requests` without waiting in between
    unwatch,        ///< cancels `watch`
    close,          ///< the session ends; another client replaces this one
    expire,         ///< the session expires; the client opens another
    disconnect,     ///< the client has no connection until `reconnect`
    reconnect,      ///< the client connects again, with its session
    create,         ///< the operator creates `path` with the permissions `everyone`
    set_data,       ///< the operator sets the data of `path`
    set_acl,        ///< the operator sets `path`'s permissions to `everyone`
    remove,         ///< the operator deletes `path`
    remove_subtree  ///< the operator deletes `path` and all znodes below
  };
  std::size_t id = 0;
  Kind kind{};
  std::size_t client = 0;
  std::vector<RequestStep> requests;
  OperationRef watch;
  PathRef path;
  std::string data;
  std::int32_t everyone = 0;
};

struct Script {
  std::uint64_t seed = 0;
  /// The distance of the counter of /end to its end. nullopt: the script has no /end.
  std::optional<std::int32_t> left_to_end;
  std::vector<ScriptStep> steps;
};

/// Returns the script of a seed.
Script make_script(std::uint64_t seed);

/// Return a step or an operation in words.
std::string to_text(const ScriptStep& step);
std::string to_text(OperationKind kind);

}  // namespace zklock::differential
