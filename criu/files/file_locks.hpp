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

/// Locks and leases on files: flock(2), fcntl_locking(2). POSIX locks belong to a process; the others to an open file
/// description.
namespace criu::files {

class LockDump {
public:
    /// Notes the locks that the kernel shows of a descriptor. Throws Error for kinds that can't be set again.
    void add(const OpenFd& file, FileId id, const model::TreePids& pids);

    /// Writes filelocks.img if there are any.
    void finish(const ImageDir& images) const;

private:
    void addLock(const OpenFd& file, FileId id, const kernel::FileLock& lock, const model::TreePids& pids);

    /// One lock however many descriptors show it: kind, whose it is (process or description), device, inode and range.
    using Key = std::tuple<std::uint32_t, std::uint64_t, std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t,
                           std::uint64_t>;
    std::map<Key, FileLockEntry> locks_;
    std::vector<Key> order_;
};

class LockRestore {
public:
    /// Throws Error for kinds it doesn't know, and for locks of processes that aren't `alive`.
    void load(const ImageDir& images, const std::function<bool(TreePid)>& alive);

    /// Locks of a process' descriptors that go with the description, and those of one in flight.
    [[nodiscard]] std::vector<const FileLockEntry*> ofDescriptions(TreePid pid) const;
    [[nodiscard]] std::vector<const FileLockEntry*> inFlight() const;
    /// POSIX locks of a process. They go with the first descriptor of the file that the process closes, so they are
    /// set when criu has closed all of its own.
    [[nodiscard]] std::vector<const FileLockEntry*> ofProcess(TreePid pid) const;

private:
    std::vector<Record<FileLockEntry>> locks_;
};

/// Sets a flock, an open file description lock or a lease, through the descriptor and in the process it was set by.
/// `owner`: who gets the description's signals; a lease would make it this process, and breaking it would send one.
void setDescriptionLock(int fd, const FileLockEntry& lock, const std::optional<FownEntry>& owner);

/// Argument of fcntl(F_SETLK) for a POSIX lock.
[[nodiscard]] struct flock asPosixLock(const FileLockEntry& lock);

/// Throws the Error for a lock that couldn't be set.
[[noreturn]] void failLock(int code, const FileLockEntry& lock);

/// "POSIX lock on fd 3", for messages.
[[nodiscard]] std::string describeLock(const FileLockEntry& lock);

}  // namespace criu::files
