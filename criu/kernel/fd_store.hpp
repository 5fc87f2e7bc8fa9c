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
    Images,        ///< the images directory
    Log,           ///< criu's log file
    Control,       ///< control page that the coordinator and all restored processes share
    Namespace,     ///< namespace that processes enter or report
    Mount,         ///< a mount or a root directory
    Cgroup,        ///< directory of a cgroup, or the file that a process enters it by
    SharedMemory,  ///< segment or memfd that several processes map
    DeletedFile,   ///< ghost file, open until all processes have it
    Given,         ///< passed by --inherit-fd
    Terminal,      ///< terminal of criu, or a socket pair to pass one
    Device,        ///< descriptor of a device subsystem
    Usernsd,       ///< socket to usernsd
    Store,         ///< socket of FdStore itself
};
inline constexpr std::size_t kFdKeys = static_cast<std::size_t>(FdKey::Store) + 1;

/// Descriptors that the coordinator passes to all restored processes.
/// *Inherited* descriptors lie in a range of numbers that no restored file has, equal in all processes. Processes
/// close the whole range at once.
/// *Stored* descriptors lie in the queue of a Unix socket that all processes inherit, and use no number. Any process
/// may add a descriptor, and get copies of it by the id that add() returned.
class FdStore {
public:
    /// Id of a stored descriptor, counted from 0.
    struct Id {
        std::uint32_t value = 0;
        friend auto operator<=>(Id, Id) = default;
    };

    FdStore() = default;

    /// Sets the range of numbers for inherited descriptors, `first` to `last`.
    void reserve(int first, int last);
    /// Moves a descriptor into the range (close-on-exec) unless it is in it. Throws Error if the range is full.
    /// Requires reserve().
    [[nodiscard]] UniqueFd inherit(FdKey key, UniqueFd fd);
    /// Returns the first number of the range; -1 before reserve().
    [[nodiscard]] int first() const noexcept { return first_; }

    /// Creates the queue unless it exists. Must run before the processes that use it are created.
    void openQueue();
    /// Closes the queue in this process. The kernel keeps stored descriptors open while any process has the queue.
    void closeQueue() noexcept;
    /// Adds a copy of a descriptor, which the caller keeps, to the queue. Throws Error.
    Id add(int fd) const;
    /// Returns a copy of a stored descriptor (close-on-exec). Throws Error if no descriptor has this id.
    [[nodiscard]] UniqueFd get(Id id) const;

private:
    struct Shared;

    int first_ = -1;
    int last_ = -1;
    std::array<unsigned, kFdKeys> counts_{};  ///< inherited descriptors by key, for messages
    UniqueFd sending_;
    UniqueFd queue_;
    Mapping shared_;
};

}  // namespace criu::kernel
