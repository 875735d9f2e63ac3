// SPDX-License-Identifier: Apache-2.0
// Needs the headers of prometheus-cpp. zklock.h does not include this header.
#pragma once

#include "zklock/version.h"

#include <chrono>
#include <cstddef>
#include <limits>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <prometheus/client_metric.h>
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>

#include "zklock/client.h"
#include "zklock/metrics.h"

namespace zklock {

namespace detail {

inline prometheus::ClientMetric::Histogram prometheus_histogram(const DurationHistogram& from) {
  using Seconds = std::chrono::duration<double>;
  prometheus::ClientMetric::Histogram to;
  for (std::size_t i = 0; i < from.counts.size(); ++i) {
    to.sample_count += from.counts.at(i);
    const bool is_last = i == DurationHistogram::kBounds.size();
    to.bucket.push_back({.cumulative_count = to.sample_count,
                         .upper_bound = is_last
                                            ? std::numeric_limits<double>::infinity()
                                            : Seconds(DurationHistogram::kBounds.at(i)).count()});
  }
  to.sample_sum = Seconds(from.sum).count();
  return to;
}

inline prometheus::MetricType prometheus_type(MetricFamily::Type type) {
  switch (type) {
    case MetricFamily::Type::counter: return prometheus::MetricType::Counter;
    case MetricFamily::Type::gauge: return prometheus::MetricType::Gauge;
    case MetricFamily::Type::histogram: return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

}  // namespace detail

/// Returns the families in the types of prometheus-cpp.
[[nodiscard]] inline std::vector<prometheus::MetricFamily> prometheus_families(
    std::span<const MetricFamily> families) {
  std::vector<prometheus::MetricFamily> result;
  for (const MetricFamily& family : families) {
    prometheus::MetricFamily& to = result.emplace_back();
    to.name = family.name;
    to.help = family.help;
    to.type = detail::prometheus_type(family.type);
    for (const MetricFamily::Sample& sample : family.samples) {
      prometheus::ClientMetric& metric = to.metric.emplace_back();
      for (const auto& [name, value] : sample.labels) metric.label.push_back({name, value});
      if (sample.histogram) metric.histogram = detail::prometheus_histogram(*sample.histogram);
      metric.counter.value = metric.gauge.value = sample.value;  // the type says which is read
    }
  }
  return result;
}

/// Gives the metrics of clients to prometheus-cpp:
/// @code
///   const auto locks = std::make_shared<zklock::PrometheusCollectable>();
///   locks->add("main", client);
///   exposer.RegisterCollectable(locks);
/// @endcode
/// The exposer has only a weak reference to it.
///
/// Thread-safety: all members, from any thread. REQUIRES: remove() is called before a client that
/// was added is destroyed.
class PrometheusCollectable final : public prometheus::Collectable {
 public:
  /// Adds a client. `name` becomes the label `client`; empty: no such label. The names of several
  /// clients must differ.
  void add(std::string name, const Client& client) {
    const std::lock_guard guard(mutex_);
    clients_.emplace_back(std::move(name), &client);
  }

  /// Removes a client. Blocks until no Collect() of another thread reads it.
  void remove(const Client& client) {
    const std::lock_guard guard(mutex_);
    std::erase_if(clients_, [&](const auto& each) { return each.second == &client; });
  }

  /// Returns the families of metric_families(), in the types of prometheus-cpp.
  /// Throws: Error(forked).
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override {
    std::vector<ClientMetrics> metrics;
    {
      const std::lock_guard guard(mutex_);
      for (const auto& [name, client] : clients_) {
        metrics.push_back(client->metrics());
        metrics.back().client = name;
      }
    }
    return prometheus_families(metric_families(metrics));
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, const Client*>> clients_;
};

}  // namespace zklock
