// SPDX-License-Identifier: Apache-2.0
// The clients and threads of CuratorBench.

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryNTimes;

interface Measure extends AutoCloseable {
  Result run() throws Exception;
}

final class Clients {
  private Clients() {}

  static CuratorFramework connect(String hosts, Params params) throws Exception {
    CuratorFramework client = CuratorFrameworkFactory.builder()
        .connectString(hosts)
        .sessionTimeoutMs((int) (params.nanos("timeout") / 1_000_000))
        .connectionTimeoutMs(30_000)
        .retryPolicy(new RetryNTimes(3, 200))
        .build();
    client.start();
    if (!client.blockUntilConnected(30, TimeUnit.SECONDS)) {
      throw new IllegalStateException("Curator does not connect");
    }
    return client;
  }

  static List<CuratorFramework> connect(String hosts, Params params, int count) throws Exception {
    List<CuratorFramework> clients = new ArrayList<>();
    for (int i = 0; i < count; ++i) clients.add(connect(hosts, params));
    return clients;
  }

  /** Closes all clients in parallel, as each takes a tenth of a second. */
  static void closeAll(List<CuratorFramework> clients) throws InterruptedException {
    Threads.join(Threads.start(clients.size(), i -> clients.get(i).close()));
  }
}

final class Threads {
  interface Task {
    void run(int index) throws Exception;
  }

  private Threads() {}

  /** Runs the task on so many threads. An error ends the process. */
  static List<Thread> start(int threads, Task task) {
    List<Thread> started = new ArrayList<>();
    for (int i = 0; i < threads; ++i) {
      final int index = i;
      Thread thread = new Thread(() -> {
        try {
          task.run(index);
        } catch (Exception e) {
          e.printStackTrace();
          Runtime.getRuntime().halt(1);
        }
      });
      thread.start();
      started.add(thread);
    }
    return started;
  }

  static void join(List<Thread> threads) throws InterruptedException {
    for (Thread thread : threads) thread.join();
  }
}
