// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/refusals.hpp"

#include <algorithm>
#include <exception>

#include "criu/base/error.hpp"
#include "criu/base/stop_request.hpp"

namespace criu {

void Refusals::addCurrent() {
    if (stop_->requested())
        throw;
    Refusal found;
    try {
        throw;
    } catch (const compel::Error& error) {
        found = {error.reason(), error.hint()};
    } catch (const std::exception& error) {
        found = {error.what(), {}};
    }
    const auto isEqual = [&](const Refusal& known) { return known.reason == found.reason; };
    if (std::none_of(all_.begin(), all_.end(), isEqual))
        all_.push_back(std::move(found));
}

}  // namespace criu
