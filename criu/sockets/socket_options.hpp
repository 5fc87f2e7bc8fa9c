// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <span>

#include "criu/base/log.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/usernsd.hpp"
#include "images/sk-opts.hpp"

/// Options of level SOL_SOCKET, which sockets of all families have (socket(7)).
namespace criu::sockets {

// Numbers of SO_ options that are newer than the headers of some systems.
inline constexpr int kTxTime = 61;
inline constexpr int kTimestampingNew = 65;
inline constexpr int kPreferBusyPoll = 69;

/// Option whose value the kernel has listed for many sockets at once, so that no getsockopt(2) is needed.
struct KnownOption {
    int level = 0;
    int option = 0;
    int value = 0;
};
using KnownOptions = std::span<const KnownOption>;

[[nodiscard]] std::optional<int> findOption(KnownOptions known, int level, int option) noexcept;

/// Returns the value of an integer option. Throws Error with `text`, its name.
int readOption(int fd, int level, int option, const char* text);

/// Reads all options. Skips options that this kernel or this family doesn't have. Throws Error for a filter that can't
/// be read back (extended BPF). `family`: AF_…, of the socket.
SkOptsEntry* dumpSocketOptions(int fd, int family, Arena& arena, KnownOptions known = {});

/// Sets all options that differ from the socket's. Warns of options that this kernel doesn't have. The socket must be
/// complete, because buffer sizes, filter and time limits apply at once. `usernsd`: sets buffer sizes that the caller
/// may not set; may be null.
void restoreSocketOptions(int fd, const SkOptsEntry& options, Log& log, const kernel::Usernsd* usernsd = nullptr);

/// Raises the send buffer, so that all queued data can be sent to a peer. restoreSocketOptions() sets the size back.
void raiseSendBuffer(int fd, const kernel::Usernsd* usernsd = nullptr);

/// Raises the send buffer and the receive buffer.
void raiseBuffers(int fd, const kernel::Usernsd* usernsd = nullptr);

/// Binds a socket to its device, if it has one. Called before addresses are set.
void restoreDevice(int fd, const SkOptsEntry& options);

}  // namespace criu::sockets
