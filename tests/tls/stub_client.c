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
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int closes_hang = 0;
static int opened = 0;
static int closed = 0;
#define MOST_OPEN 64
static zhandle_t* open_handles[MOST_OPEN];  // those of zookeeper_init_ssl

// REQUIRES: mutex is locked. Returns whether a place had the value `before`.
static int replace(zhandle_t* before, zhandle_t* after) {
  for (int i = 0; i < MOST_OPEN; ++i) {
    if (open_handles[i] != before) continue;
    open_handles[i] = after;
    return 1;
  }
  return 0;
}

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
  if (handle != NULL && replace(NULL, handle)) ++opened;
  pthread_mutex_unlock(&mutex);
  return handle;
}

int zookeeper_close(zhandle_t* handle) {
  pthread_mutex_lock(&mutex);
  while (closes_hang) pthread_cond_wait(&changed, &mutex);
  // The C client calls its own zookeeper_close() again in the last reply of a handle.
  const int is_first = replace(handle, NULL);
  pthread_mutex_unlock(&mutex);
  int (*const original)(zhandle_t*) = (int (*)(zhandle_t*))dlsym(RTLD_NEXT, "zookeeper_close");
  const int code = original(handle);
  pthread_mutex_lock(&mutex);
  if (is_first) ++closed;
  pthread_mutex_unlock(&mutex);
  return code;
}

void stub_hang_closes(int hang) {
  pthread_mutex_lock(&mutex);
  closes_hang = hang;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

int stub_opened(void) {
  pthread_mutex_lock(&mutex);
  const int count = opened;
  pthread_mutex_unlock(&mutex);
  return count;
}

int stub_closed(void) {
  pthread_mutex_lock(&mutex);
  const int count = closed;
  pthread_mutex_unlock(&mutex);
  return count;
}

const char* stub_last_files(void) {
  return last_files;
}

int stub_most_at_once(void) {
  return most_at_once;
}
