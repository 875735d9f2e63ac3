// SPDX-License-Identifier: Apache-2.0
#include "conformance/suite/faces.h"

#include "conformance/suite/composite_faces.h"
#include "conformance/suite/erased_face.h"
#include "conformance/suite/leader_faces.h"

namespace zklock::testing {

namespace {

template <class... Fs>
std::vector<Face> table() {
  return {face_of<Fs>()...};
}

}  // namespace

// Classes that lock or lead. companions_test.cpp runs LockObserver, ElectionObserver and
// GuardedTransaction beside each of them.
const std::vector<Face>& all_faces() {
  static const auto faces = table<ReentrantMutexFace,  //
                                  MutexFace,           //
                                  WriterFace,          //
                                  ReaderFace,          //
                                  PriorityMutexFace,   //
                                  OnePermitFace,       //
                                  SharedCountFace,     //
                                  TwoPermitsFace,      //
                                  MultiOf1Face,        //
                                  MultiOf3Face,        //
                                  QuorumFace,          //
                                  LeaderLatchFace,     //
                                  LeaderElectionFace>();
  return faces;
}

}  // namespace zklock::testing
