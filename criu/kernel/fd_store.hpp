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

/// What an inherited descriptor is for.
enum class FdKey : std::uint8_t {
    Images,        ///< the images directory
    Log,           ///< criu's log file
    Control,       ///< the page that master and processes share
    Namespace,     ///< that processes enter, or announce
    Mount,         ///< what is mounted, or a root directory
    Cgroup,        ///< a directory of a control group, or the file by which one enters it
    SharedMemory,  ///< a segment or memfd that several processes map
    DeletedFile,   ///< made anew, open until processes have it
    Given,         ///< by --inherit-fd
    Terminal,      ///< of criu, or a pair of sockets to hand one over
    Device,        ///< of a device subsystem
    Usernsd,       ///< the socket to whoever does for a user namespace what can't be done inside of it
    Store,         ///< of FdStore itself
};
inline constexpr std::size_t kFdKeys = static_cast<std::size_t>(FdKey::Store) + 1;

/// Descriptors that live from the master into every process that it creates.
///
/// Those whose number is known when the restore is planned, and that most processes use, are *inherited*: they lie in a
/// range of descriptor numbers that no restored file has, at the same number in all processes, until that range is
/// closed as a whole.
///
/// Others are *stored*: they lie in the queue of a Unix socket that all processes inherit, and take no number. Any
/// process may add one, and any process may get a copy of any, any number of times, by the id that adding it gave.
class FdStore {
public:
    /// Of a stored descriptor; counts from 0.
    struct Id {
        std::uint32_t value = 0;
        friend auto operator<=>(Id, Id) = default;
    };

    FdStore() = default;

    /// Says where inherited descriptors lie: numbers from `first` to `last`.
    void reserve(int first, int last);
    /// Moves a descriptor into the range (close-on-exec), unless it is there already. Throws Error if the range is used
    /// up. After reserve().
    [[nodiscard]] UniqueFd inherit(FdKey key, UniqueFd fd);
    /// The first number of the range; -1 before reserve().
    [[nodiscard]] int first() const noexcept { return first_; }

    /// Makes the queue. Before processes that shall use it are created; does nothing if it is there.
    void openQueue();
    /// Gives up all that is stored, in this process. To be called when nobody will get it any more: it stays open as
    /// long as one process has the queue.
    void closeQueue() noexcept;
    /// Puts a copy of a descriptor, which stays the caller's, into the queue. Throws Error.
    Id add(int fd) const;
    /// A copy of a stored descriptor (close-on-exec). Throws Error if there is none of this id.
    [[nodiscard]] UniqueFd get(Id id) const;

private:
    struct Shared;

    int first_ = -1;
    int last_ = -1;
    std::array<unsigned, kFdKeys> counts_{};  ///< inherited ones, for a message
    UniqueFd sending_;
    UniqueFd queue_;
    Mapping shared_;
};

}  // namespace criu::kernel
