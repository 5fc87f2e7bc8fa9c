// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

#include "criu/base/mapping.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::kernel {

/// Purpose of an inherited descriptor.
enum class FdKey : std::uint8_t {
    Images,        ///< images directory
    Log,           ///< criu's log file
    Control,       ///< control page, which the coordinator and all restored processes share
    Namespace,     ///< namespace that a process enters, or whose id it reports
    Mount,         ///< mount or root directory
    Cgroup,        ///< directory of a cgroup, or the file by which a process enters the cgroup
    SharedMemory,  ///< segment or memfd that several processes map
    DeletedFile,   ///< ghost file, which stays open until all processes have opened it
    Given,         ///< descriptor that the user passed by --inherit-fd
    Terminal,      ///< terminal of criu, or a socket pair that passes a terminal
    Device,        ///< descriptor of a device subsystem
    Usernsd,       ///< socket by which processes send requests to usernsd
    Store,         ///< one of the two sockets of FdStore's queue
};
inline constexpr std::size_t kFdKeys = static_cast<std::size_t>(FdKey::Store) + 1;

/// Store of the descriptors that the coordinator passes to all restored processes. There are two kinds:
/// - *Inherited* descriptors have the same number in all processes. Their numbers are in a range that no restored file
///   uses, so that a process can close all of them by one call.
/// - *Stored* descriptors are in the queue of a Unix socket, and use no numbers. All processes inherit this socket. Any
///   process can add a descriptor. It gets copies of the descriptor by the id that add() has returned.
class FdStore {
public:
    /// Id of a stored descriptor, counted from 0.
    struct Id {
        std::uint32_t value = 0;
        friend auto operator<=>(Id, Id) = default;
    };

    FdStore() = default;

    /// Sets the range of numbers for inherited descriptors: `first` to `last`, both included.
    void reserve(int first, int last);
    /// Moves a descriptor into the range and sets close-on-exec. Does nothing if the descriptor is already in the
    /// range. Throws Error if the range is full; the caller then keeps `fd`. The caller must have called reserve().
    [[nodiscard]] UniqueFd inherit(FdKey key, UniqueFd&& fd);
    /// Returns the first number of the range; -1 before reserve().
    [[nodiscard]] int first() const noexcept { return first_; }

    /// Creates the queue unless it exists. The coordinator must call it before it creates the processes that use the
    /// queue.
    void openQueue();
    /// Closes the queue in this process. Stored descriptors stay open as long as any process has the queue open.
    void closeQueue() noexcept;
    /// Adds a copy of `fd` to the queue; the caller still owns `fd`. Throws Error.
    Id add(int fd) const;
    /// Returns a copy of a stored descriptor (close-on-exec). Throws Error if no descriptor has this id.
    [[nodiscard]] UniqueFd get(Id id) const;

private:
    struct Shared;

    int first_ = -1;
    int last_ = -1;
    std::array<unsigned, kFdKeys> counts_{};  ///< number of inherited descriptors by key, for messages
    UniqueFd sending_;
    UniqueFd queue_;
    Mapping shared_;
};

}  // namespace criu::kernel
