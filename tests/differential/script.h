// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/model/sim_ensemble.h"

namespace zklock::differential {

using model::OperationKind;

/// How many clients a script has.
inline constexpr std::size_t kClients = 3;

/// Names an operation of a script. The ids of steps stay when other steps are dropped.
struct OperationRef {
  std::size_t step = 0;
  std::size_t index = 0;  ///< within the batch
  friend auto operator<=>(const OperationRef&, const OperationRef&) = default;
};

/// A path of a script: a fixed one, or one that begins with the node that an operation created.
struct PathRef {
  std::optional<OperationRef> made_by;
  std::string text;  ///< below the script's directory, or below the created node
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
  std::string text;      ///< the prefix of a contender
  std::string data;      ///< of a contender
  bool guarded = false;  ///< a transaction: `path` is its guard
  std::vector<WriteOperation> writes;
  Session session = Session::any;
};

struct ScriptStep {
  enum class Kind {
    submit,         ///< `requests`, without waiting for a reply in between
    unwatch,        ///< `watch`
    close,          ///< the client ends its session; another client takes its place
    expire,         ///< the session ends, and the client opens another
    create,         ///< the operator creates `path`, with `everyone` in its list
    set_data,       ///< the operator sets the data of `path`
    set_acl,        ///< the operator sets the list of `path` to `everyone`
    remove,         ///< the operator deletes `path`
    remove_subtree  ///< the operator deletes `path` and everything below it
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
  /// By how much the counter of /end is below its end. None: the script has no /end.
  std::optional<std::int32_t> left_to_end;
  std::vector<ScriptStep> steps;
};

/// Makes the script of a seed.
Script make_script(std::uint64_t seed);

/// Returns the script in words, one line a step.
std::string to_text(const ScriptStep& step);
std::string to_text(OperationKind kind);

}  // namespace zklock::differential
