// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/remote_memory.hpp>

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "fail.hpp"

namespace compel {

namespace {

iovec remoteWindow(RemoteAddress address, std::size_t size) noexcept {
    return {reinterpret_cast<void*>(address), size};  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace

int RemoteMemory::memFile() const {
    if (!mem_) {
        const auto path = join("/proc/", pid_, "/mem");
        mem_.reset(::open(path.c_str(), O_RDWR | O_CLOEXEC));
        if (!mem_)
            failErrno("open ", path);
    }
    return mem_.get();
}

std::size_t RemoteMemory::readSome(RemoteAddress address, std::span<std::byte> into) const {
    std::size_t done = 0;
    while (done < into.size()) {
        const iovec local{into.data() + done, into.size() - done};
        const iovec remote = remoteWindow(address + done, local.iov_len);
        auto count = ::process_vm_readv(pid_, &local, 1, &remote, 1, 0);
        if (count < 0 && errno == ESRCH)
            throw TraceeGone(ESRCH, join("read memory of process ", pid_, " at ", Hex{address}));
        if (count <= 0) {
            do {
                count = ::pread(memFile(), local.iov_base, local.iov_len, static_cast<off_t>(address + done));
            } while (count < 0 && errno == EINTR);
        }
        if (count <= 0)
            break;
        done += static_cast<std::size_t>(count);
    }
    return done;
}

void RemoteMemory::read(RemoteAddress address, std::span<std::byte> into) const {
    const auto done = readSome(address, into);
    if (done < into.size())
        failWith(EFAULT, "read ", into.size(), " bytes of process ", pid_, " at ", Hex{address}, ": stopped at ",
                 Hex{address + done});
}

void RemoteMemory::write(RemoteAddress address, std::span<const std::byte> from) const {
    std::size_t done = 0;
    while (done < from.size()) {
        const auto rest = from.subspan(done);
        const iovec local{const_cast<std::byte*>(rest.data()), rest.size()};
        const iovec remote = remoteWindow(address + done, rest.size());
        auto count = ::process_vm_writev(pid_, &local, 1, &remote, 1, 0);
        if (count < 0 && errno == ESRCH)
            throw TraceeGone(ESRCH, join("write memory of process ", pid_, " at ", Hex{address}));
        if (count <= 0) {
            do {
                count = ::pwrite(memFile(), rest.data(), rest.size(), static_cast<off_t>(address + done));
            } while (count < 0 && errno == EINTR);
            if (count <= 0) {
                const int code = count < 0 ? errno : EFAULT;
                if (poke(address + done, rest))
                    return;
                failWith(code, "write ", from.size(), " bytes to process ", pid_, " at ", Hex{address}, ": stopped at ",
                         Hex{address + done});
            }
        }
        done += static_cast<std::size_t>(count);
    }
}

std::size_t RemoteMemory::writeAllowed(RemoteAddress address, std::span<const std::byte> from) const {
    const iovec local{const_cast<std::byte*>(from.data()), from.size()};
    const iovec remote = remoteWindow(address, from.size());
    const auto count = ::process_vm_writev(pid_, &local, 1, &remote, 1, 0);
    return count < 0 ? 0 : static_cast<std::size_t>(count);
}

bool RemoteMemory::poke(RemoteAddress address, std::span<const std::byte> from) const {
    constexpr std::size_t wordSize = sizeof(long);
    while (!from.empty()) {
        const RemoteAddress aligned = address & ~RemoteAddress{wordSize - 1};
        const std::size_t offset = address - aligned;
        const std::size_t size = std::min(wordSize - offset, from.size());
        long word = 0;
        if (::syscall(SYS_ptrace, static_cast<long>(PTRACE_PEEKDATA), static_cast<long>(pid_), aligned, &word) < 0)
            return false;
        std::memcpy(reinterpret_cast<std::byte*>(&word) + offset, from.data(), size);
        if (::syscall(SYS_ptrace, static_cast<long>(PTRACE_POKEDATA), static_cast<long>(pid_), aligned, word) < 0)
            return false;
        address += size;
        from = from.subspan(size);
    }
    return true;
}

std::string RemoteMemory::readString(RemoteAddress address, std::size_t limit) const {
    std::string text;
    std::array<std::byte, 256> block{};
    while (text.size() < limit) {
        const auto want = std::min(block.size(), limit - text.size());
        const auto got = readSome(address + text.size(), std::span(block).first(want));
        const auto* const first = reinterpret_cast<const char*>(block.data());
        const auto* const zero = std::find(first, first + got, '\0');
        text.append(first, zero);
        if (zero != first + got)
            return text;
        if (got < want)
            failWith(EFAULT, "read text of process ", pid_, " at ", Hex{address});
    }
    fail("read text of process ", pid_, " at ", Hex{address}, ": longer than ", limit, " bytes");
}

}  // namespace compel
