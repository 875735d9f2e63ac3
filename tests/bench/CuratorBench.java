// SPDX-License-Identifier: Apache-2.0
//   CuratorBench HOSTS
// Curator's InterProcessMutex as a contestant. README.md describes the commands and the measures.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;

public final class CuratorBench {
  /** A free lock without other contenders. A release is confirmed when it returns. */
  private static final class Free implements Measure {
    private final String kind;
    private final Params params;
    private final CuratorFramework client;
    private final InterProcessMutex mutex;

    Free(String kind, String hosts, Params params) throws Exception {
      this.kind = kind;
      this.params = params;
      client = Clients.connect(hosts, params);
      mutex = new InterProcessMutex(client, params.text("path"));
      mutex.acquire();
      mutex.release();
    }

    @Override
    public Result run() throws Exception {
      Result result = new Result();
      Window window = new Window(params);
      for (long now = System.nanoTime(); !window.over(now);) {
        long begin = System.nanoTime();
        mutex.acquire();
        long locked = System.nanoTime();
        mutex.release();
        now = System.nanoTime();
        ++result.cycles;
        if (!window.has(begin)) continue;
        switch (kind) {
          case "acquire": result.samples.add(locked - begin); break;
          case "unlock": result.samples.add(now - locked); break;
          default: result.samples.add(now - begin); break;
        }
        result.seconds = (now - window.begin) / 1e9;
      }
      result.ops = result.samples.count;
      return result;
    }

    @Override
    public void close() {
      client.close();
    }
  }

  /** A free lock at a new path. The parent of the path exists. */
  private static final class Cold implements Measure {
    private final Params params;
    private final CuratorFramework client;
    private int next = 0;

    Cold(String hosts, Params params) throws Exception {
      this.params = params;
      client = Clients.connect(hosts, params);
      acquireNext();
    }

    private long acquireNext() throws Exception {
      InterProcessMutex mutex = new InterProcessMutex(client, params.text("path") + "/" + next++);
      long begin = System.nanoTime();
      mutex.acquire();
      long took = System.nanoTime() - begin;
      mutex.release();
      return took;
    }

    @Override
    public Result run() throws Exception {
      Result result = new Result();
      Window window = new Window(params);
      for (long now = System.nanoTime(); !window.over(now); now = System.nanoTime()) {
        long took = acquireNext();
        ++result.cycles;
        if (!window.has(now)) continue;
        result.samples.add(took);
        result.seconds = (System.nanoTime() - window.begin) / 1e9;
      }
      result.ops = result.samples.count;
      return result;
    }

    @Override
    public void close() {
      client.close();
    }
  }

  /** A lock that the thread already holds. A sample is the mean of many pairs of calls. */
  private static final class Nested implements Measure {
    private final Params params;
    private final CuratorFramework client;
    private final InterProcessMutex mutex;

    Nested(String hosts, Params params) throws Exception {
      this.params = params;
      client = Clients.connect(hosts, params);
      mutex = new InterProcessMutex(client, params.text("path"));
      mutex.acquire();
    }

    @Override
    public Result run() throws Exception {
      final int pairs = 2000;
      Result result = new Result();
      Samples scaled = new Samples();
      Window window = new Window(params);
      for (long now = System.nanoTime(); !window.over(now);) {
        long begin = now;
        for (int i = 0; i < pairs; ++i) {
          mutex.acquire();
          mutex.release();
        }
        now = System.nanoTime();
        result.cycles += pairs;
        if (!window.has(begin)) continue;
        scaled.add((now - begin) * 1000 / pairs);
        result.ops += pairs;
        result.seconds = (now - window.begin) / 1e9;
      }
      result.more = String.format(Locale.ROOT, ", \"pair_ns\": %.3f, \"pair_ns_p99\": %.3f",
          scaled.percentile(0.5) / 1e3, scaled.percentile(0.99) / 1e3);
      return result;
    }

    @Override
    public void close() throws Exception {
      mutex.release();
      client.close();
    }
  }

  /** Threads that lock and unlock in a loop: one lock for all, or one for each. */
  private static final class Crowd implements Measure {
    private final Params params;
    private final boolean apart;
    private final List<CuratorFramework> clients = new ArrayList<>();
    private final List<InterProcessMutex> mutexes = new ArrayList<>();

    Crowd(String hosts, Params params) throws Exception {
      this.params = params;
      apart = params.number("apart") != 0;
      boolean shared = params.number("shared") != 0;
      for (int i = 0; i < params.number("contenders"); ++i) {
        if (i == 0 || !shared) clients.add(Clients.connect(hosts, params));
        CuratorFramework client = clients.get(clients.size() - 1);
        String path = params.text("path") + (apart ? "/" + i : "");
        InterProcessMutex mutex = new InterProcessMutex(client, path);
        mutex.acquire();
        mutex.release();
        mutexes.add(mutex);
      }
    }

    @Override
    public Result run() throws Exception {
      return apart ? independent() : handOff();
    }

