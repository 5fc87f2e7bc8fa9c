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

/// Option whose value criu knows without a getsockopt(2) call, because sock_diag(7) has listed it for many sockets.
struct KnownOption {
    int level = 0;
    int option = 0;
    int value = 0;
};
using KnownOptions = std::span<const KnownOption>;

[[nodiscard]] std::optional<int> findOption(KnownOptions known, int level, int option) noexcept;

/// Returns the value of an integer option. `text`: name of the option for the Error.
int readOption(int fd, int level, int option, const char* text);

/// Reads all options. Skips options that this kernel or this family doesn't have. Throws Error for a filter of extended
/// BPF, which the kernel doesn't show. `family`: the socket's AF_ constant.
SkOptsEntry* dumpSocketOptions(int fd, int family, Arena& arena, KnownOptions known = {});

/// Sets all options whose values differ from the socket's. Warns of options that this kernel doesn't have. Call it
/// last, because buffer sizes, filter and time limits also apply to criu's calls. `usernsd`: sets buffer sizes that the
/// caller may not set; may be null.
void restoreSocketOptions(int fd, const SkOptsEntry& options, Log& log, const kernel::Usernsd* usernsd = nullptr);

/// Raises the size of the send buffer, so that all queued data fits into it. restoreSocketOptions() later sets the
/// dumped size.
void raiseSendBuffer(int fd, const kernel::Usernsd* usernsd = nullptr);

/// Raises the sizes of the send buffer and the receive buffer.
void raiseBuffers(int fd, const kernel::Usernsd* usernsd = nullptr);

/// Binds a socket to its network device, if it has one (SO_BINDTODEVICE). Call it before the socket gets an address.
void restoreDevice(int fd, const SkOptsEntry& options);

}  // namespace criu::sockets
