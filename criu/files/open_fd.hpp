// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <exception>
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

/// Descriptor of criu for a file of another process. On a userspace file system (FUSE), close(2) waits for the server,
/// and not even SIGKILL ends this wait. criu leaves such a descriptor open until criu itself ends
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

    /// Makes the destructor leave the descriptor open. Needed for a file on a userspace file system.
    void leaveOpen() noexcept { leftOpen_ = true; }

private:
    void drop() noexcept {
        if (leftOpen_)
            (void)fd_.release();
    }

    UniqueFd fd_;
    bool leftOpen_ = false;
};

/// Descriptor of a stopped process, with the kernel's data about its open file description.
struct OpenFd {
    HostPid pid;
    /// Thread of the process for /proc and kcmp(2). It isn't `pid` if the main thread has ended.
    HostPid actor;
    /// Descriptor number in the process; -1 for an exe link, a mapped file, a working directory or a root directory.
    int fd = -1;
    FileCopy copy;  ///< descriptor of criu for the same open file description (pidfd_getfd(2)); O_PATH if `fd` is -1
    struct stat stat {};    ///< status of the file
    std::string link;       ///< text of the link /proc/PID/fd/N: a path, or "pipe:[123]", "anon_inode:[eventpoll]" …
    int socketFamily = -1;  ///< AF_… of a socket; -1 for other files
    /// Namespace id of the network namespace to which a socket or another file belongs. FileKindDump::prepare() and
    /// dump() run in threads in this namespace.
    std::uint32_t network = 0;
    /// Result of FileKindDump::prepare(), or null.
    ProtobufCMessage* prepared = nullptr;
    /// Error of FileKindDump::prepare(), which a dry run collects later; null otherwise.
    std::exception_ptr failure;
    bool served = false;    ///< true if the file is on a userspace file system (FUSE)
    bool inFlight = false;  ///< true if the file is in the queue of a socket; `pid` and `fd` are then criu's
    kernel::FdInfo info;    ///< position, flags, mount id, and lines of the fd kind in fdinfo

    /// Marks a file on a userspace file system. criu then never closes `copy`, because close(2) of this descriptor
    /// would wait for the server (unlike for O_PATH).
    void setServed() noexcept {
        served = true;
        copy.leaveOpen();
    }
    [[nodiscard]] bool isAnonymous(std::string_view name) const { return link == fmt::format("anon_inode:{}", name); }
    /// Returns the flags of open(2) that belong to the open file description. fdinfo also shows O_CLOEXEC, which
    /// belongs to the descriptor.
    [[nodiscard]] std::uint32_t statusFlags() const { return info.flags & ~static_cast<std::uint32_t>(O_CLOEXEC); }
    /// Returns true if the process can read the file by this descriptor.
    [[nodiscard]] bool isReadable() const noexcept {
        return fd >= 0 && (info.flags & O_PATH) == 0 && (info.flags & O_ACCMODE) != O_WRONLY;
    }
    /// Returns the mount id of the file, or -1 if the kernel doesn't show it.
    [[nodiscard]] int mountId() const;
    /// Returns a text such as "fd 7 of pid 12 (pipe:[123])", for error messages.
    [[nodiscard]] std::string describe() const;
};

/// Throws Error with the message that the file's mount isn't in the tree's mount namespace.
[[noreturn]] void refuseOutside(const OpenFd& file);

/// Opens a file of the tree for reading. If the descriptor of the process isn't readable, opens the file by its path
/// with the client's credentials, to which `images` is limited. Throws Error.
[[nodiscard]] FileCopy openContent(const OpenFd& file, const ImageDir& images);

}  // namespace criu::files
