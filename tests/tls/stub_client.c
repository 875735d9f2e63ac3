// SPDX-License-Identifier: Apache-2.0
// Stands in for a ZooKeeper C client that is built with OpenSSL. Exports zookeeper_init_ssl, which
// opens a connection without TLS.
#define _GNU_SOURCE
#include "stub_client.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char last_files[4096];
static int running = 0;
static int most_at_once = 0;

zhandle_t* zookeeper_init_ssl(const char* host, const char* cert, watcher_fn fn, int recv_timeout,
                              const clientid_t* clientid, void* context, int flags) {
  pthread_mutex_lock(&mutex);
  ++running;
  if (running > most_at_once) most_at_once = running;
  strncpy(last_files, cert, sizeof last_files - 1);
  pthread_mutex_unlock(&mutex);
  // Without a log callback, as in the original: the lines go to the standard error output.
  zhandle_t* handle = zookeeper_init(host, fn, recv_timeout, clientid, context, flags);
  usleep(2000);  // so that calls of several threads overlap
  pthread_mutex_lock(&mutex);
  --running;
  pthread_mutex_unlock(&mutex);
  return handle;
}

const char* stub_last_files(void) {
  return last_files;
}

int stub_most_at_once(void) {
  return most_at_once;
}
