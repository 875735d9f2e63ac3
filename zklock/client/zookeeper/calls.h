// SPDX-License-Identifier: Apache-2.0
// The calls behind make_call(), one overload for each operation. All paths are full.
#pragma once

#include <memory>

#include "zklock/client/port/transaction.h"
#include "zklock/client/zookeeper/call.h"

namespace zklock::client {

// calls.cpp
std::shared_ptr<Call> make(request::Delete operation, Origin origin);

// read_calls.cpp
std::shared_ptr<Call> make(request::CountChildren operation, Origin origin);
std::shared_ptr<Call> make(request::ListChildren operation, Origin origin);
std::shared_ptr<Call> make(request::Get operation, Origin origin);
std::shared_ptr<Call> make(request::GetAcl operation, Origin origin);
std::shared_ptr<Call> make(request::GetAndWatch operation, Origin origin);
std::shared_ptr<Call> make(request::ListAndWatch operation, Origin origin);
std::shared_ptr<Call> make(request::ExistsAndWatch operation, Origin origin);

// transaction_call.cpp
std::shared_ptr<Call> make(request::Transaction operation, Origin origin);
inline std::shared_ptr<Call> make(request::Check operation, Origin origin) {
  return make(as_transaction(std::move(operation)), std::move(origin));
}
inline std::shared_ptr<Call> make(request::AnnounceAndDelete operation, Origin origin) {
  return make(as_transaction(std::move(operation)), std::move(origin));
}

}  // namespace zklock::client
