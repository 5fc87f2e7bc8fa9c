// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/unique_fd.hpp"

namespace criu::kernel {

/// What the kernel puts behind the path of a file that lost its name. A name may also just end so.
inline constexpr std::string_view kDeletedMark = " (deleted)";

/// Memory that /proc files are read into, reused from file to file. One per thread of execution.
class ProcBuffer {
public:
    /// Reads from the descriptor's position to the end. The view is valid until the next call. Throws Error with
    /// read(2)'s errno (ESRCH when the task is gone); `path` is what the message calls the file.
    std::string_view fill(int fd, std::string_view path);

private:
    void grow();

    std::unique_ptr<char[]> bytes_;
    std::size_t capacity_ = 0;
};

/// The directory of one task: /proc/PID, or /proc/PID/task/TID. Holding it pins the identity of the task: after the
/// task is gone every read fails (ENOENT or ESRCH), even if its number is used again. `name`s are relative paths such
/// as "status" or "fdinfo/3". Const calls may be made from several threads at once.
class ProcPid {
public:
    ProcPid(UniqueFd dir, std::string path) noexcept : dir_(std::move(dir)), path_(std::move(path)) {}

    [[nodiscard]] int fd() const noexcept { return dir_.get(); }
    /// For messages.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// task/TID of this process.
    [[nodiscard]] ProcPid thread(pid_t tid) const;

    /// Whole content of a file. The view lives in `buffer` until its next use.
    std::string_view read(const std::string& name, ProcBuffer& buffer) const;
    [[nodiscard]] std::string readFile(const std::string& name) const;
    /// Nothing if the file doesn't exist: the kernel lacks it, or the task is gone.
    [[nodiscard]] std::optional<std::string> tryReadFile(const std::string& name) const;

    /// Target of a symbolic link, as readlink(2) shows it (may end in kDeletedMark).
    [[nodiscard]] std::string readLink(const std::string& name) const;

    /// open(2) with O_CLOEXEC added.
    [[nodiscard]] UniqueFd open(const std::string& name, int flags) const;

    /// Writes `text` with a single write(2), as the files under /proc require.
    void write(const std::string& name, std::string_view text) const;

    /// Entries of a folder that are numbers ("task", "fd", "fdinfo"), in the kernel's order, which is ascending.
    [[nodiscard]] std::vector<int> numbers(const std::string& name) const;

private:
    UniqueFd dir_;
    std::string path_;
};

/// An open /proc, by default the caller's. A /proc of another pid namespace may be given by its path.
class ProcDir {
public:
    explicit ProcDir(std::string path = "/proc");

    /// Adopts an O_PATH or directory descriptor, e.g. of a /proc mounted where no path leads.
    ProcDir(UniqueFd dir, std::string path) noexcept : dir_(std::move(dir)), path_(std::move(path)) {}

    [[nodiscard]] int fd() const noexcept { return dir_.get(); }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// Throws Error with ENOENT when there is no such process.
    [[nodiscard]] ProcPid open(pid_t pid) const;
    [[nodiscard]] ProcPid self() const;

    /// One-off read of PID/name; hold a ProcPid when more than one file of a task is read.
    [[nodiscard]] std::string readFile(pid_t pid, std::string_view name) const;
    /// Read of a file that belongs to no task: "sys/kernel/cap_last_cap".
    [[nodiscard]] std::string readFile(const std::string& name) const;

    /// All processes of this /proc.
    [[nodiscard]] std::vector<int> processes() const;

private:
    UniqueFd dir_;
    std::string path_;
};

}  // namespace criu::kernel
