// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compare>
#include <optional>
#include <span>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/usernsd.hpp"
#include "images/sk-opts.hpp"

/// Options of level SOL_SOCKET (socket(7)). Sockets of all address families have this level.
namespace criu::sockets {

// Numbers of SO_ options that are newer than the headers of some systems.
inline constexpr int kTxTime = 61;
inline constexpr int kTimestampingNew = 65;
inline constexpr int kPreferBusyPoll = 69;

/// Arguments of socket(2).
struct SocketType {
    int family = 0;
    int type = 0;
    int protocol = 0;
    friend auto operator<=>(const SocketType&, const SocketType&) = default;
};

/// Option value that criu knows without a getsockopt(2) call on the socket. In a dump, sock_diag(7) has listed it with
/// values of many sockets. In a restore, another new socket had it (FreshOptions).
struct KnownOption {
    int level = 0;
    int option = 0;
    int value = 0;
};
using KnownOptions = std::span<const KnownOption>;

[[nodiscard]] std::optional<int> findOption(KnownOptions known, int level, int option) noexcept;

/// Returns the value of an integer option. `text`: name of the option for the Error.
int readOption(int fd, int level, int option, const char* text);

/// Reads all options. Skips options that this kernel or this address family lacks. Throws Error for a filter of
/// extended BPF, because the kernel doesn't show it. `family`: the socket's AF_ constant.
SkOptsEntry* dumpSocketOptions(int fd, int family, Arena& arena, KnownOptions known = {});

/// Sets all options whose values differ from the values of the socket `fd`. Warns of options that this kernel lacks.
/// Call it after all other calls on the socket, because buffer sizes, filter and time limits would apply to these
/// calls. `usernsd`: sets buffer sizes that the caller may not set; may be null. `fresh`: values that the socket has.
void restoreSocketOptions(int fd, const SkOptsEntry& options, Log& log, const kernel::Usernsd* usernsd = nullptr,
                          KnownOptions fresh = {});

/// Reads the options of a new socket that restoreSocketOptions() would read of each socket. Omits the size of the send
/// buffer and SO_BUF_LOCK, because criu changes them to fill queues. Throws Error.
[[nodiscard]] std::vector<KnownOption> readFreshSocket(int fd);

/// Raises the size of the send buffer, so that all queued data fits into it. restoreSocketOptions() later sets the
/// dumped size.
void raiseSendBuffer(int fd, const kernel::Usernsd* usernsd = nullptr);

/// Raises the sizes of the send buffer and the receive buffer.
void raiseBuffers(int fd, const kernel::Usernsd* usernsd = nullptr);

/// Binds a socket to its network device, if it has one (SO_BINDTODEVICE). Call it before the socket gets an address.
void restoreDevice(int fd, const SkOptsEntry& options);

}  // namespace criu::sockets
