// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/unique_fd.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

namespace compel {

/// An address in another process. It can't be dereferenced here.
using RemoteAddress = std::uint64_t;

/// A system call instruction in executable memory of a process.
struct SyscallInstruction {
    SyscallInstruction(RemoteAddress at, RemoteAddress returning = 0) noexcept : address(at), restorer(returning) {}

    RemoteAddress address;
    /// Code of the process that calls rt_sigreturn(2). A return instruction follows `address` then, so that a thread
    /// whose tracer dies can go on through a signal frame. 0: the process has no such code.
    RemoteAddress restorer;
};

/// The memory of another process, reached with process_vm_readv(2)/writev and, where a mapping's protection forbids
/// that, through /proc/PID/mem, which passes over protections for a tracer (writes to private mappings then copy the
/// page, as for a debugger's breakpoint). Where the kernel forbids even this (proc_mem.force_override), words are
/// poked, which needs `pid` to be stopped and traced by the calling thread.
///
/// Not to be used by several threads at once, apart from calls that process_vm_* satisfies.
class RemoteMemory {
public:
    explicit RemoteMemory(pid_t pid) noexcept : pid_(pid) {}

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    /// All of it, or Error naming process and address.
    void read(RemoteAddress address, std::span<std::byte> into) const;
    void write(RemoteAddress address, std::span<const std::byte> from) const;

    /// As much from `address` on as is mapped; 0 if nothing is.
    [[nodiscard]] std::size_t readSome(RemoteAddress address, std::span<std::byte> into) const;

    /// Writes as much from `address` on as the mappings' protection allows the process itself, and returns the size.
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

    /// Text up to its terminating zero; Error if there is none within `limit` bytes.
    [[nodiscard]] std::string readString(RemoteAddress address, std::size_t limit = 65536) const;

private:
    int memFile() const;
    bool poke(RemoteAddress address, std::span<const std::byte> from) const;

    pid_t pid_;
    mutable UniqueFd mem_;
};

}  // namespace compel
