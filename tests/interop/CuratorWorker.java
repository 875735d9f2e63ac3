// SPDX-License-Identifier: Apache-2.0
//   CuratorWorker KIND HOSTS PATH GUARD
// One Curator process that contends for PATH: see README.md.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.util.Random;
import java.util.concurrent.TimeUnit;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.RetryNTimes;

public final class CuratorWorker {
  private static final Object COMMANDS = new Object();
  private static boolean holds;
  private static FileChannel guard;

    /** "hold" keeps the next section until "go". The end of standard input ends the process. */
  private static void readCommands() {
    try (BufferedReader input = new BufferedReader(new InputStreamReader(System.in))) {
      for (String line = input.readLine(); line != null; line = input.readLine()) {
        synchronized (COMMANDS) {
          holds = line.equals("hold");
          COMMANDS.notifyAll();
        }
      }
    } catch (Exception e) {
      e.printStackTrace();
    }
    Runtime.getRuntime().halt(0);
  }

  private static void say(String word) {
    System.out.println(word);
    System.out.flush();
  }

  private static void section(boolean shared) throws Exception {
    FileLock file = guard == null ? null : guard.tryLock(0, Long.MAX_VALUE, shared);
    say(guard == null || file != null ? "grant" : "overlap");
    synchronized (COMMANDS) {
      if (holds) say("held");
      while (holds) COMMANDS.wait();
    }
    TimeUnit.MICROSECONDS.sleep(200);
    if (file != null) file.release();
  }

  private static void lock(InterProcessLock lock) throws Exception {
    for (;;) {
      lock.acquire();
      try {
        section(false);
      } finally {
        lock.release();
      }
    }
  }

  private static void readWrite(CuratorFramework client, String path) throws Exception {
    InterProcessReadWriteLock lock = new InterProcessReadWriteLock(client, path);
    Random random = new Random();
    for (;;) {
      boolean reads = random.nextInt(3) != 0;
      InterProcessMutex part = reads ? lock.readLock() : lock.writeLock();
      part.acquire();
      try {
        section(reads);
      } finally {
        part.release();
      }
    }
  }

  private static void semaphore(CuratorFramework client, String path) throws Exception {
    InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(client, path, 1);
    for (;;) {
      Lease lease = semaphore.acquire();
      try {
        section(false);
      } finally {
        semaphore.returnLease(lease);
      }
    }
  }

  private static void selector(CuratorFramework client, String path) throws Exception {
    LeaderSelector selector = new LeaderSelector(client, path, new LeaderSelectorListenerAdapter() {
      @Override
      public void takeLeadership(CuratorFramework same) throws Exception {
        section(false);
      }
    });
    selector.autoRequeue();
    selector.start();
    for (;;) TimeUnit.HOURS.sleep(1);
  }

  private static void latch(CuratorFramework client, String path) throws Exception {
    for (;;) {
      try (LeaderLatch latch = new LeaderLatch(client, path)) {
        latch.start();
        latch.await();
        section(false);
      }
    }
  }

  public static void main(String[] args) {
    try {
      if (args.length != 4) {
        throw new IllegalArgumentException("usage: CuratorWorker KIND HOSTS PATH GUARD");
      }
      if (!args[3].equals("-")) guard = new RandomAccessFile(args[3], "rw").getChannel();
      CuratorFramework client = CuratorFrameworkFactory.builder()
          .connectString(args[1])
          .sessionTimeoutMs(4_000)
          .connectionTimeoutMs(30_000)
          .retryPolicy(new RetryNTimes(3, 200))
          .build();
      client.start();
      if (!client.blockUntilConnected(60, TimeUnit.SECONDS)) {
        throw new IllegalStateException("not connected");
      }
      Thread commands = new Thread(CuratorWorker::readCommands);
      commands.setDaemon(true);
      commands.start();
      say("ready");
      String path = args[2];
      switch (args[0]) {
        case "mutex": lock(new InterProcessMutex(client, path)); break;
        case "semaphore-mutex": lock(new InterProcessSemaphoreMutex(client, path)); break;
        case "shared": readWrite(client, path); break;
        case "semaphore": semaphore(client, path); break;
        case "selector": selector(client, path); break;
        case "latch": latch(client, path); break;
        default: throw new IllegalArgumentException(args[0]);
      }
    } catch (Exception e) {
      e.printStackTrace();
      Runtime.getRuntime().halt(1);
    }
  }
}
