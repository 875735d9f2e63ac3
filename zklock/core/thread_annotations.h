// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Annotations for clang's thread-safety analysis (-Wthread-safety). Other compilers ignore them.
/// The analysis knows only annotated mutexes, such as client::Mutex, but no std::mutex.

#if defined(__clang__)
#define ZKLOCK_THREAD_ANNOTATION(attribute) __attribute__((attribute))
#else
#define ZKLOCK_THREAD_ANNOTATION(attribute)
#endif

// ---- classes ------------------------------------------------------------------------------------

/// Declares a class of mutexes. The name appears in the warnings.
#define ZKLOCK_CAPABILITY(name) ZKLOCK_THREAD_ANNOTATION(capability(name))
/// Declares a class that holds a mutex from its constructor to its destructor.
#define ZKLOCK_SCOPED_CAPABILITY ZKLOCK_THREAD_ANNOTATION(scoped_lockable)

// ---- data members -------------------------------------------------------------------------------

/// Declares that the mutex must be held by a thread that reads or writes the member.
#define ZKLOCK_GUARDED_BY(mutex) ZKLOCK_THREAD_ANNOTATION(guarded_by(mutex))

// ---- functions ----------------------------------------------------------------------------------

/// REQUIRES: the caller holds the mutex, and holds it after the return.
#define ZKLOCK_REQUIRES(...) ZKLOCK_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
/// REQUIRES: the caller does not hold the mutex.
#define ZKLOCK_EXCLUDES(...) ZKLOCK_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
/// Declares that the function locks the mutex. Without an argument: `this`.
#define ZKLOCK_ACQUIRE(...) ZKLOCK_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
/// Declares that the function unlocks the mutex. Without an argument: `this`.
#define ZKLOCK_RELEASE(...) ZKLOCK_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
/// Declares that the function locks the mutex if it returns the first argument.
#define ZKLOCK_TRY_ACQUIRE(...) ZKLOCK_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
/// Declares that the mutex is held after the call. For code that the analysis cannot follow.
#define ZKLOCK_ASSERT_CAPABILITY(mutex) ZKLOCK_THREAD_ANNOTATION(assert_capability(mutex))
/// Switches the analysis off in the body of the function. A comment must say why.
#define ZKLOCK_NO_THREAD_SAFETY_ANALYSIS ZKLOCK_THREAD_ANNOTATION(no_thread_safety_analysis)
