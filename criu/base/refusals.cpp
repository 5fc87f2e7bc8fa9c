// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/refusals.hpp"

#include <algorithm>
#include <exception>

#include "criu/base/error.hpp"
#include "criu/base/json.hpp"
#include "criu/base/stop_request.hpp"

namespace criu {

Refusal Refusal::current() {
    try {
        throw;
    } catch (const compel::Error& error) {
        return {error.reason(), error.hint()};
    } catch (const std::exception& error) {
        return {error.what(), {}};
    }
}

std::string Refusal::text() const {
    return remedy.empty() ? reason : fmt::format("{} ({})", reason, remedy);
}

void Refusal::addTo(JsonWriter& out) const {
    out.addOrNull("reason", reason).addOrNull("remedy", remedy);
}

void addList(JsonWriter& out, std::string_view key, const std::vector<Refusal>& refusals) {
    out.beginList(key);
    for (const Refusal& each : refusals) {
        each.addTo(out.beginObject());
        out.end();
    }
    out.end();
}

void Refusals::addCurrent() {
    if (stop_->requested())
        throw;
    Refusal found = Refusal::current();
    const auto isEqual = [&](const Refusal& known) { return known.reason == found.reason; };
    if (std::none_of(all_.begin(), all_.end(), isEqual))
        all_.push_back(std::move(found));
}

}  // namespace criu
