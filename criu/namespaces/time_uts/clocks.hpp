// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>

#include "criu/image/image_dir.hpp"
#include "criu/kernel/proc/time_offsets.hpp"

/// The clocks that time namespaces shift (time_namespaces(7)): monotonic and boot time. Images contain the values that
/// processes saw at the dump. Clocks of a restored tree continue from there, whatever its namespace was.
namespace criu::namespaces {

class ClocksDump {
public:
    /// `number`: namespace id of the time namespace; 0 for a tree in criu's.
    explicit ClocksDump(std::uint32_t number) : number_(number) {}
    /// `offsets`: of the namespace; empty for criu's.
    void write(const ImageDir& images, const std::optional<kernel::TimeOffsets>& offsets) const;

private:
    std::uint32_t number_;
};

}  // namespace criu::namespaces
