// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/pages_writer.hpp"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "criu/base/error.hpp"
#include "criu/base/whole_io.hpp"
#include "criu/image/pagemap.hpp"
#include "criu/memory/pages/zero.hpp"

namespace criu::memory {
namespace {

/// Size of the mapping of a pages file, independent of the file size. The mapping uses addresses, but no memory.
constexpr std::uint64_t kWindow = std::uint64_t{1} << 40;

/// Number of bytes that a thread copies through the mapping before it tries to take the lock again. A larger value
/// saves calls. A smaller value makes threads use write(2) more often, which takes less processor time.
constexpr std::size_t kWriteStep = std::size_t{128} << 10;

bool isTmpfs(int fd) noexcept {
    struct statfs system {};
    return ::fstatfs(fd, &system) == 0 && system.f_type == TMPFS_MAGIC;
}

}  // namespace

void PagesWriter::share() noexcept {
    if (!isTmpfs(fd_))
        return;
    shared_ = true;
    void* const at = ::mmap(nullptr, kWindow, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_, 0);
    if (at == MAP_FAILED)
        return;  // the mapping fails if addresses are limited (RLIMIT_AS)
    window_ = Mapping(at, kWindow);
    mappable_ = true;
}

std::uint64_t PagesWriter::write(std::uint64_t offset, std::span<const std::byte> content) {
    return forEachNonZero(content, [&](std::size_t at, std::span<const std::byte> run) { writeRun(offset + at, run); });
}

void PagesWriter::writeRun(std::uint64_t offset, std::span<const std::byte> run) {
    if (!shared_)
        return put(offset, run);
    while (!run.empty()) {
        std::unique_lock turn(turn_, std::try_to_lock);
        const std::size_t step = std::min(run.size(), kWriteStep);
        if (!turn.owns_lock() && putMapped(offset, run.first(step))) {
            offset += step;
            run = run.subspan(step);
            continue;
        }
        if (!turn.owns_lock())
            turn.lock();
        return put(offset, run);
    }
}

void PagesWriter::put(std::uint64_t offset, std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
        const ssize_t done = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (done < 0 && (errno == EINTR || endDirectIo(fd_)))
            continue;
        sys(done, "write {} bytes at {:#x}", bytes.size(), offset);
        offset += static_cast<std::uint64_t>(done);
        bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
}

bool PagesWriter::putMapped(std::uint64_t offset, std::span<const std::byte> bytes) noexcept {
    if (!mappable_ || offset + bytes.size() > kWindow)
        return false;
    char* const at = window_.as<char>() + offset;
    // A store to a page that the kernel can't allocate would raise SIGBUS. MADV_POPULATE_WRITE instead returns an
    // error. The caller then uses write(2), which reports the cause.
    if (::madvise(at, bytes.size(), MADV_POPULATE_WRITE) != 0) {
        mappable_ = false;
        return false;
    }
    std::memcpy(at, bytes.data(), bytes.size());
    // Removes the pages from this process' page tables, so that they don't count as criu's memory. They stay in the
    // file.
    ::madvise(at, bytes.size(), MADV_DONTNEED);
    return true;
}

}  // namespace criu::memory
