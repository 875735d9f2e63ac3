// SPDX-License-Identifier: Apache-2.0
#include "tests/model/simulator/plan.h"

#include <charconv>
#include <sstream>
#include <string_view>
#include <type_traits>

namespace zklock::simulator {

namespace {

/// Calls `field(name, member)` for every member of a part of the plan.
template <class Part, class Field>
requires std::is_same_v<std::remove_const_t<Part>, ObjectPlan>
void for_each_field(Part& object, Field field) {
  field("kind", object.kind);
  field("path", object.path);
  field("number", object.number);
  field("batch", object.batch);
  field("keep_idle_for", object.keep_idle_for);
  field("max_hold", object.max_hold);
  field("lock_delay", object.lock_delay);
  field("listens", object.listens);
  field("fails_on_loss", object.fails_on_loss);
  field("proclaims", object.proclaims);
}

template <class Part, class Field>
requires std::is_same_v<std::remove_const_t<Part>, Setup>
void for_each_field(Part& setup, Field field) {
  field("slots", setup.slots);
  field("ensembles", setup.ensembles);
  field("paths", setup.paths);
  field("session_ms", setup.session_ms);
  field("relay_ms", setup.relay_ms);
  field("jitter_ms", setup.jitter_ms);
  field("latency_us", setup.latency_us);
  field("announces", setup.announces);
  field("creates_at_once", setup.creates_at_once);
  field("exists_needs_read", setup.exists_needs_read);
  field("hides_contenders", setup.hides_contenders);
  field("drift0", setup.drift[0]);
  field("drift1", setup.drift[1]);
  field("drift2", setup.drift[2]);
  field("drift3", setup.drift[3]);
  field("marks0", setup.marks[0]);
  field("marks1", setup.marks[1]);
  field("marks2", setup.marks[2]);
  field("marks3", setup.marks[3]);
}

template <class Part, class Field>
requires std::is_same_v<std::remove_const_t<Part>, PlanStep>
void for_each_field(Part& step, Field field) {
  field("at", step.at);
  field("act", step.act);
  field("slot", step.slot);
  field("object", step.object);
  field("owner", step.owner);
  field("reads", step.reads);
  field("number", step.number);
  field("wait", step.wait);
  field("stop", step.stop);
  field("hold", step.hold);
  field("ending", step.ending);
  field("fault", step.fault);
  field("length", step.length);
  field("salt", step.salt);
}

std::string word(std::int64_t value) {
  return std::to_string(value);
}
std::string word(int value) {
  return std::to_string(value);
}
std::string word(Fault fault) {
  return std::string(name_of(fault));
}
template <class Enum>
requires std::is_enum_v<Enum> std::string word(Enum value) {
  return std::to_string(static_cast<int>(value));
}

template <class Number>
bool read_number(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}
bool read(std::string_view text, std::int64_t& value) {
  return read_number(text, value);
}
bool read(std::string_view text, int& value) {
  return read_number(text, value);
}
bool read(std::string_view text, Fault& fault) {
  const std::size_t index = fault_named(text);
  fault = static_cast<Fault>(index);
  return index < kFaultClasses;
}
template <class Enum>
requires std::is_enum_v<Enum>
bool read(std::string_view text, Enum& value) {
  int number = 0;
  const int most = static_cast<int>(last(value));
  if (!read_number(text, number) || number < 0 || number > most) return false;
  value = static_cast<Enum>(number);
  return true;
}

template <class Part>
std::string line_of(std::string_view what, const Part& part) {
  std::string line(what);
  const Part standard;
  std::vector<std::string> defaults;
  for_each_field(standard, [&](const char*, const auto& v) { defaults.push_back(word(v)); });
  std::size_t i = 0;
  for_each_field(part, [&](const char* name, const auto& value) {
    std::string text = word(value);
    if (text != defaults[i++]) line.append(" ").append(name).append("=").append(text);
  });
  return line;
}

template <class Part>
bool read_line(std::istringstream& words, Part& part) {
  std::string each;
  while (words >> each) {
    const auto sign = each.find('=');
    if (sign == std::string::npos) return false;
    const std::string_view name = std::string_view(each).substr(0, sign);
    const std::string_view text = std::string_view(each).substr(sign + 1);
    bool known = false;
    for_each_field(part, [&](const char* field, auto& value) {
      if (name == field) known = read(text, value);
    });
    if (!known) return false;
  }
  return true;
}

}  // namespace

PartKind part_kind(const ObjectPlan& multi, int path) noexcept {
  const int kinds = multi.number - 1;
  switch (path == 0 ? kinds % kPartKinds : kinds / kPartKinds) {
    case 1: return {.access = Access::shared};
    case 2: return {.is_writer = true};
    case 3: return {.access = Access::permits, .permits = 1};
    case 4: return {.access = Access::permits, .permits = kPermitsOfPart};
    default: return {};
  }
}

std::string to_text(const PlanStep& step) {
  return line_of("step", step);
}

std::string to_text(const Plan& plan) {
  std::string text = "seed " + std::to_string(plan.seed) + '\n';
  text += line_of("setup", plan.setup) + '\n';
  for (const ObjectPlan& object : plan.setup.objects) text += line_of("object", object) + '\n';
  for (const PlanStep& step : plan.steps) text += to_text(step) + '\n';
  return text;
}

std::optional<Plan> parse_plan(const std::string& text) {
  Plan plan;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what;
    if (!(words >> what)) continue;
    bool good = false;
    if (what == "seed") {
      good = static_cast<bool>(words >> plan.seed);
    } else if (what == "setup") {
      good = read_line(words, plan.setup);
    } else if (what == "object") {
      good = read_line(words, plan.setup.objects.emplace_back());
    } else if (what == "step") {
      good = read_line(words, plan.steps.emplace_back());
    }
    if (!good) return std::nullopt;
  }
  const int slots = plan.setup.slots;
  if (slots < 1 || slots > static_cast<int>(kMostSlots)) return std::nullopt;
  return plan;
}

}  // namespace zklock::simulator