    private Result handOff() throws Exception {
      Window window = new Window(params);
      Exclusive exclusive = new Exclusive();
      Threads.join(Threads.start(mutexes.size(), i -> {
        InterProcessMutex mutex = mutexes.get(i);
        while (!window.over(System.nanoTime())) {
          mutex.acquire();
          exclusive.enter(window);
          // Holds for a moment during the warm-up, so that an overlap would be detected.
          if (System.nanoTime() - window.begin < 0) LockSupport.parkNanos(100_000);
          exclusive.leave();
          mutex.release();
        }
      }));
      return exclusive.result();
    }

    private Result independent() throws Exception {
      Window window = new Window(params);
      Samples[] samples = new Samples[mutexes.size()];
      AtomicInteger cycles = new AtomicInteger();
      Threads.join(Threads.start(mutexes.size(), i -> {
        samples[i] = new Samples();
        InterProcessMutex mutex = mutexes.get(i);
        for (long now = System.nanoTime(); !window.over(now);) {
          long begin = now;
          mutex.acquire();
          mutex.release();
          now = System.nanoTime();
          cycles.incrementAndGet();
          if (window.has(begin)) samples[i].add(now - begin);
        }
      }));
      Result result = new Result();
      for (Samples each : samples) result.samples.addAll(each);
      result.ops = result.samples.count;
      result.seconds = (window.end - window.begin) / 1e9;
      result.cycles = cycles.get();
      return result;
    }

    @Override
    public void close() throws Exception {
      Clients.closeAll(clients);
    }
  }

  /** One thread waits; the other releases some milliseconds later. */
  private static final class Single implements Measure {
    private final Params params;
    private final CuratorFramework holders;
    private final CuratorFramework waiters;
    private final InterProcessMutex holder;
    private final InterProcessMutex waiter;

    Single(String hosts, Params params) throws Exception {
      this.params = params;
      holders = Clients.connect(hosts, params);
      waiters = Clients.connect(hosts, params);
      holder = new InterProcessMutex(holders, params.text("path"));
      waiter = new InterProcessMutex(waiters, params.text("path"));
      oneHandOff();
    }

    private long oneHandOff() throws Exception {
      holder.acquire();
      long[] granted = new long[1];
      List<Thread> waiting = Threads.start(1, i -> {
        waiter.acquire();
        granted[0] = System.nanoTime();
        waiter.release();
      });
      LockSupport.parkNanos(params.nanos("hold"));
      long released = System.nanoTime();
      holder.release();
      Threads.join(waiting);
      return granted[0] - released;
    }

    @Override
    public Result run() throws Exception {
      Result result = new Result();
      Window window = new Window(params);
      for (long now = System.nanoTime(); !window.over(now); now = System.nanoTime()) {
        long took = oneHandOff();
        result.cycles += 2;
        if (took <= 0) ++result.overlaps;
        if (!window.has(now)) continue;
        result.samples.add(took);
        result.seconds = (System.nanoTime() - window.begin) / 1e9;
      }
      result.ops = result.samples.count;
      return result;
    }

    @Override
    public void close() {
      holders.close();
      waiters.close();
    }
  }

  private static Measure make(String hosts, Params params) throws Exception {
    String kind = params.text("kind");
    switch (kind) {
      case "acquire":
      case "unlock":
      case "cycle": return new Free(kind, hosts, params);
      case "cold": return new Cold(hosts, params);
      case "nested": return new Nested(hosts, params);
      case "handoff":
      case "independent": return new Crowd(hosts, params);
      case "single": return new Single(hosts, params);
      case "drain": return new Drain(hosts, params);
      case "waiting": return new Waiting(hosts, params);
      case "holding": return new Connected(hosts, params, true);
      case "idle": return new Connected(hosts, params, false);
      default: return null;
    }
  }

  private static String quoted(String text) {
    return '"' + text.replace('\\', '/').replace('"', '\'').replace('\n', ' ') + '"';
  }

  private final String hosts;
  private Measure measure;

  private CuratorBench(String hosts) {
    this.hosts = hosts;
  }

  private String answer(String line) throws Exception {
    switch (line.split(" ", 2)[0]) {
      case "hello":
        return "{\"version\": " + quoted("on Java " + System.getProperty("java.version")) + "}";
      case "prepare":
        measure = make(hosts, new Params(line));
        return measure != null ? "{}" : "{\"absent\": \"a thread each\"}";
      case "run":
        return measure.run().json();
      case "finish":
        if (measure != null) measure.close();
        measure = null;
        return "{}";
      default:
        return "{\"error\": " + quoted("what is " + line + "?") + "}";
    }
  }

  public static void main(String[] args) throws Exception {
    if (args.length != 1) {
      System.err.println("usage: CuratorBench HOSTS");
      System.exit(2);
    }
    CuratorBench worker = new CuratorBench(args[0]);
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      String answer;
      try {
        answer = worker.answer(line);
      } catch (Exception e) {
        answer = "{\"error\": " + quoted(e.toString()) + "}";
      }
      System.out.println(answer);
      System.out.flush();
    }
    Runtime.getRuntime().halt(0);  // does not wait for blocked threads
  }
}
