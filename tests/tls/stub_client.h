// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zookeeper/zookeeper.h>

#ifdef __cplusplus
extern "C" {
#endif

// Returns the argument `cert` of the last call of zookeeper_init_ssl.
const char* stub_last_files(void);
// Returns the maximum number of calls of zookeeper_init_ssl at one time.
int stub_most_at_once(void);

// While `hang` is not 0, zookeeper_close blocks, as it does while a TLS handshake hangs.
void stub_hang_closes(int hang);
// Return the number of handles that zookeeper_init_ssl opened, and those of them that were closed.
int stub_opened(void);
int stub_closed(void);

#ifdef __cplusplus
}
#endif
