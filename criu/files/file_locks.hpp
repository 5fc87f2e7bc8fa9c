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

/// Locks and leases on files: flock(2), fcntl_locking(2). POSIX locks belong to a process, the others to an open file
/// description.
namespace criu::files {

class LockDump {
public:
    /// Stores the locks that the kernel shows for a descriptor. Throws Error for kinds that can't be set again.
    void add(const OpenFd& file, FileId id, const model::TreePids& pids);

    /// Writes filelocks.img if there are locks.
    void finish(const ImageDir& images) const;

private:
    void addLock(const OpenFd& file, FileId id, const kernel::FileLock& lock, const model::TreePids& pids);

    /// Identifies a lock that several descriptors may show: kind, owner (process or description), device, inode, range.
    using Key = std::tuple<std::uint32_t, std::uint64_t, std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t,
                           std::uint64_t>;
    std::map<Key, FileLockEntry> locks_;
    std::vector<Key> order_;
};

class LockRestore {
public:
    /// Throws Error for unknown kinds, and for locks of processes that aren't `alive`.
    void load(const ImageDir& images, const std::function<bool(TreePid)>& alive);

    /// Return the locks of descriptions: those of a process' descriptors, and those of descriptions in flight.
    [[nodiscard]] std::vector<const FileLockEntry*> ofDescriptions(TreePid pid) const;
    [[nodiscard]] std::vector<const FileLockEntry*> inFlight() const;
    /// Returns the POSIX locks of a process. The kernel removes them when the process closes any descriptor of the
    /// file. So they are set after criu has closed its descriptors.
    [[nodiscard]] std::vector<const FileLockEntry*> ofProcess(TreePid pid) const;

private:
    std::vector<Record<FileLockEntry>> locks_;
};

/// Sets a flock, an open file description lock or a lease. Runs in the process that had set it, with its descriptor.
/// `owner`: signal owner of the description; a lease would replace it by this process, and a break would send a signal.
void setDescriptionLock(int fd, const FileLockEntry& lock, const std::optional<FownEntry>& owner);

/// Returns the argument of fcntl(F_SETLK) for a POSIX lock.
[[nodiscard]] struct flock asPosixLock(const FileLockEntry& lock);

/// Throws the Error for a lock that can't be set.
[[noreturn]] void failLock(int code, const FileLockEntry& lock);

/// Returns "POSIX lock on fd 3", for messages.
[[nodiscard]] std::string describeLock(const FileLockEntry& lock);

}  // namespace criu::files
