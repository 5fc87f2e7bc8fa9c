// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/mm/process_vm.hpp"

#include <limits.h>

#include <algorithm>
#include <array>

namespace criu::kernel {

namespace {

using Call = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

/// Maximal number of bytes per call: the kernel silently truncates longer transfers (MAX_RW_COUNT with 4 KiB pages).
constexpr std::size_t kCallLimit = 0x7ffff000;

VmTransfer transfer(Call call, pid_t pid, std::span<const RemoteRange> ranges, std::byte* local,
                    std::size_t localSize) noexcept {
    std::array<iovec, IOV_MAX> remote;
    VmTransfer done;
    std::uint64_t into = 0;  // number of bytes of the first remaining range that are already transferred
    while (!ranges.empty()) {
        std::size_t count = 0;
        std::size_t wanted = 0;
        const std::size_t room = std::min(localSize - done.bytes, kCallLimit);
        while (count < ranges.size() && count < remote.size() && wanted < room) {
            const std::uint64_t skipped = count == 0 ? into : 0;
            const std::size_t size = std::min<std::uint64_t>(ranges[count].size - skipped, room - wanted);
            remote[count] = {reinterpret_cast<void*>(ranges[count].start + skipped), size};
            wanted += size;
            ++count;
        }
        if (wanted != 0) {
            const iovec here{local + done.bytes, wanted};
            const ssize_t got = call(pid, &here, 1, remote.data(), count, 0);
            if (got <= 0) {
                done.code = got < 0 ? errno : EFAULT;
                return done;
            }
            done.bytes += static_cast<std::size_t>(got);
            into += static_cast<std::uint64_t>(got);
        } else if (count == 0) {
            // `local` is full although ranges remain: the caller passed a buffer that is too small.
            done.code = EINVAL;
            return done;
        }
        while (!ranges.empty() && into >= ranges.front().size) {
            into -= ranges.front().size;
            ranges = ranges.subspan(1);
        }
    }
    return done;
}

/// Returns the address of the byte at `offset` in the concatenated ranges.
std::uint64_t addressAt(std::span<const RemoteRange> ranges, std::size_t offset) noexcept {
    for (const RemoteRange& range : ranges) {
        if (offset < range.size)
            return range.start + offset;
        offset -= range.size;
    }
    return 0;
}

}  // namespace

VmTransfer readMemorySome(pid_t pid, std::span<const RemoteRange> ranges, std::span<std::byte> local) noexcept {
    return transfer(::process_vm_readv, pid, ranges, local.data(), local.size());
}

VmTransfer writeMemorySome(pid_t pid, std::span<const RemoteRange> ranges, std::span<const std::byte> local) noexcept {
    // The cast is safe: process_vm_writev() only reads from the local iovec, but the type of iov_base lacks const.
    return transfer(::process_vm_writev, pid, ranges, const_cast<std::byte*>(local.data()), local.size());
}

void readMemory(pid_t pid, std::span<const RemoteRange> ranges, std::span<std::byte> local) {
    const VmTransfer done = readMemorySome(pid, ranges, local);
    if (done.code != 0)
        failWith(done.code, "read memory of process {} at {:x}", pid, addressAt(ranges, done.bytes));
}

void readMemory(pid_t pid, std::uint64_t address, std::span<std::byte> local) {
    const RemoteRange range{address, local.size()};
    readMemory(pid, {&range, 1}, local);
}

void writeMemory(pid_t pid, std::span<const RemoteRange> ranges, std::span<const std::byte> local) {
    const VmTransfer done = writeMemorySome(pid, ranges, local);
    if (done.code != 0)
        failWith(done.code, "write memory of process {} at {:x}", pid, addressAt(ranges, done.bytes));
}

void writeMemory(pid_t pid, std::uint64_t address, std::span<const std::byte> local) {
    const RemoteRange range{address, local.size()};
    writeMemory(pid, {&range, 1}, local);
}

}  // namespace criu::kernel
