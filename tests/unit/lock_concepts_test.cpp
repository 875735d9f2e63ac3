// SPDX-License-Identifier: Apache-2.0
#include "zklock/lock_concepts.h"

#include "zklock/zklock.h"

namespace zklock {

static_assert(AcquiringLock<ReentrantMutex> && AcquiringLock<Mutex> && AcquiringLock<SharedMutex>);
static_assert(AcquiringLock<PriorityMutex> && AcquiringLock<Semaphore>);
static_assert(AcquiringLock<MultiMutex, MultiHold> && AcquiringLock<QuorumMutex, QuorumHold>);
static_assert(!AcquiringLock<MultiMutex>);

static_assert(TimedLock<Mutex> && !ReentrantLock<Mutex> && !TimedLock<Semaphore>);
static_assert(ReentrantLock<ReentrantMutex> && ReentrantLock<SharedMutex>);
static_assert(ReentrantLock<PriorityMutex> && ReentrantLock<MultiMutex>);
static_assert(ReentrantLock<QuorumMutex>);

static_assert(QueuedLock<ReentrantMutex> && QueuedLock<Mutex> && QueuedLock<SharedMutex>);
static_assert(QueuedLock<PriorityMutex> && QueuedLock<Semaphore>);
static_assert(!QueuedLock<MultiMutex> && !QueuedLock<QuorumMutex>);

}  // namespace zklock
