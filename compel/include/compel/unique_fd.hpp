// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <unistd.h>

#include <utility>

namespace compel {

/// Owner of a descriptor. The destructor closes the descriptor. -1 means no descriptor.
class UniqueFd {
public:
    UniqueFd() noexcept = default;
    explicit UniqueFd(int fd) noexcept : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        reset(other.release());
        return *this;
    }
    UniqueFd(const UniqueFd&) = delete;
    UniqueFd& operator=(const UniqueFd&) = delete;
    ~UniqueFd() { reset(); }

    [[nodiscard]] int get() const noexcept { return fd_; }
    [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }
    explicit operator bool() const noexcept { return valid(); }

    /// Returns the descriptor and makes the caller its owner.
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

    /// Closes the owned descriptor, then owns `fd`. Ignores errors of close(2); if a writer must know them, it calls
    /// fsync(2) or close(2) itself.
    void reset(int fd = -1) noexcept {
        const int old = std::exchange(fd_, fd);
        if (old >= 0 && old != fd)
            ::close(old);
    }

private:
    int fd_ = -1;
};

}  // namespace compel
