// SPDX-License-Identifier: Apache-2.0
#include "conformance/suite/suite.h"

#include <algorithm>
#include <ostream>

namespace zklock::testing {

namespace {

std::string name(const Pairing& pairing) {
  return std::string(pairing.face->name) + name_of(pairing.scene);
}

}  // namespace

void PrintTo(const Pairing& pairing, std::ostream* out) {
  *out << name(pairing);
}

std::vector<Pairing> every_class_on(std::initializer_list<Scene> scenes) {
  std::vector<Pairing> all;
  for (const Scene scene : scenes) {
    for (const Face& face : all_faces()) all.push_back({&face, scene});
  }
  return all;
}

std::vector<Pairing> classes_on(std::initializer_list<Scene> scenes, bool Face::*has) {
  auto all = every_class_on(scenes);
  std::erase_if(all, [&](const Pairing& pairing) { return !(pairing.face->*has); });
  return all;
}

std::string pairing_name(const ::testing::TestParamInfo<Pairing>& info) {
  return name(info.param);
}

void SuiteTest::TearDown() {
  for (std::thread& thread : threads_) thread.join();
  EXPECT_TRUE(stage_->nothing_left());
}

AcquireOptions SuiteTest::somebody(AcquireOptions options) {
  if (!options.owner) options.owner = Owner::unique();
  return options;
}

bool SuiteTest::queues_again(const std::string& old) {
  return stage_->comes_in_time([&] {
    const auto all = stage_->nodes();
    return all.size() == 2 &&
           std::ranges::none_of(all, [&](const auto& node) { return kPath + "/" + node == old; });
  });
}

void SuiteTest::remove_nodes_of(const Grant& hold) {
  for (std::size_t i = 0; i < stage_->ensembles(); ++i) stage_->ensemble(i).remove(hold.node(i));
}

void SuiteTest::remove_parents() {
  for (const std::string& path : face().paths) stage_->remove_all(path);
}

}  // namespace zklock::testing
