// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages_reader.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "criu/base/error.hpp"

namespace criu::memory {

void PagesReader::read(std::span<const kernel::RemoteRange> ranges, std::span<std::byte> into) {
    if (source_.pid != 0)
        return source_.process != nullptr ? readApart(ranges, into) : readProcess(ranges, into);
    for (const kernel::RemoteRange& range : ranges) {
        readFile(range.start, into.first(range.size));
        into = into.subspan(range.size);
    }
}

void PagesReader::readApart(std::span<const kernel::RemoteRange> ranges, std::span<std::byte> into) {
    // Documentation/admin-guide/mm/pagemap.rst: bit 56, page exclusively mapped; bit 63, page present. Pages that are
    // swapped out are read in for this process alone.
    constexpr std::uint64_t kExclusive = std::uint64_t{1} << 56;
    constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
    if (!pagemap_)
        pagemap_ = source_.process->open("pagemap", O_RDONLY);

    std::vector<kernel::RemoteRange> own;  // gathered as long as nothing shared comes between
    std::size_t ownBytes = 0;
    const auto readOwn = [&] {
        readProcess(own, into.first(ownBytes));
        into = into.subspan(ownBytes);
        own.clear();
        ownBytes = 0;
    };
    for (const kernel::RemoteRange& range : ranges) {
        entries_.resize(range.size / kPageSize);
        const auto wanted = static_cast<ssize_t>(entries_.size() * sizeof(entries_[0]));
        const auto at = static_cast<off_t>(range.start / kPageSize * sizeof(entries_[0]));
        if (::pread(pagemap_.get(), entries_.data(), static_cast<std::size_t>(wanted), at) != wanted)
            failErrno("read the page map of process {} at {:#x}", source_.pid, range.start);
        const auto shared = [&](std::size_t page) { return (entries_[page] & (kPresent | kExclusive)) == kPresent; };
        for (std::size_t page = 0; page < entries_.size();) {
            std::size_t end = page + 1;
            while (end < entries_.size() && shared(end) == shared(page))
                ++end;
            const kernel::RemoteRange run{range.start + page * kPageSize, (end - page) * kPageSize};
            if (shared(page)) {
                readOwn();
                readThroughMem(run.start, into.first(run.size));
                into = into.subspan(run.size);
            } else {
                own.push_back(run);
                ownBytes += run.size;
            }
            page = end;
        }
    }
    readOwn();
}

void PagesReader::readProcess(std::span<const kernel::RemoteRange> ranges, std::span<std::byte> into) {
    while (!ranges.empty()) {
        const kernel::VmTransfer done = kernel::readMemorySome(source_.pid, ranges, into);
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
        // The process itself mayn't read this; a tracer may, through its mem file. A range lies in one mapping.
        const std::uint64_t rest = ranges.front().size - inRange;
        readThroughMem(address, into.first(rest));
        into = into.subspan(rest);
        ranges = ranges.subspan(1);
    }
}

void PagesReader::readThroughMem(std::uint64_t address, std::span<std::byte> into) {
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

void PagesReader::readFile(std::uint64_t offset, std::span<std::byte> into) const {
    while (!into.empty()) {
        const ssize_t got = ::pread(source_.fd, into.data(), into.size(), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR)
            continue;
        if (sys(got, "read shared memory at {:#x}", offset) == 0) {
            std::memset(into.data(), 0, into.size());  // beyond the end, in the last page
            return;
        }
        offset += static_cast<std::uint64_t>(got);
        into = into.subspan(static_cast<std::size_t>(got));
    }
}

}  // namespace criu::memory
