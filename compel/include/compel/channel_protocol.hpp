// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <cstddef>
#include <cstdint>

/// Protocol between a Channel and the blob. Both are always built together, so the protocol has no version. Each
/// message is one packet: a header, then `size` bytes, with descriptors as ancillary data (SCM_RIGHTS).
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

/// Command that ends the blob's loop. All other numbers are free for the user.
inline constexpr std::uint32_t stopCommand = 0xffffffff;

/// Largest number of bytes after the header. A packet must fit into a socket's buffer, by default about 200 KiB.
inline constexpr std::size_t maximumPayload = 65536;
/// Largest number of descriptors in one message, a limit of the kernel (SCM_MAX_FD).
inline constexpr std::size_t maximumFds = 253;

/// Argument of blob_entry() of a blob with a channel.
struct DaemonArgument {
    std::int32_t socket;
    std::uint32_t reserved;
    /// Value that the user passed to the Channel.
    std::uint64_t argument;
    /// Address of a buffer for one packet of full size.
    std::uint64_t buffer;
};

inline constexpr std::size_t bufferSize = sizeof(Reply) + maximumPayload;

}  // namespace compel::protocol
