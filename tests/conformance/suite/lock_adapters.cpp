// SPDX-License-Identifier: Apache-2.0
#include "conformance/suite/lock_adapters.h"

#include "conformance/suite/composite_adapters.h"
#include "conformance/suite/erased_adapter.h"
#include "conformance/suite/leader_adapters.h"

namespace zklock::testing {

namespace {

template <class... Fs>
std::vector<LockAdapter> table() {
  return {adapter_of<Fs>()...};
}

}  // namespace

// Classes that lock or lead. observers_test.cpp runs LockObserver, ElectionObserver and
// GuardedTransaction beside each of them.
const std::vector<LockAdapter>& all_lock_adapters() {
  static const auto kAdapters = table<ReentrantMutexAdapter,  //
                                      MutexAdapter,           //
                                      WriterAdapter,          //
                                      ReaderAdapter,          //
                                      PriorityMutexAdapter,   //
                                      OnePermitAdapter,       //
                                      SharedCountAdapter,     //
                                      TwoPermitsAdapter,      //
                                      MultiOf1Adapter,        //
                                      MultiOf3Adapter,        //
                                      MultiOfKindsAdapter,    //
                                      QuorumAdapter,          //
                                      LeaderLatchAdapter,     //
                                      LeaderElectionAdapter>();
  return kAdapters;
}

}  // namespace zklock::testing
