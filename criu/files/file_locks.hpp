// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <fcntl.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/image/record.hpp"
#include "images/file-lock.hpp"
#include "images/fown.fwd.hpp"

namespace criu::kernel {
struct FileLock;
}

namespace criu {
class ImageDir;
}

namespace criu::model {
class TreePids;
}

namespace criu::files {
struct OpenFd;
}

/// Locks and leases on files (flock(2), fcntl_locking(2)). A POSIX lock belongs to a process; other locks and leases
/// belong to an open file description.
namespace criu::files {

class LockDump {
public:
    /// `sharesTable`: returns true if a living process of the tree shares the descriptor table of the first process.
    LockDump(const model::TreePids& pids, std::function<bool(HostPid, HostPid)> sharesTable)
        : pids_(pids), sharesTable_(std::move(sharesTable)) {}

    /// Stores the locks that /proc/PID/fdinfo shows for a descriptor. Throws Error for a type of lock that criu can't
    /// restore.
    void add(const OpenFd& file, FileId id);

    /// Writes filelocks.img if add() has stored locks.
    void finish(const ImageDir& images) const;

private:
    void addLock(const OpenFd& file, FileId id, const kernel::FileLock& lock);
    [[nodiscard]] HostPid setterOf(const OpenFd& file, const kernel::FileLock& lock) const;

    /// Properties that identify a lock, because several descriptors may show the same lock. They are kind, owner
    /// (process or open file description), device, inode, and first and last byte.
    using Key = std::tuple<std::uint32_t, std::uint64_t, std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t,
                           std::uint64_t>;
    const model::TreePids& pids_;
    std::function<bool(HostPid, HostPid)> sharesTable_;
    std::map<Key, FileLockEntry> locks_;
    std::vector<Key> order_;
};

class LockRestore {
public:
    /// Reads filelocks.img. Throws Error for unknown types of locks, and for locks of processes for which `alive`
    /// returns false.
    void load(const ImageDir& images, const std::function<bool(TreePid)>& alive);

    /// Return the locks and leases of open file descriptions. ofDescriptions() returns those for the descriptors of a
    /// process, and inFlight() those for descriptors in flight.
    [[nodiscard]] std::vector<const FileLockEntry*> ofDescriptions(TreePid pid) const;
    [[nodiscard]] std::vector<const FileLockEntry*> inFlight() const;
    /// Returns the POSIX locks of a process. The kernel removes the POSIX locks of a file when the process closes any
    /// descriptor of the file. So criu must set them after it has closed all its descriptors.
    [[nodiscard]] std::vector<const FileLockEntry*> ofProcess(TreePid pid) const;

private:
    std::vector<Record<FileLockEntry>> locks_;
};

/// Sets a flock, an open file description lock or a lease. Runs in the process that had set the lock, with this
/// process' descriptor. `owner`: signal owner of the open file description, which is set again after a broken lease.
void setDescriptionLock(int fd, const FileLockEntry& lock, const std::optional<FownEntry>& owner);

/// Returns the argument of fcntl(F_SETLK) for a POSIX lock.
[[nodiscard]] struct flock asPosixLock(const FileLockEntry& lock);

/// Throws Error with a message about a lock that criu can't set.
[[noreturn]] void failLock(int code, const FileLockEntry& lock);

/// Returns a text such as "POSIX lock on fd 3", for error messages.
[[nodiscard]] std::string describeLock(const FileLockEntry& lock);

}  // namespace criu::files
