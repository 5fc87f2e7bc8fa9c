// SPDX-License-Identifier: GPL-2.0-only
#include "criu/device/subsystem_options.hpp"

#include <string>

#include "criu/model/options.hpp"

namespace criu::device {

std::optional<std::uint64_t> SubsystemOption::in(const model::Options& options) const {
    const auto found = options.subsystemValues.find(name);
    return found == options.subsystemValues.end() ? std::nullopt : std::optional(found->second);
}

void SubsystemOption::set(model::Options& options, std::uint64_t value) const {
    options.subsystemValues.insert_or_assign(std::string(name), value);
}

}  // namespace criu::device
