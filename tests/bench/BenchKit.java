// SPDX-License-Identifier: Apache-2.0
// The measuring tools of CuratorBench.

import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/** The parameters of a measure: "name=value" words. */
final class Params {
  private final Map<String, String> values = new HashMap<>();

  Params(String line) {
    for (String word : line.trim().split(" ")) {
      int equals = word.indexOf('=');
      if (equals > 0) values.put(word.substring(0, equals), word.substring(equals + 1));
    }
  }

  String text(String name) {
    String value = values.get(name);
    if (value == null) throw new IllegalArgumentException("missing: " + name);
    return value;
  }

  int number(String name) {
    return Integer.parseInt(text(name));
  }

  long nanos(String name) {
    return (long) (Double.parseDouble(text(name)) * 1e9);
  }
}

/** Durations in nanoseconds. At most a bounded number is stored. */
final class Samples {
  private static final int MOST = 1_000_000;
  private long[] kept = new long[1024];
  private int size;
  int count;

  void add(long nanos) {
    ++count;
    if (size == MOST) return;
    if (size == kept.length) kept = Arrays.copyOf(kept, 2 * size);
    kept[size++] = nanos;
  }

  void addAll(Samples others) {
    for (int i = 0; i < others.size; ++i) add(others.kept[i]);
  }

  double percentile(double fraction) {
    if (size == 0) return 0;
    long[] sorted = Arrays.copyOf(kept, size);
    Arrays.sort(sorted);
    return sorted[(int) (fraction * (size - 1))];
  }
}

final class Result {
  long ops;
  double seconds;
  Samples samples = new Samples();
  long cycles;
  int overlaps;
  String more = "";

  String json() {
    return String.format(Locale.ROOT,
        "{\"ops\": %d, \"seconds\": %.9f, \"p50\": %.3f, \"p99\": %.3f, \"cycles\": %d, "
            + "\"overlaps\": %d%s}",
        ops, seconds, samples.percentile(0.5) / 1e3, samples.percentile(0.99) / 1e3, cycles,
        overlaps, more);
  }
}

/** The counted time. It begins after a warm-up. */
final class Window {
  final long begin;
  final long end;

  Window(Params params) {
    begin = System.nanoTime() + params.nanos("warm");
    end = begin + params.nanos("seconds");
  }

  boolean over(long now) {
    return now - end >= 0;
  }

  boolean has(long now) {
    return now - begin >= 0 && now - end < 0;
  }
}

/** The work under the lock. Counts an overlap if two threads do it together. */
final class Exclusive {
  private final AtomicInteger inside = new AtomicInteger();
  final AtomicInteger grants = new AtomicInteger();
  final AtomicInteger overlaps = new AtomicInteger();
  final Samples intervals = new Samples();
  private boolean counting;
  private long first;
  long last;

  void enter(Window window) {
    grants.incrementAndGet();
    if (inside.getAndIncrement() != 0) {
      overlaps.incrementAndGet();
      return;
    }
    long now = System.nanoTime();
    if (window != null && !window.has(now)) return;
    if (counting) {
      intervals.add(now - last);
    } else {
      first = now;
      counting = true;
    }
    last = now;
  }

  void leave() {
    inside.getAndDecrement();
  }

  Result result() {
    Result result = new Result();
    result.ops = intervals.count;
    result.seconds = (last - first) / 1e9;
    result.samples = intervals;
    result.cycles = grants.get();
    result.overlaps = overlaps.get();
    return result;
  }
}
