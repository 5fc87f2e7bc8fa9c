// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/read_targets.hpp"

#include <limits.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/whole_io.hpp"

namespace criu::memory {
namespace {

/// Removes up to `bytes` bytes from the front of the targets, and calls `use` with each removed piece. If a target is
/// larger, its remaining part stays in the list.
template <typename Use>
void removeFront(std::span<iovec>& targets, std::uint64_t bytes, const Use& use) {
    while (!targets.empty() && bytes != 0) {
        iovec& target = targets.front();
        const iovec piece{target.iov_base, std::min<std::uint64_t>(bytes, target.iov_len)};
        use(piece);
        bytes -= piece.iov_len;
        target.iov_base = static_cast<char*>(target.iov_base) + piece.iov_len;
        target.iov_len -= piece.iov_len;
        if (target.iov_len == 0)
            targets = targets.subspan(1);
    }
}

}  // namespace

void readFrom(int file, std::uint64_t offset, std::span<iovec> targets) {
    while (!targets.empty()) {
        const auto count = static_cast<int>(std::min<std::size_t>(targets.size(), IOV_MAX));
        const ssize_t got = ::preadv(file, targets.data(), count, static_cast<off_t>(offset));
        if (got < 0 && (errno == EINTR || endDirectIo(file)))
            continue;
        if (got < 0)
            failErrno("read memory content at {:#x} of the pages file", offset);
        if (got == 0)
            fail("the pages file ends at {:#x}, within the memory's content", offset);
        offset += static_cast<std::uint64_t>(got);
        removeFront(targets, static_cast<std::uint64_t>(got), [](const iovec&) {});
    }
}

std::vector<iovec> takeFront(std::span<iovec>& targets, std::uint64_t bytes) {
    std::vector<iovec> front;
    removeFront(targets, bytes, [&front](const iovec& piece) { front.push_back(piece); });
    return front;
}

std::uint64_t sizeOf(std::span<const iovec> targets) noexcept {
    std::uint64_t bytes = 0;
    for (const iovec& target : targets)
        bytes += target.iov_len;
    return bytes;
}

}  // namespace criu::memory
