// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <linux/io_uring.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/mapping.hpp"
#include "criu/base/unique_fd.hpp"

/// Functions with which criu reads and creates rings of io_uring(7).
namespace criu::kernel {

struct IoUringBuffer {
    std::uint32_t slot = 0;
    std::uint64_t address = 0;
    std::uint64_t size = 0;
};

struct IoUringFile {
    std::uint32_t slot = 0;
    std::string path;  ///< path in which the kernel escapes blanks, newlines and backslashes in octal
};

/// State of a ring from /proc/PID/fdinfo (io_uring/fdinfo.c). Head and tail are counters that can exceed the ring size:
/// counter & mask is the index in the ring.
struct IoUringInfo {
    std::uint32_t sqMask = 0;
    std::uint32_t sqTail = 0;
    std::uint32_t sqTaken = 0;  ///< total number of requests that the kernel has taken from the ring (CachedSqHead)
    std::uint32_t cqMask = 0;
    std::uint32_t cqHead = 0;
    std::uint32_t cqPosted = 0;      ///< total number of completions that the kernel has posted (CachedCqTail)
    bool polledByKernel = false;     ///< true if a kernel thread submits requests (IORING_SETUP_SQPOLL)
    std::int32_t thread = -1;        ///< tid of this kernel thread in the first pid namespace of the machine
    std::uint32_t fileSlots = 0;     ///< size of the registered file table, empty slots included
    std::uint32_t bufferSlots = 0;   ///< size of the registered buffer table, empty slots included
    std::vector<IoUringFile> files;  ///< registered files in non-empty slots
    std::vector<IoUringBuffer> buffers;
    std::uint32_t waiting = 0;     ///< number of requests that wait until a file is ready
    std::uint32_t overflowed = 0;  ///< number of completions that didn't fit into the ring
    bool personalities = false;    ///< true if the program has registered credentials
    bool busyPolling = false;      ///< true if NAPI busy polling is enabled
    std::uint32_t sqShown = 0;     ///< number of lines about requests that the program hasn't submitted yet
    bool sqLarge = false;          ///< true if the shown requests have 128 bytes each (IORING_SETUP_SQE128)
    std::uint32_t cqShown = 0;     ///< number of lines about completions that the program hasn't read yet
    bool cqLarge = false;          ///< true if the shown completions have 32 bytes each (IORING_SETUP_CQE32)
};

/// Parses fdinfo. Throws Error if the text lacks lines that Linux 6.1 and later show.
[[nodiscard]] IoUringInfo parseIoUring(std::string_view text);
/// Returns nullopt instead of an error. The kernel shows none of these lines while another thread works for the ring.
[[nodiscard]] std::optional<IoUringInfo> findIoUring(std::string_view text);

/// Calls io_uring_setup(2).
[[nodiscard]] UniqueFd createIoUring(std::uint32_t entries, io_uring_params& parameters);

/// Calls io_uring_register(2). Returns the non-negative result, or -errno.
[[nodiscard]] int registerIoUring(int ring, unsigned request, const void* argument, unsigned count) noexcept;

/// Mapping in criu's memory of the memory that a ring shares with its program. `parameters`: result of the setup of
/// this ring, or of a ring with the same setup.
class IoUringMemory {
public:
    IoUringMemory(int ring, const io_uring_params& parameters);

    [[nodiscard]] std::uint32_t& sqHead() const { return word(parameters_.sq_off.head); }
    [[nodiscard]] std::uint32_t& sqTail() const { return word(parameters_.sq_off.tail); }
    [[nodiscard]] std::uint32_t& cqHead() const { return word(parameters_.cq_off.head); }
    [[nodiscard]] std::uint32_t& cqTail() const { return word(parameters_.cq_off.tail); }
    [[nodiscard]] std::uint32_t& cqFlags() const { return word(parameters_.cq_off.flags); }
    [[nodiscard]] std::uint32_t dropped() const { return word(parameters_.sq_off.dropped); }
    [[nodiscard]] std::uint32_t overflowed() const { return word(parameters_.cq_off.overflow); }

    /// Returns the array of request indices, in the order of positions. It is empty for a ring with
    /// IORING_SETUP_NO_SQARRAY.
    [[nodiscard]] std::span<std::uint32_t> sqArray() const;
    [[nodiscard]] std::span<std::byte> requests() const;
    [[nodiscard]] std::span<std::byte> completions() const;

    /// Returns the size in bytes of the memory that contains both rings (submission and completion).
    [[nodiscard]] static std::size_t ringSize(const io_uring_params& parameters) noexcept;
    [[nodiscard]] static std::size_t requestSize(const io_uring_params& parameters) noexcept;
    [[nodiscard]] static std::size_t completionSize(const io_uring_params& parameters) noexcept;

private:
    [[nodiscard]] std::uint32_t& word(std::uint32_t offset) const;

    io_uring_params parameters_;
    Mapping rings_;
    Mapping requests_;
};

// Constants that the headers of Debian 12 lack.
inline constexpr std::uint32_t kIoUringNoArray = 1U << 16;  // IORING_SETUP_NO_SQARRAY (6.6)
inline constexpr unsigned kIoUringBufferGroup = 26;         // IORING_REGISTER_PBUF_STATUS (6.8)
inline constexpr unsigned kIoUringNapi = 27;                // IORING_REGISTER_NAPI (6.9)
inline constexpr unsigned kIoUringMemoryRegion = 34;        // IORING_REGISTER_MEM_REGION (6.13)
// IORING_OFF_CQ_RING: offset at which mmap(2) maps both rings
inline constexpr std::uint64_t kIoUringAlsoRings = 0x8000000;
// IORING_OFF_SQES: offset at which mmap(2) maps the requests
inline constexpr std::uint64_t kIoUringRequests = 0x10000000;

}  // namespace criu::kernel
