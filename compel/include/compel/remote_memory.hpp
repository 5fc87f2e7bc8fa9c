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

/// Address in another process. It can't be dereferenced here.
using RemoteAddress = std::uint64_t;

/// A system call instruction in executable memory of a process.
struct SyscallInstruction {
    SyscallInstruction(RemoteAddress at, RemoteAddress returning = 0) noexcept : address(at), restorer(returning) {}

    RemoteAddress address;
    /// Address of code that calls rt_sigreturn(2); 0 if the process has none. If it isn't 0, a return instruction
    /// follows `address`: a thread whose tracer dies then continues through a signal frame.
    RemoteAddress restorer;
};

/// Memory of another process. Uses process_vm_readv(2) and process_vm_writev(2). Where a mapping's protection forbids
/// these, it uses /proc/PID/mem, which ignores protections for a tracer; writes to private mappings then copy the page.
/// Where the kernel forbids that, too (proc_mem.force_override), it pokes words. That needs `pid` to be stopped and
/// traced by the calling thread.
///
/// Several threads must not use one object at the same time, except for calls that process_vm_* satisfies.
class RemoteMemory {
public:
    explicit RemoteMemory(pid_t pid) noexcept : pid_(pid) {}

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    /// Reads the whole range. Throws Error with process and address.
    void read(RemoteAddress address, std::span<std::byte> into) const;
    void write(RemoteAddress address, std::span<const std::byte> from) const;

    /// Reads the mapped bytes from `address` on and returns their number; 0 if nothing is mapped there.
    [[nodiscard]] std::size_t readSome(RemoteAddress address, std::span<std::byte> into) const;

    /// Writes from `address` on as far as the mappings' protection allows the process itself. Returns the number of
    /// bytes.
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

    /// Returns the text up to its terminating zero. Throws Error if there is none within `limit` bytes.
    [[nodiscard]] std::string readString(RemoteAddress address, std::size_t limit = 65536) const;

private:
    int memFile() const;
    bool poke(RemoteAddress address, std::span<const std::byte> from) const;

    pid_t pid_;
    mutable UniqueFd mem_;
};

}  // namespace compel
