// SPDX-License-Identifier: Apache-2.0
#pragma once

/// All of zklock.
#include "zklock/acquire_options.h"
#include "zklock/awaitable.h"
#include "zklock/client.h"
#include "zklock/client_options.h"
#include "zklock/deadline.h"
#include "zklock/error.h"
#include "zklock/fencing_token.h"
#include "zklock/hold.h"
#include "zklock/lease_clock.h"
#include "zklock/lock_event.h"
#include "zklock/mutex.h"
#include "zklock/mutex_options.h"
#include "zklock/owner.h"
#include "zklock/participant.h"
#include "zklock/reentrant_mutex.h"
#include "zklock/revocation.h"
#include "zklock/semaphore.h"
#include "zklock/shared_mutex.h"
