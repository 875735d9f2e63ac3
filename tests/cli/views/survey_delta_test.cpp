// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "zklock/cli/core/live_feed.h"

namespace zklock::cli {
namespace {

using Texts = std::map<std::string, std::string>;

std::vector<LockText> list(const Texts& texts) {
  std::vector<LockText> result;
  for (const auto& [path, json] : texts) result.push_back({path, json});
  return result;
}

Texts random_texts(std::mt19937& random) {
  Texts texts;
  for (int i = 0; i < 8; ++i) {
    if (random() % 2 == 0) texts["/" + std::to_string(i)] = std::to_string(random() % 3);
  }
  return texts;
}

TEST(SurveyDelta, EqualSurveys_AreEmpty) {
  const auto texts = list({{"/a", "1"}, {"/b", "2"}});
  EXPECT_TRUE(survey_delta(texts, texts).is_empty());
  EXPECT_TRUE(survey_delta({}, {}).is_empty());
}

TEST(SurveyDelta, RandomSurveys_PatchEqualsNew) {
  std::mt19937 random(1);
  for (int round = 0; round < 10'000; ++round) {
    const Texts before = random_texts(random);
    const Texts now = random_texts(random);
    const auto old_list = list(before);
    const auto new_list = list(now);
    const SurveyDelta delta = survey_delta(old_list, new_list);
    Texts patched = before;
    for (const LockText* each : delta.changed) {
      const auto old = before.find(each->path);
      ASSERT_TRUE(old == before.end() || old->second != each->json) << "nothing changed";
      patched[each->path] = each->json;
    }
    for (const auto path : delta.removed) ASSERT_EQ(patched.erase(std::string(path)), 1U);
    ASSERT_EQ(patched, now);
  }
}

}  // namespace
}  // namespace zklock::cli
