// SPDX-License-Identifier: Apache-2.0
// The measures of CuratorBench with many waiters.

import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.zookeeper.data.Stat;

/** A holder on its own session, and waiters on some other sessions. Each has a thread. */
final class Queue {
  private static final int PATIENCE_SECONDS = 240;

  final Exclusive exclusive = new Exclusive();
  private final CuratorFramework holders;
  private final List<CuratorFramework> clients;
  private final InterProcessMutex holder;
  private final List<Thread> waiting;
  private final CountDownLatch granted;

  Queue(String hosts, Params params, int sessions, int waiters) throws Exception {
    String path = params.text("path");
    granted = new CountDownLatch(waiters);
    holders = Clients.connect(hosts, params);
    clients = Clients.connect(hosts, params, sessions);
    holder = new InterProcessMutex(holders, path);
    holder.acquire();
    waiting = Threads.start(waiters, i -> {
      InterProcessMutex mutex = new InterProcessMutex(clients.get(i % sessions), path);
      mutex.acquire();
      exclusive.enter(null);
      exclusive.leave();
      granted.countDown();
      mutex.release();
    });
    long giveUp = System.nanoTime() + PATIENCE_SECONDS * 1_000_000_000L;
    for (;;) {
      Stat stat = holders.checkExists().forPath(path);
      if (stat.getNumChildren() == waiters + 1) break;
      if (System.nanoTime() - giveUp > 0) {
        throw new IllegalStateException("the waiters do not queue");
      }
      Thread.sleep(5);
    }
    Thread.sleep(params.nanos("settle") / 1_000_000);
  }

  /** Releases the lock, and waits for all waiters. */
  void drain() throws Exception {
    holder.release();
    if (!granted.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
      throw new IllegalStateException("the queue stands still");
    }
    Threads.join(waiting);
  }

  void close() throws Exception {
    Clients.closeAll(clients);
    holders.close();
  }
}

/** Many waiters that are granted in turn. */
final class Drain implements Measure {
  private final int waiters;
  private final Queue queue;

  Drain(String hosts, Params params) throws Exception {
    waiters = params.number("waiters");
    queue = new Queue(hosts, params, params.number("sessions"), waiters);
  }

  @Override
  public Result run() throws Exception {
    long begin = System.nanoTime();
    queue.drain();
    Result result = queue.exclusive.result();
    result.ops = waiters;
    result.seconds = (queue.exclusive.last - begin) / 1e9;
    return result;
  }

  @Override
  public void close() throws Exception {
    queue.close();
  }
}
