// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <thread>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/fd_store.hpp"

namespace criu::kernel {

/// Caller of system calls that the kernel allows only in the initial user namespace, for processes in another user
/// namespace. criu creates the object and runs serve(). Restored processes inherit the object. All these processes may
/// send requests, even from several threads at once.
class Usernsd {
public:
    Usernsd();
    ~Usernsd();
    Usernsd(const Usernsd&) = delete;
    Usernsd& operator=(const Usernsd&) = delete;

    /// Moves the inherited socket into the range of inherited descriptors.
    void inherit(FdStore& store);

    /// Starts a thread of criu that answers requests until stop() or the destructor.
    void serve();
    void stop() noexcept;

    /// Calls open(2) for a path below `directory`, which acts as the root directory. After a failure, returns an
    /// invalid descriptor and sets errno.
    [[nodiscard]] UniqueFd openBelow(int directory, const std::string& path, int flags) const;
    /// Opens the file of the descriptor `fd` again, with `flags`.
    [[nodiscard]] UniqueFd openAgain(int fd, int flags) const;
    /// Calls open_by_handle_at(2). `handle` contains a complete struct file_handle.
    [[nodiscard]] UniqueFd openByHandle(int mount, std::span<const std::byte> handle, int flags) const;
    /// Sets an integer option of level SOL_SOCKET. Returns 0 or the errno.
    [[nodiscard]] int setSocketOption(int socket, int option, int value) const;
    /// Sets the capacity of a pipe in bytes. Returns 0 or the errno.
    [[nodiscard]] int setPipeSize(int pipe, int bytes) const;

private:
    UniqueFd ours_;
    UniqueFd theirs_;
    std::thread server_;
};

}  // namespace criu::kernel
