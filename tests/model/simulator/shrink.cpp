// SPDX-License-Identifier: Apache-2.0
#include "tests/model/simulator/shrink.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "tests/model/simulator/run.h"

namespace zklock::simulator {

namespace {

Plan without(const Plan& plan, std::size_t first, std::size_t count) {
  Plan less = plan;
  const auto begin = less.steps.begin() + static_cast<std::ptrdiff_t>(first);
  less.steps.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
  return less;
}

/// Source: Zeller, Hildebrandt, "Simplifying and isolating failure-inducing input". Complements are
/// left out, because a few steps suffice for most failures.
bool drop_steps(Plan& plan, const std::function<bool(const Plan&)>& fails) {
  bool changed = false;
  for (std::size_t size = std::max<std::size_t>(plan.steps.size() / 2, 1); size > 0; size /= 2) {
    for (std::size_t first = 0; first + size <= plan.steps.size();) {
      Plan less = without(plan, first, size);
      if (fails(less)) {
        plan = std::move(less);
        changed = true;
      } else {
        first += size;
      }
    }
  }
  return changed;
}

template <class Change>
bool attempt(Plan& plan, const std::function<bool(const Plan&)>& fails, Change change) {
  Plan simpler = plan;
  change(simpler);
  if (simpler == plan || !fails(simpler)) return false;
  plan = std::move(simpler);
  return true;
}

bool simplify_setup(Plan& plan, const std::function<bool(const Plan&)>& fails) {
  const ObjectPlan plain;
  bool changed = attempt(plan, fails, [](Plan& p) { p.setup.drift = {}; });
  changed |= attempt(plan, fails, [](Plan& p) { p.setup.jitter_ms = 0; });
  changed |= attempt(plan, fails, [](Plan& p) { p.setup.relay_ms = 0; });
  changed |= attempt(plan, fails, [](Plan& p) { p.setup.announces = 1; });
  changed |= attempt(plan, fails, [](Plan& p) { p.setup.creates_at_once = 100; });
  changed |= attempt(plan, fails, [](Plan& p) { p.setup.hides_contenders = 0; });
  changed |= attempt(plan, fails, [](Plan& p) { p.setup.exists_needs_read = 0; });
  changed |= attempt(plan, fails, [](Plan& p) { p.setup.marks = Setup{}.marks; });
  for (std::size_t i = 0; i < plan.setup.objects.size(); ++i) {
    const auto drop = [&](int ObjectPlan::*option) {
      changed |= attempt(plan, fails, [&](Plan& p) { p.setup.objects[i].*option = plain.*option; });
    };
    for (const auto option :
         {&ObjectPlan::batch, &ObjectPlan::keep_idle_for, &ObjectPlan::max_hold,
          &ObjectPlan::lock_delay, &ObjectPlan::listens, &ObjectPlan::fails_on_loss}) {
      drop(option);
    }
  }
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    changed |= attempt(plan, fails, [i](Plan& p) { p.steps[i].ending = Ending::release; });
    changed |= attempt(plan, fails, [i](Plan& p) { p.steps[i].stop = -1; });
    changed |= attempt(plan, fails, [i](Plan& p) { p.steps[i].owner = 0; });
    changed |= attempt(plan, fails, [i](Plan& p) {
      if (p.steps[i].wait > 0) p.steps[i].wait = -1;
    });
  }
  return changed;
}

}  // namespace

Plan shrink(Plan plan, const std::function<bool(const Plan&)>& fails) {
  while (drop_steps(plan, fails) || simplify_setup(plan, fails)) {
  }
  return plan;
}

Plan shrink(const Plan& plan, const std::string& invariant) {
  return shrink(plan, [&](const Plan& less) {
    const auto violation = run(less).violation;
    return violation && violation->invariant == invariant;
  });
}

}  // namespace zklock::simulator
