// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>

#include "criu/base/journal.hpp"

namespace criu::kernel {
struct NetworkLink;
}

namespace criu::namespaces {

/// Mount of a network namespace in the folder of the journal. The kernel deletes virtual devices with their namespace,
/// so the mount keeps devices that a restore moves into the tree: if criu is killed, `criu rescue` moves them back.
class NetworkPin {
public:
    /// Mounts the namespace `network`. Without a journal, or if the kernel refuses the mount, does nothing.
    NetworkPin(int network, Journal& journal) noexcept;
    /// Removes the mount.
    ~NetworkPin();
    NetworkPin(const NetworkPin&) = delete;
    NetworkPin& operator=(const NetworkPin&) = delete;

    /// Records that criu is about to move a device into the namespace. `before`: device in the namespace `home`;
    /// `index`: its index in the tree.
    void recordMove(const kernel::NetworkLink& before, std::uint32_t index, int home) const noexcept;

private:
    Journal* journal_;  ///< null if there is no mount
    std::string name_;
};

/// Moves the device of a line "moved" back to the namespace of the caller. `folder`: of the journal. Returns false if
/// the device isn't in the mounted namespace. Throws Error.
bool returnDevice(const JournalLine& line, int folder);

/// Removes the mount of a line "pin". Throws Error.
void removePin(const JournalLine& line, int folder);

}  // namespace criu::namespaces
