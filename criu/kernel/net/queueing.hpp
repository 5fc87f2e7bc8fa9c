// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Functions for queueing disciplines of network devices (tc(8)). They act on the calling thread's network namespace.
namespace criu::kernel {

struct Queueing {
    std::uint32_t device = 0;  ///< index of the network device
    std::uint32_t parent = 0;  ///< TC_H_ROOT, TC_H_INGRESS, or the class to which the queueing discipline belongs
    std::string kind;          ///< kind such as "htb" or "clsact"
};

/// Parses one message of the kernel without its netlink header. Throws Error if the message is too short.
Queueing parseQueueing(std::span<const std::byte> answer);

/// Lists the queueing disciplines of all devices, without the invisible ones that the kernel creates by itself. The
/// list is empty if the kernel was built without queueing disciplines.
std::vector<Queueing> readQueueing();

}  // namespace criu::kernel
