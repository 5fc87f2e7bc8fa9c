// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/base/unique_fd.hpp"

/// External sockets: Unix sockets that are connected to outside processes. A plugin may dump and restore them by its
/// hooks DUMP_UNIX_SK and RESTORE_UNIX_SK.
namespace criu::sockets {

/// Plugins that dump external sockets.
class ExternalSocketDump {
public:
    virtual ~ExternalSocketDump() = default;
    /// True if any plugin has the hook DUMP_UNIX_SK.
    [[nodiscard]] virtual bool any() const = 0;
    /// Makes a plugin dump the socket `fd`. Returns false if no plugin dumps it. The caller still owns `fd` and closes
    /// it.
    [[nodiscard]] virtual bool save(int fd, std::uint32_t inode) = 0;
};

/// External sockets that plugins restore.
class ExternalSocketRestore {
public:
    virtual ~ExternalSocketRestore() = default;
    /// Makes a plugin restore the socket that had this inode number in the dump. Returns an empty descriptor if no
    /// plugin restores it. Restored processes call this function.
    [[nodiscard]] virtual UniqueFd open(std::uint32_t inode) const = 0;
};

}  // namespace criu::sockets
