// SPDX-License-Identifier: Apache-2.0
// The measures of CuratorBench with many waiters, and with many sessions at rest.

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.zookeeper.data.Stat;

/** A holder on its own session, and waiters on some other sessions. Each has a thread. */
final class Queue {
  private static final int TIMEOUT_SECONDS = 240;

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
    long apart = params.nanos("apart");
    waiting = Threads.start(waiters, i -> {
      TimeUnit.NANOSECONDS.sleep(i * apart);
      InterProcessMutex mutex = new InterProcessMutex(clients.get(i % sessions), path);
      mutex.acquire();
      exclusive.enter(null);
      exclusive.leave();
      granted.countDown();
      mutex.release();
    });
    long giveUp = System.nanoTime() + TIMEOUT_SECONDS * 1_000_000_000L;
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
    if (!granted.await(TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
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

/** Many sessions without requests of the user. The driver measures their cost. */
abstract class AtRest implements Measure {
  final Params params;
  final int sessions;
  private final long memory;
  private final long threads;

  AtRest(Params params) throws IOException {
    this.params = params;
    sessions = params.number("sessions");
    System.gc();  // otherwise the sessions could use garbage's memory, and would seem to cost less
    memory = statusOfProcess("VmRSS");
    threads = statusOfProcess("Threads");
  }

  private static long statusOfProcess(String key) throws IOException {
    for (String line : Files.readAllLines(Paths.get("/proc/self/status"))) {
      if (line.startsWith(key + ":")) return Long.parseLong(line.replaceAll("[^0-9]", ""));
    }
    throw new IOException("/proc/self/status has no " + key);
  }

  /** Throws if the sessions do not rest as they should. */
  void check() {}

  @Override
  public Result run() throws Exception {
    Thread.sleep(params.nanos("seconds") / 1_000_000);
    check();
    Result result = new Result();
    result.ops = result.cycles = sessions;
    result.seconds = params.nanos("seconds") / 1e9;
    result.more = String.format(Locale.ROOT, ", \"kilobytes\": %.3f, \"threads\": %.3f",
        (statusOfProcess("VmRSS") - memory) / (double) sessions,
        (statusOfProcess("Threads") - threads) / (double) sessions);
    return result;
  }
}

/** One waiter on each session, and a holder on one more. */
final class Waiting extends AtRest {
  private final Queue queue;

  Waiting(String hosts, Params params) throws Exception {
    super(params);
    queue = new Queue(hosts, params, sessions, sessions);
  }

  @Override
  void check() {
    if (queue.exclusive.grants.get() > 0) throw new IllegalStateException("a waiter was granted");
  }

  @Override
  public void close() throws Exception {
    queue.drain();
    queue.close();
  }
}

/** Sessions that hold a lock each, or no lock. */
final class Connected extends AtRest {
  private final List<CuratorFramework> clients = new ArrayList<>();
  private final List<InterProcessMutex> mutexes = new ArrayList<>();

  Connected(String hosts, Params params, boolean hold) throws Exception {
    super(params);
    for (int i = 0; i < sessions; ++i) {
      TimeUnit.NANOSECONDS.sleep(params.nanos("apart"));
      clients.add(Clients.connect(hosts, params));
      if (!hold) continue;
      mutexes.add(new InterProcessMutex(clients.get(i), params.text("path") + "/" + i));
      mutexes.get(i).acquire();
    }
    Thread.sleep(params.nanos("settle") / 1_000_000);
  }

  @Override
  public void close() throws Exception {
    for (InterProcessMutex mutex : mutexes) mutex.release();
    Clients.closeAll(clients);
  }
}
