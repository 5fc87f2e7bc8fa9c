// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <cstddef>
#include <cstdint>

/// What a Channel and the blob at its other end agree on. Both are always built together, so there is no version.
/// Each message is one packet: a header, then `size` bytes, with descriptors as ancillary data (SCM_RIGHTS).
namespace compel::protocol {

struct Request {
    std::uint32_t command;
    std::uint32_t size;
};

struct Reply {
    std::int64_t result;
    std::uint32_t size;
    std::uint32_t reserved;
};

/// Ends the blob's loop. All other numbers are the user's.
inline constexpr std::uint32_t stopCommand = 0xffffffff;

/// Bytes after the header. A packet must fit into a socket's buffer, by default some 200 KiB.
inline constexpr std::size_t maximumPayload = 65536;
/// Descriptors in one message, a limit of the kernel's (SCM_MAX_FD).
inline constexpr std::size_t maximumFds = 253;

/// What blob_entry() of a blob with a channel gets a pointer to.
struct DaemonArgument {
    std::int32_t socket;
    std::uint32_t reserved;
    /// The Channel's user's own.
    std::uint64_t argument;
    /// Room for one packet of full size.
    std::uint64_t buffer;
};

inline constexpr std::size_t bufferSize = sizeof(Reply) + maximumPayload;

}  // namespace compel::protocol
