// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <string>

#include <fmt/format.h>
#include <protobuf-c/protobuf-c.h>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/fdinfo.hpp"

namespace criu::files {

/// A descriptor of a stopped process, and what the kernel says of the open file description behind it.
struct OpenFd {
    HostPid pid;
    int fd = -1;            ///< its number in the process; -1: not a descriptor (exe link, mapped file, cwd, root)
    UniqueFd copy;          ///< the same description, in criu (pidfd_getfd); opened O_PATH for those without a number
    struct stat stat {};    ///< of the file
    std::string link;       ///< /proc/PID/fd/N: a path, or "pipe:[123]", "anon_inode:[eventpoll]" …
    int socketFamily = -1;  ///< AF_…; of sockets only
    /// Of sockets, and of what else is in a network namespace: its number in images. FileKindDump::prepare() and dump()
    /// are called by threads that are there.
    std::uint32_t network = 0;
    /// What FileKindDump::prepare() has made of it. Null: nothing.
    ProtobufCMessage* prepared = nullptr;
    bool inFlight = false;  ///< found in a socket's queue: pid and fd are criu's own
    kernel::FdInfo info;    ///< position, flags, mount id and lines of the kind

    [[nodiscard]] bool isAnonymous(std::string_view name) const { return link == fmt::format("anon_inode:{}", name); }
    /// Flags of open(2) that belong to the description. O_CLOEXEC, which fdinfo shows among them, is the descriptor's.
    [[nodiscard]] std::uint32_t statusFlags() const { return info.flags & ~static_cast<std::uint32_t>(O_CLOEXEC); }
    /// "fd 7 of pid 12 (pipe:[123])", for messages.
    [[nodiscard]] std::string describe() const;
};

}  // namespace criu::files
