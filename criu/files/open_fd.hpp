// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <string>
#include <utility>

#include <fmt/format.h>
#include <protobuf-c/protobuf-c.h>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/proc/fdinfo.hpp"

namespace criu {
class ImageDir;
}

namespace criu::files {

/// A descriptor of criu for a file of another process. On a userspace file system (FUSE), close(2) waits for the
/// server, and not even SIGKILL ends the wait. So the tracer leaves such a descriptor open until criu's process ends
/// (engine/userspace_filesystems).
class FileCopy {
public:
    FileCopy() = default;
    FileCopy(UniqueFd fd, bool leftOpen = false) noexcept : fd_(std::move(fd)), leftOpen_(leftOpen) {}
    FileCopy(FileCopy&&) noexcept = default;
    FileCopy& operator=(FileCopy&& other) noexcept {
        drop();
        fd_ = std::move(other.fd_);
        leftOpen_ = other.leftOpen_;
        return *this;
    }
    ~FileCopy() { drop(); }

    [[nodiscard]] int get() const noexcept { return fd_.get(); }
    explicit operator bool() const noexcept { return static_cast<bool>(fd_); }

    /// Called for a file on a userspace file system.
    void leaveOpen() noexcept { leftOpen_ = true; }

private:
    void drop() noexcept {
        if (leftOpen_)
            (void)fd_.release();
    }

    UniqueFd fd_;
    bool leftOpen_ = false;
};

/// A descriptor of a stopped process and the kernel's data about its open file description.
struct OpenFd {
    HostPid pid;
    int fd = -1;            ///< descriptor number in the process; -1: none (exe link, mapped file, cwd, root)
    FileCopy copy;          ///< the description in criu (pidfd_getfd); O_PATH for files without a descriptor number
    struct stat stat {};    ///< status of the file
    std::string link;       ///< /proc/PID/fd/N: a path, or "pipe:[123]", "anon_inode:[eventpoll]" …
    int socketFamily = -1;  ///< AF_… of a socket
    /// Namespace id of the network namespace of a socket, and of other files that have one. Threads in that namespace
    /// call FileKindDump::prepare() and dump().
    std::uint32_t network = 0;
    /// Result of FileKindDump::prepare(); null: none.
    ProtobufCMessage* prepared = nullptr;
    bool served = false;    ///< on a userspace file system (FUSE)
    bool inFlight = false;  ///< in a socket's queue: pid and fd are criu's
    kernel::FdInfo info;    ///< position, flags, mount id and lines of the fd kind

    /// Marks a file on a userspace file system. The copy isn't O_PATH, whose close(2) wouldn't reach the server.
    void setServed() noexcept {
        served = true;
        copy.leaveOpen();
    }
    [[nodiscard]] bool isAnonymous(std::string_view name) const { return link == fmt::format("anon_inode:{}", name); }
    /// Returns the flags of open(2) that belong to the description. fdinfo also shows O_CLOEXEC, which belongs to the
    /// descriptor.
    [[nodiscard]] std::uint32_t statusFlags() const { return info.flags & ~static_cast<std::uint32_t>(O_CLOEXEC); }
    /// True if the process can read the file by this descriptor.
    [[nodiscard]] bool isReadable() const noexcept {
        return fd >= 0 && (info.flags & O_PATH) == 0 && (info.flags & O_ACCMODE) != O_WRONLY;
    }
    /// Returns the mount id of the file; -1 if the kernel doesn't show it.
    [[nodiscard]] int mountId() const;
    /// Returns "fd 7 of pid 12 (pipe:[123])", for messages.
    [[nodiscard]] std::string describe() const;
};

/// Throws Error: the file's mount isn't in the tree's mount namespace.
[[noreturn]] void refuseOutside(const OpenFd& file);

/// Opens a file of the tree for reading. If the process can't read it by its descriptor, uses the credentials of the
/// client that `images` are limited to. Throws Error.
[[nodiscard]] FileCopy openContent(const OpenFd& file, const ImageDir& images);

}  // namespace criu::files
