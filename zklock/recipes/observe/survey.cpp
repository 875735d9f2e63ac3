// SPDX-License-Identifier: Apache-2.0
#include "zklock/survey.h"

#include <utility>

#include "zklock/engine/client_core.h"
#include "zklock/recipes/observe/survey_reader.h"

namespace zklock {

Survey::Survey(Client& client, std::string root, const SurveyOptions& options)
    : reader_(std::make_unique<detail::SurveyReader>(detail::ClientCore::of(client),
                                                     std::move(root), options)) {}

Survey::~Survey() = default;

SurveyPage Survey::next(std::size_t entries, Deadline deadline) {
  return reader_->next(entries, deadline);
}

bool Survey::is_complete() const noexcept {
  return reader_->is_complete();
}

const std::string& Survey::root() const noexcept {
  return reader_->root();
}

}  // namespace zklock
