// SPDX-License-Identifier: Apache-2.0
// The functions by which make_call() makes the call of each operation, except CreateContender and
// CreateParents. All paths include the chroot.
#pragma once

#include <memory>

#include "zklock/client/port/transaction.h"
#include "zklock/client/zookeeper/call.h"

namespace zklock::client {

// write_calls.cpp
std::shared_ptr<Call> make(request::Delete operation, CallHeader header);

// read_calls.cpp
std::shared_ptr<Call> make(request::CountChildren operation, CallHeader header);
std::shared_ptr<Call> make(request::ListChildren operation, CallHeader header);
std::shared_ptr<Call> make(request::Get operation, CallHeader header);
std::shared_ptr<Call> make(request::Sync operation, CallHeader header);
std::shared_ptr<Call> make(request::GetAndWatch operation, CallHeader header);
std::shared_ptr<Call> make(request::ListAndWatch operation, CallHeader header);
std::shared_ptr<Call> make(request::ExistsAndWatch operation, CallHeader header);

// transaction_call.cpp
std::shared_ptr<Call> make(request::AnnounceAndDelete operation, CallHeader header);
std::shared_ptr<Call> make(request::Transaction operation, CallHeader header);
inline std::shared_ptr<Call> make(request::Check operation, CallHeader header) {
  return make(as_transaction(std::move(operation)), std::move(header));
}

}  // namespace zklock::client
