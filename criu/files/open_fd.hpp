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

/// A descriptor of criu for a file of somebody else's. If the file system has a server (FUSE), closing asks that, and
/// waits for the answer whatever happens: not even SIGKILL ends it. So such a descriptor is left open by whoever
/// traces, and is closed when criu's process has ended (engine/userspace_filesystems).
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

    /// It is of a file whose file system has a server.
    void leaveOpen() noexcept { leftOpen_ = true; }

private:
    void drop() noexcept {
        if (leftOpen_)
            (void)fd_.release();
    }

    UniqueFd fd_;
    bool leftOpen_ = false;
};

/// A descriptor of a stopped process, and what the kernel says of the open file description behind it.
struct OpenFd {
    HostPid pid;
    int fd = -1;            ///< its number in the process; -1: not a descriptor (exe link, mapped file, cwd, root)
    FileCopy copy;          ///< the same description, in criu (pidfd_getfd); opened O_PATH for those without a number
    struct stat stat {};    ///< of the file
    std::string link;       ///< /proc/PID/fd/N: a path, or "pipe:[123]", "anon_inode:[eventpoll]" …
    int socketFamily = -1;  ///< AF_…; of sockets only
    /// Of sockets, and of what else is in a network namespace: its number in images. FileKindDump::prepare() and dump()
    /// are called by threads that are there.
    std::uint32_t network = 0;
    /// What FileKindDump::prepare() has made of it. Null: nothing.
    ProtobufCMessage* prepared = nullptr;
    bool served = false;    ///< a process answers for its file system (FUSE)
    bool inFlight = false;  ///< found in a socket's queue: pid and fd are criu's own
    kernel::FdInfo info;    ///< position, flags, mount id and lines of the kind

    /// Of a file whose file system has a server; the copy isn't O_PATH, which nobody is asked about when it is closed.
    void setServed() noexcept {
        served = true;
        copy.leaveOpen();
    }
    [[nodiscard]] bool isAnonymous(std::string_view name) const { return link == fmt::format("anon_inode:{}", name); }
    /// Flags of open(2) that belong to the description. O_CLOEXEC, which fdinfo shows among them, is the descriptor's.
    [[nodiscard]] std::uint32_t statusFlags() const { return info.flags & ~static_cast<std::uint32_t>(O_CLOEXEC); }
    /// Whether the process can read the file by this descriptor.
    [[nodiscard]] bool isReadable() const noexcept {
        return fd >= 0 && (info.flags & O_PATH) == 0 && (info.flags & O_ACCMODE) != O_WRONLY;
    }
    /// The kernel's number of the mount that it was opened on; -1 if the kernel doesn't tell.
    [[nodiscard]] int mountId() const;
    /// "fd 7 of pid 12 (pipe:[123])", for messages.
    [[nodiscard]] std::string describe() const;
};

/// Throws Error: the file is on a mount that the tree's mount namespace hasn't.
[[noreturn]] void refuseOutside(const OpenFd& file);

/// Opens a file of the tree for reading. What the process can't read by its own descriptor is opened with the rights of
/// the client that `images` are limited to. Throws Error.
[[nodiscard]] FileCopy openContent(const OpenFd& file, const ImageDir& images);

}  // namespace criu::files
