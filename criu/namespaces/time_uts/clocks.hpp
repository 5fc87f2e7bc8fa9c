// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>

#include "criu/image/image_dir.hpp"
#include "criu/kernel/proc/time_offsets.hpp"

/// The clocks that time namespaces shift (time_namespaces(7)): monotonic and boot time. Images have them as processes
/// saw them at the dump, and a restored tree goes on from there, whatever its namespace was.
namespace criu::namespaces {

class ClocksDump {
public:
    /// `number`: of the time namespace in images, 0 for what a tree in criu's sees.
    explicit ClocksDump(std::uint32_t number) : number_(number) {}
    /// `offsets`: of the namespace; nothing: it is that of criu.
    void write(const ImageDir& images, const std::optional<kernel::TimeOffsets>& offsets) const;

private:
    std::uint32_t number_;
};

}  // namespace criu::namespaces
