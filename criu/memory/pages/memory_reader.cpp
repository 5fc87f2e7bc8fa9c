// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/memory_reader.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "criu/base/error.hpp"
#include "criu/image/pagemap.hpp"

namespace criu::memory {

void MemoryReader::read(std::span<const kernel::RemoteRange> ranges, const std::vector<bool>& shared,
                        std::span<std::byte> into) {
    const auto take = [&into](std::uint64_t size) {
        const std::span<std::byte> part = into.first(size);
        into = into.subspan(size);
        return part;
    };
    for (std::size_t at = 0; at < ranges.size();) {
        if (source_.content) {
            source_.content(ranges[at].start, take(ranges[at].size));
            ++at;
        } else if (source_.runningMemory >= 0) {
            readRunning(ranges[at].start, take(ranges[at].size));
            ++at;
        } else if (!source_.pid) {
            readFile(ranges[at].start, take(ranges[at].size));
            ++at;
        } else if (shared[at]) {
            readThroughMem(ranges[at].start, take(ranges[at].size));
            ++at;
        } else {
            const std::size_t first = at;
            std::uint64_t size = 0;
            for (; at < ranges.size() && !shared[at]; ++at)
                size += ranges[at].size;
            readProcess(ranges.subspan(first, at - first), take(size));
        }
    }
}

void MemoryReader::readProcess(std::span<const kernel::RemoteRange> ranges, std::span<std::byte> into) {
    while (!ranges.empty()) {
        const kernel::VmTransfer done = kernel::readMemorySome(source_.pid.value, ranges, into);
        if (done.code == 0)
            return;
        std::uint64_t inRange = done.bytes;
        into = into.subspan(done.bytes);
        while (inRange >= ranges.front().size) {
            inRange -= ranges.front().size;
            ranges = ranges.subspan(1);
        }
        const std::uint64_t address = ranges.front().start + inRange;
        if (done.code != EFAULT || source_.process == nullptr)
            failWith(done.code, "read memory of process {} at {:#x}", source_.pid, address);
        // A range lies within one mapping. If its beginning is unreadable, all of the range is.
        const std::uint64_t rest = ranges.front().size - inRange;
        readThroughMem(address, into.first(rest));
        into = into.subspan(rest);
        ranges = ranges.subspan(1);
    }
}

void MemoryReader::readThroughMem(std::uint64_t address, std::span<std::byte> into) {
    if (!mem_)
        mem_ = source_.process->open("mem", O_RDONLY);
    while (!into.empty()) {
        const ssize_t got = ::pread(mem_.get(), into.data(), into.size(), static_cast<off_t>(address));
        if (got < 0 && errno == EINTR)
            continue;
        if (sys(got, "read memory of process {} at {:#x}", source_.pid, address) == 0)
            fail("memory of process {} at {:#x} can't be read", source_.pid, address);
        address += static_cast<std::uint64_t>(got);
        into = into.subspan(static_cast<std::size_t>(got));
    }
}

void MemoryReader::readRunning(std::uint64_t address, std::span<std::byte> into) const {
    while (!into.empty()) {
        const ssize_t got = ::pread(source_.runningMemory, into.data(), into.size(), static_cast<off_t>(address));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno != EIO && errno != EFAULT)
            failErrno("read memory of process {} at {:#x}", source_.pid, address);
        auto done = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
        if (done == 0) {
            // A result of 0 means that the memory no longer exists, because the process ended or called execve(2).
            done =
                got == 0 ? into.size() : std::min<std::size_t>(into.size(), kImagePageSize - address % kImagePageSize);
            std::memset(into.data(), 0, done);
            source_.lost(address, done);
        }
        address += done;
        into = into.subspan(done);
    }
}

void MemoryReader::readFile(std::uint64_t offset, std::span<std::byte> into) const {
    while (!into.empty()) {
        const ssize_t got = ::pread(source_.fd, into.data(), into.size(), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR)
            continue;
        if (sys(got, "read shared memory at {:#x}", offset) == 0) {
            std::memset(into.data(), 0, into.size());  // the end of the last page lies after the end of the file
            return;
        }
        offset += static_cast<std::uint64_t>(got);
        into = into.subspan(static_cast<std::size_t>(got));
    }
}

}  // namespace criu::memory
