// SPDX-License-Identifier: Apache-2.0
#include "conformance/suite/suite.h"

#include <algorithm>
#include <ostream>

namespace zklock::testing {

namespace {

std::string name(const Pairing& pairing) {
  return std::string(pairing.adapter->name) + name_of(pairing.environment);
}

}  // namespace

void PrintTo(const Pairing& pairing, std::ostream* out) {
  *out << name(pairing);
}

std::vector<Pairing> every_class_on(std::initializer_list<EnvironmentKind> environments) {
  std::vector<Pairing> all;
  for (const EnvironmentKind environment : environments) {
    for (const LockAdapter& adapter : all_lock_adapters()) all.push_back({&adapter, environment});
  }
  return all;
}

std::vector<Pairing> classes_on(std::initializer_list<EnvironmentKind> environments,
                                bool LockAdapter::*has) {
  auto all = every_class_on(environments);
  std::erase_if(all, [&](const Pairing& pairing) { return !(pairing.adapter->*has); });
  return all;
}

std::string pairing_name(const ::testing::TestParamInfo<Pairing>& info) {
  return name(info.param);
}

void SuiteTest::TearDown() {
  for (std::thread& thread : threads_) thread.join();
  EXPECT_TRUE(environment_->nothing_left());
}

AcquireOptions SuiteTest::with_new_owner(AcquireOptions options) {
  if (!options.owner) options.owner = Owner::unique();
  return options;
}

bool SuiteTest::queues_again(const std::string& old) {
  return environment_->comes_in_time([&] {
    const auto all = environment_->nodes();
    return all.size() == 2 &&
           std::ranges::none_of(all, [&](const auto& node) { return kPath + "/" + node == old; });
  });
}

void SuiteTest::remove_nodes_of(const Grant& hold) {
  for (std::size_t i = 0; i < environment_->ensembles(); ++i)
    environment_->ensemble(i).remove(hold.node(i));
}

void SuiteTest::remove_parents() {
  for (const std::string& path : adapter().paths) environment_->remove_all(path);
}

}  // namespace zklock::testing
