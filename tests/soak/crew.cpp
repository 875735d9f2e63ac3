// SPDX-License-Identifier: Apache-2.0
#include "soak/crew.h"

#include <exception>
#include <utility>

#include "zklock/testing/servers/wait_for.h"

namespace zklock::soak {
namespace {

// Returns whether the loss of a server or session explains this error.
bool is_caused_by_fault(Errc code) {
  return code == Errc::not_connected || code == Errc::lock_lost || code == Errc::closed ||
         code == Errc::outcome_unknown;
}

const Kind& pick(Site& site) {
  static const unsigned kAll = [] {
    unsigned sum = 0;
    for (const Kind& kind : all_kinds()) sum += kind.weight;
    return sum;
  }();
  unsigned number = site.below(kAll);
  const Kind* picked = nullptr;
  for (const Kind& kind : all_kinds()) {
    picked = &kind;
    if (number < kind.weight) break;
    number -= kind.weight;
  }
  return *picked;
}

}  // namespace

void Tally::add(const Tally& other) {
  cycles += other.cycles;
  for (const auto& [kind, count] : other.by_kind) by_kind[kind] += count;
  for (const auto& [code, count] : other.errors) errors[code] += count;
  unexpected.insert(unexpected.end(), other.unexpected.begin(), other.unexpected.end());
}

Crew::Crew(const std::vector<Client*>& clients, const ClientOptions& options, std::size_t threads,
           unsigned first_number)
    : working_(threads) {
  for (std::size_t i = 0; i < threads; ++i) {
    Tally& tally = *tallies_.emplace_back(std::make_unique<Tally>());
    Client& client = *clients[i % clients.size()];
    Client& rival = *clients[(i + 1) % clients.size()];
    Site site(client, rival, options, first_number + static_cast<unsigned>(i));
    threads_.emplace_back([this, site, &tally]() mutable { work(std::move(site), tally); });
  }
}

Crew::~Crew() {
  stopped_ = true;
}

bool Crew::stop(std::chrono::seconds longest) {
  stopped_ = true;
  if (!testing::eventually([this] { return working_ == 0; }, longest)) return false;
  threads_.clear();
  return true;
}

Tally Crew::tally() const {
  Tally all;
  for (const auto& each : tallies_) all.add(*each);
  return all;
}

void Crew::work(Site site, Tally& tally) {
  constexpr std::size_t kEnough = 5;
  while (!stopped_) {
    const Kind& kind = pick(site);
    std::string unexpected;
    try {
      kind.run(site);
    } catch (const Error& error) {
      ++tally.errors[error.errc()];
      if (!is_caused_by_fault(error.errc())) unexpected = error.what();
    } catch (const std::exception& error) {
      unexpected = error.what();
    }
    if (!unexpected.empty() && tally.unexpected.size() < kEnough) {
      tally.unexpected.push_back(std::string(kind.name) + ": " + unexpected);
    }
    ++tally.by_kind[kind.name];
    ++tally.cycles;
    ++cycles_;
  }
  --working_;
}

}  // namespace zklock::soak
