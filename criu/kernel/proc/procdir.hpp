// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/unique_fd.hpp"

namespace criu::kernel {

/// Suffix that the kernel appends to the path of a deleted file. The name of an existing file may end with the same
/// text.
inline constexpr std::string_view kDeletedMark = " (deleted)";

/// Reusable buffer for /proc files. Each thread needs its own buffer.
class ProcBuffer {
public:
    /// Reads from the descriptor's position to the end of the file. The returned view is valid until the next call.
    /// `path` names the file in messages. Throws Error with the errno of read(2), which is ESRCH after the task has
    /// ended.
    std::string_view fill(int fd, std::string_view path);
    /// Fills the buffer like fill(), with a file that isOneRecord() accepts: needs no second read(2) to find the end.
    std::string_view fillRecord(int fd, std::string_view path);

private:
    std::string_view fill(int fd, std::string_view path, bool oneRecord);
    void grow();

    std::unique_ptr<char[]> bytes_;
    std::size_t capacity_ = 0;
};

/// Open directory /proc/PID or /proc/PID/task/TID of a task. After the task has ended, every read fails with ENOENT or
/// ESRCH, even if the kernel reuses the pid. The parameter `name` is a path below the directory, such as "status" or
/// "fdinfo/3". Several threads may call const functions at once.
class ProcPid {
public:
    ProcPid(UniqueFd dir, std::string path) noexcept : dir_(std::move(dir)), path_(std::move(path)) {}

    [[nodiscard]] int fd() const noexcept { return dir_.get(); }
    /// Returns the path of the directory, for messages.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// Opens the directory task/TID of this process.
    [[nodiscard]] ProcPid thread(pid_t tid) const;

    /// Reads a complete file. The returned view is valid until the next use of `buffer`.
    std::string_view read(const std::string& name, ProcBuffer& buffer) const;
    [[nodiscard]] std::string readFile(const std::string& name) const;
    /// Reads a complete file. Returns nullopt if the file doesn't exist: the kernel lacks it, or the task has ended.
    [[nodiscard]] std::optional<std::string> tryReadFile(const std::string& name) const;

    /// Returns the target of a symbolic link, as readlink(2) shows it. It may end with kDeletedMark.
    [[nodiscard]] std::string readLink(const std::string& name) const;
    /// Returns true if a link such as "exe" has a target that criu may read. For zombies and kernel threads, "exe" has
    /// none.
    [[nodiscard]] bool hasTarget(const std::string& name) const noexcept;
    /// Returns the attributes of the file to which a link such as "exe" leads. Throws Error.
    [[nodiscard]] struct stat statTarget(const std::string& name) const;

    /// Opens a file by open(2) with `flags` and O_CLOEXEC.
    [[nodiscard]] UniqueFd open(const std::string& name, int flags) const;

    /// Writes `text` by a single write(2), because /proc files require this.
    void write(const std::string& name, std::string_view text) const;

    /// Returns the numeric names in a directory such as "task", "fd" or "fdinfo", in the kernel's ascending order.
    [[nodiscard]] std::vector<int> numbers(const std::string& name) const;

private:
    UniqueFd dir_;
    std::string path_;
};

/// Numeric names in a directory of a process, in the kernel's ascending order. The caller reads them in pieces, because
/// the kernel makes an inode for each name that it lists.
class ProcNumbers {
public:
    ProcNumbers(const ProcPid& process, const std::string& name);

    /// Appends some hundreds of names. Returns false at the end.
    bool next(std::vector<int>& found);

private:
    UniqueFd dir_;
    std::string path_;
};

/// Open /proc directory. By default, this is the caller's /proc. The /proc of another pid namespace can be opened by
/// its path.
class ProcDir {
public:
    explicit ProcDir(std::string path = "/proc");

    /// Uses an O_PATH or directory descriptor, for instance of a /proc mount that isn't attached.
    ProcDir(UniqueFd dir, std::string path) noexcept : dir_(std::move(dir)), path_(std::move(path)) {}

    [[nodiscard]] int fd() const noexcept { return dir_.get(); }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// Opens the directory of a process. Throws Error with ENOENT if the process doesn't exist.
    [[nodiscard]] ProcPid open(pid_t pid) const;
    [[nodiscard]] ProcPid self() const;
    /// Opens the directory of the calling thread (Linux 3.17).
    [[nodiscard]] ProcPid threadSelf() const;

    /// Reads the file PID/name. To read several files of a task, open a ProcPid.
    [[nodiscard]] std::string readFile(pid_t pid, std::string_view name) const;
    /// Reads a file that belongs to no task, for instance "sys/kernel/cap_last_cap".
    [[nodiscard]] std::string readFile(const std::string& name) const;

    /// Returns the pids of all processes in this /proc.
    [[nodiscard]] std::vector<int> processes() const;

private:
    UniqueFd dir_;
    std::string path_;
};

}  // namespace criu::kernel
