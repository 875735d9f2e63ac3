// SPDX-License-Identifier: Apache-2.0
// The promise: a holder that renews in time keeps the lock. At the end of the maximum hold time,
// the hold is lost and the next contender is granted. The holder is notified before and after that
// moment.

#include <chrono>
#include <future>
#include <string>

#include <zklock/zklock.h>

#include "promise.h"

namespace {

using namespace std::chrono_literals;
using example::promise;
using zklock::HoldState;
using zklock::LockEvent;

template <class T>
bool comes(const std::future<T>& future) {
  return future.wait_for(60s) == std::future_status::ready;
}

void expiring_hold(const std::string& hosts) {
  zklock::Client client(hosts);
  std::promise<void> expiring;
  std::promise<void> expired;
  const auto listener = [&](const LockEvent& event) {
    if (event.kind == LockEvent::Kind::expiring) expiring.set_value();
    if (event.kind == LockEvent::Kind::expired) expired.set_value();
  };
  zklock::Mutex mutex(client, "/locks/expiring",
                      {.listener = listener, .max_hold = 1h, .expiry_notice = 3s});

  zklock::Hold hold = mutex.acquire();
  auto next = mutex.async_acquire();
  promise(hold.renew(), "a hold that lasts can be renewed");
  promise(hold.renew(4s), "also for another time than agreed");
  promise(comes(expiring.get_future()), "before the end the holder is notified");
  promise(comes(expired.get_future()), "and after it");
  promise(hold.state() == HoldState::lost, "then the hold is lost");
  promise(!hold.renew(), "and cannot be renewed any more");
  promise(comes(next) && next.get().token() > hold.token(), "but the next one is granted");
}

}  // namespace

int main(int argc, char** argv) {
  return example::run(argc, argv, expiring_hold);
}
