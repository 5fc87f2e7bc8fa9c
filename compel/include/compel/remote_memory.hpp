// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/unique_fd.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace compel {

/// Address in the memory of another process.
using RemoteAddress = std::uint64_t;

/// Addresses of a system call instruction and of a restorer in executable memory of a process.
struct SyscallInstruction {
    SyscallInstruction(RemoteAddress at, RemoteAddress returning = 0) noexcept : address(at), restorer(returning) {}

    RemoteAddress address;
    /// Address of code that calls rt_sigreturn(2); 0 if the process has no such code. If it isn't 0, a return
    /// instruction follows the instruction at `address`. By both, a thread whose tracer dies continues through a signal
    /// frame.
    RemoteAddress restorer;
};

/// Place of a system call instruction and of a restorer in a library that several processes map.
struct LibraryCode {
    std::string name;             ///< name of the library's mapping in /proc/PID/maps
    std::uint64_t size = 0;       ///< size of this mapping in bytes
    std::uint64_t returning = 0;  ///< offset of the instruction in the mapping; a return instruction follows it
    std::uint64_t restorer = 0;   ///< offset of the restorer in the mapping
};
/// Libraries in which earlier searches have found both. Because a process may map other content under a known name, a
/// search compares the bytes at these places.
using KnownLibraries = std::vector<LibraryCode>;

/// Reader and writer of another process' memory, by process_vm_readv(2) and process_vm_writev(2). If a mapping's
/// protection forbids these calls, uses /proc/PID/mem, which ignores protections for a tracer. If the kernel forbids
/// this as well (proc_mem.force_override), uses PTRACE_POKEDATA. For this, `pid` must be stopped and traced by the
/// calling thread.
///
/// Several threads may use one object at the same time only for memory that process_vm_readv(2) or process_vm_writev(2)
/// can access.
class RemoteMemory {
public:
    explicit RemoteMemory(pid_t pid) noexcept : pid_(pid) {}

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    /// Reads `into.size()` bytes. If a part can't be read, throws Error with process and address.
    void read(RemoteAddress address, std::span<std::byte> into) const;
    void write(RemoteAddress address, std::span<const std::byte> from) const;

    /// Reads bytes from `address` until the first unmapped address, at most `into.size()`. Returns their number; 0 if
    /// `address` isn't mapped.
    [[nodiscard]] std::size_t readSome(RemoteAddress address, std::span<std::byte> into) const;

    /// Writes bytes from `address` until the first address to which the process itself may not write. Returns their
    /// number.
    [[nodiscard]] std::size_t writeAllowed(RemoteAddress address, std::span<const std::byte> from) const;

    template <typename T>
    requires std::is_trivially_copyable_v<T>
    [[nodiscard]] T readValue(RemoteAddress address) const {
        T value{};
        read(address, std::as_writable_bytes(std::span(&value, 1)));
        return value;
    }

    template <typename T>
    requires std::is_trivially_copyable_v<T>
    void writeValue(RemoteAddress address, const T& value) const {
        write(address, std::as_bytes(std::span(&value, 1)));
    }

    /// Returns the text at `address` up to its terminating zero. Throws Error if the text has more than `limit` bytes.
    [[nodiscard]] std::string readString(RemoteAddress address, std::size_t limit = 65536) const;

private:
    int memFile() const;
    bool poke(RemoteAddress address, std::span<const std::byte> from) const;

    pid_t pid_;
    mutable UniqueFd mem_;
};

}  // namespace compel
