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

/// An option whose value is known, so that the socket needn't be asked: the kernel lists some for all sockets at once.
struct KnownOption {
    int level = 0;
    int option = 0;
    int value = 0;
};
using KnownOptions = std::span<const KnownOption>;

[[nodiscard]] std::optional<int> findOption(KnownOptions known, int level, int option) noexcept;

/// The value of an option that is a number. Throws Error with `text`, its name.
int readOption(int fd, int level, int option, const char* text);

/// Reads them. What this kernel or this family of sockets doesn't know is left out. Throws Error for a filter that
/// can't be read back (extended BPF). `family`: AF_…, of the socket.
SkOptsEntry* dumpSocketOptions(int fd, int family, Arena& arena, KnownOptions known = {});

/// Sets those that differ from what the socket has. What this kernel doesn't know is passed over with a warning. For a
/// socket that is otherwise ready: buffer sizes, filter and time limits apply at once.
/// `usernsd`: sets sizes that the caller may not; may be null.
void restoreSocketOptions(int fd, const SkOptsEntry& options, Log& log, const kernel::Usernsd* usernsd = nullptr);

/// Makes room to send everything that belongs into a peer's queue. restoreSocketOptions() sets the sizes back.
void raiseSendBuffer(int fd, const kernel::Usernsd* usernsd = nullptr);

/// Same, and for what waits to be read.
void raiseBuffers(int fd, const kernel::Usernsd* usernsd = nullptr);

/// Binds a socket to its device, if it has one: that must come before addresses.
void restoreDevice(int fd, const SkOptsEntry& options);

}  // namespace criu::sockets
