// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/image/image_dir.hpp"
#include "criu/kernel/time_offsets.hpp"

/// The clocks that time namespaces shift (time_namespaces(7)): monotonic and boot time. Images have them as processes
/// saw them at the dump, and a restored tree goes on from there, whatever its namespace was.
namespace criu::namespaces {

class ClocksDump {
public:
    /// `number`: of the tree's time namespace in images, 0 if that is criu's.
    explicit ClocksDump(std::uint32_t number) : number_(number) {}
    /// `root`: a process of the tree.
    void write(const ImageDir& images, const kernel::ProcPid& root) const;

private:
    std::uint32_t number_;
};

}  // namespace criu::namespaces
