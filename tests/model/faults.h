// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <vector>

#include "zklock/testing/simulation/world.h"

namespace zklock::model {

using FaultAction = void (*)(World&);

/// A fault of the first client.
struct NamedFault {
  const char* name;
  FaultAction happens;
};

/// Returns no fault, the faults of every request, and those of one.
inline std::vector<NamedFault> faults_and(const std::vector<NamedFault>& of_request) {
  using namespace std::chrono_literals;
  std::vector<NamedFault> all = {
      {"none", [](World&) {}},
      {"expiry", [](World& w) { w.expire(0); }},
      {"break", [](World& w) { w.disconnect(0); }},
      {"break, and it lingers", [](World& w) { w.disconnect(0, OnTheWay::linger); }},
      {"break for long",
       [](World& w) {
         w.disconnect(0, OnTheWay::linger);
         w.run_for(20s);
       }},
      {"isolation",
       [](World& w) {
         w.isolate(0);
         w.run_for(20s);
         w.heal(0);
       }},
      {"pause",
       [](World& w) {
         w.pause(0);
         w.run_for(20s);
         w.resume(0);
       }},
      {"restart", [](World& w) { w.restart_servers(); }},
  };
  all.insert(all.end(), of_request.begin(), of_request.end());
  return all;
}

}  // namespace zklock::model
