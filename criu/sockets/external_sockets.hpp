// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/base/unique_fd.hpp"

/// Unix sockets that are connected to the outside of the tree may be the affair of somebody who knows the other side: a
/// plugin, by its hooks DUMP_UNIX_SK and RESTORE_UNIX_SK.
namespace criu::sockets {

/// Who may carry sockets, on dump.
class ExternalSocketDump {
public:
    virtual ~ExternalSocketDump() = default;
    /// Whether carry() is worth calling.
    [[nodiscard]] virtual bool any() const = 0;
    /// Has a carrier take over a socket; false if none does. `fd` stays the caller's.
    [[nodiscard]] virtual bool carry(int fd, std::uint32_t inode) = 0;
};

/// The sockets that they took over, on restore.
class ExternalSocketRestore {
public:
    virtual ~ExternalSocketRestore() = default;
    /// Has the socket made that had this inode at the dump; empty if nobody makes it. In a restored process.
    [[nodiscard]] virtual UniqueFd open(std::uint32_t inode) const = 0;
};

}  // namespace criu::sockets
