// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "zklock/client/port/coordinator.h"
#include "zklock/core/znode_data.h"

namespace zklock::client {

// Returns the transaction that a request consists of.

inline request::Transaction as_transaction(request::Check request) {
  return {.guard = std::move(request.path), .writes = {}};
}

inline request::Transaction as_transaction(request::Delete request) {
  return {.guard = {}, .writes = {request::write::Remove{std::move(request.path)}}};
}

inline request::Transaction as_transaction(request::AnnounceAndDelete request) {
  request::Transaction transaction;
  transaction.writes.reserve(2);
  transaction.writes.emplace_back(
      request::write::Set{request.path, std::string(core::kReleasedData)});
  transaction.writes.emplace_back(request::write::Remove{std::move(request.path)});
  return transaction;
}

inline std::string& path_of(request::Write& write) {
  return std::visit([](auto& w) -> std::string& { return w.path; }, write);
}
inline const std::string& path_of(const request::Write& write) {
  return std::visit([](const auto& w) -> const std::string& { return w.path; }, write);
}

}  // namespace zklock::client
