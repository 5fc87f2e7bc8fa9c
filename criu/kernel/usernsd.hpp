// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <thread>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/fd_store.hpp"

namespace criu::kernel {

/// What a process in a user namespace asks the criu outside of it to do, because the kernel wants rights in the first
/// user namespace for it. The object is made by criu, which goes on to serve(), and inherited by those processes.
/// The calls may be made by any of them, by several threads at once.
class Usernsd {
public:
    Usernsd();
    ~Usernsd();
    Usernsd(const Usernsd&) = delete;
    Usernsd& operator=(const Usernsd&) = delete;

    /// Moves what the processes inherit to where it is in nobody's way.
    void inherit(FdStore& store);

    /// In criu itself: answers until stop() or the end of this object.
    void serve();
    void stop() noexcept;

    /// open(2) of a path below a directory, which is as the root for it. An invalid descriptor and errno on failure.
    [[nodiscard]] UniqueFd openBelow(int directory, const std::string& path, int flags) const;
    /// Opens what a descriptor refers to once more.
    [[nodiscard]] UniqueFd openAgain(int fd, int flags) const;
    /// open_by_handle_at(2); `handle` is a whole struct file_handle.
    [[nodiscard]] UniqueFd openByHandle(int mount, std::span<const std::byte> handle, int flags) const;
    /// setsockopt(2) of a number on level SOL_SOCKET. 0, or errno.
    [[nodiscard]] int setSocketOption(int socket, int option, int value) const;
    /// Has a pipe hold this many bytes. 0, or errno.
    [[nodiscard]] int setPipeSize(int pipe, int bytes) const;

private:
    UniqueFd ours_;
    UniqueFd theirs_;
    std::thread server_;
};

}  // namespace criu::kernel
