// SPDX-License-Identifier: GPL-2.0-only
#include "criu/device/driver_options.hpp"

#include <string>

#include "criu/model/options.hpp"

namespace criu::device {

std::optional<std::uint64_t> DriverOption::in(const model::Options& options) const {
    const auto found = options.driverValues.find(name);
    return found == options.driverValues.end() ? std::nullopt : std::optional(found->second);
}

void DriverOption::set(model::Options& options, std::uint64_t value) const {
    options.driverValues.insert_or_assign(std::string(name), value);
}

}  // namespace criu::device
