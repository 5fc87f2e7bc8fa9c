// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/whole_io.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "criu/base/error.hpp"

namespace criu {

void readAt(int fd, std::span<std::byte> into, std::uint64_t offset) {
    while (!into.empty()) {
        const ssize_t got = ::pread(fd, into.data(), into.size(), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR)
            continue;
        if (sys(got, "read {} bytes at {:#x}", into.size(), offset) == 0)
            fail("the file ends at {:#x}, where {} more bytes should be", offset, into.size());
        into = into.subspan(static_cast<std::size_t>(got));
        offset += static_cast<std::uint64_t>(got);
    }
}

void writeAt(int fd, std::span<const std::byte> from, std::uint64_t offset) {
    while (!from.empty()) {
        const ssize_t done = ::pwrite(fd, from.data(), from.size(), static_cast<off_t>(offset));
        if (done < 0 && errno == EINTR)
            continue;
        sys(done, "write {} bytes at {:#x}", from.size(), offset);
        from = from.subspan(static_cast<std::size_t>(done));
        offset += static_cast<std::uint64_t>(done);
    }
}

void closeWritten(UniqueFd file, std::string_view name) {
    if (::close(file.release()) < 0)
        failErrno("{}: close", name);
}

void useDirectIo(int fd) noexcept {
    const int code = errno;
    if (const int flags = ::fcntl(fd, F_GETFL); flags >= 0)
        (void)::fcntl(fd, F_SETFL, flags | O_DIRECT);
    errno = code;
}

bool endDirectIo(int fd) noexcept {
    if (errno != EINVAL)
        return false;
    const int flags = ::fcntl(fd, F_GETFL);
    const bool ended = flags >= 0 && (flags & O_DIRECT) != 0 && ::fcntl(fd, F_SETFL, flags & ~O_DIRECT) == 0;
    errno = EINVAL;
    return ended;
}

}  // namespace criu
