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

/// Rings of io_uring(7) as seen from outside of the program that uses them.
namespace criu::kernel {

struct IoUringBuffer {
    std::uint32_t slot = 0;
    std::uint64_t address = 0;
    std::uint64_t size = 0;
};

struct IoUringFile {
    std::uint32_t slot = 0;
    std::string path;  ///< blanks, newlines and backslashes as octal escapes
};

/// What /proc/PID/fdinfo shows of a ring (io_uring/fdinfo.c). Counters count up for ever; a mask gives the place.
struct IoUringInfo {
    std::uint32_t sqMask = 0;
    std::uint32_t sqTail = 0;
    std::uint32_t sqTaken = 0;  ///< submitted so far (CachedSqHead)
    std::uint32_t cqMask = 0;
    std::uint32_t cqHead = 0;
    std::uint32_t cqPosted = 0;      ///< completed so far (CachedCqTail)
    bool polledByKernel = false;     ///< has a thread of its own that submits (IORING_SETUP_SQPOLL)
    std::uint32_t fileSlots = 0;     ///< registered files, empty places included
    std::uint32_t bufferSlots = 0;   ///< the same of buffers
    std::vector<IoUringFile> files;  ///< those that aren't empty
    std::vector<IoUringBuffer> buffers;
    std::uint32_t waiting = 0;     ///< requests that wait for a file to become ready
    std::uint32_t overflowed = 0;  ///< completions that found no room
    bool personalities = false;    ///< some credentials are registered
    bool busyPolling = false;      ///< NAPI
    std::uint32_t sqShown = 0;     ///< lines about requests that are not yet submitted
    bool sqLarge = false;          ///< of those: 128 bytes each (IORING_SETUP_SQE128)
    std::uint32_t cqShown = 0;     ///< lines about completions not yet taken
    bool cqLarge = false;          ///< of those: 32 bytes each (IORING_SETUP_CQE32)
};

/// Throws Error if the text lacks what a kernel from 6.1 on shows.
[[nodiscard]] IoUringInfo parseIoUring(std::string_view text);

/// io_uring_setup(2).
[[nodiscard]] UniqueFd createIoUring(std::uint32_t entries, io_uring_params& parameters);

/// io_uring_register(2); 0 or more, or -errno.
[[nodiscard]] int registerIoUring(int ring, unsigned request, const void* argument, unsigned count) noexcept;

/// What a ring shares with its program, mapped here. `parameters` are those of this ring, or of one made alike.
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

    /// Indices of requests by place; empty for a ring without (IORING_SETUP_NO_SQARRAY).
    [[nodiscard]] std::span<std::uint32_t> sqArray() const;
    [[nodiscard]] std::span<std::byte> requests() const;
    [[nodiscard]] std::span<std::byte> completions() const;

    /// Bytes of what both rings have in common, and of one request and one completion.
    [[nodiscard]] static std::size_t ringSize(const io_uring_params& parameters) noexcept;
    [[nodiscard]] static std::size_t requestSize(const io_uring_params& parameters) noexcept;
    [[nodiscard]] static std::size_t completionSize(const io_uring_params& parameters) noexcept;

private:
    [[nodiscard]] std::uint32_t& word(std::uint32_t offset) const;

    io_uring_params parameters_;
    Mapping rings_;
    Mapping requests_;
};

// Newer than the headers of Debian 12.
inline constexpr std::uint32_t kIoUringNoArray = 1U << 16;     // IORING_SETUP_NO_SQARRAY (6.6)
inline constexpr unsigned kIoUringBufferGroup = 26;            // IORING_REGISTER_PBUF_STATUS (6.8)
inline constexpr unsigned kIoUringNapi = 27;                   // IORING_REGISTER_NAPI (6.9)
inline constexpr unsigned kIoUringMemoryRegion = 34;           // IORING_REGISTER_MEM_REGION (6.13)
inline constexpr std::uint64_t kIoUringAlsoRings = 0x8000000;  // IORING_OFF_CQ_RING
inline constexpr std::uint64_t kIoUringRequests = 0x10000000;  // IORING_OFF_SQES

}  // namespace criu::kernel
