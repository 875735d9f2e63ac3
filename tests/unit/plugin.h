// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The function of plugin.cpp, in C. Makes a Client without a server, and one call of lock() that
/// does not wait. Returns whether that call ended without the lock.
using UsePlugin = int();
inline constexpr const char* kUsePlugin = "use_plugin";
