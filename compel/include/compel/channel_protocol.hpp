// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <cstddef>
#include <cstdint>

/// Protocol between a Channel and its blob. Both are always built together, so the protocol has no version. A message
/// is one packet: a Request or Reply, then `size` bytes, with descriptors as ancillary data (SCM_RIGHTS).
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

/// Command that ends the blob's loop. All other numbers are free for commands of the library's user.
inline constexpr std::uint32_t stopCommand = 0xffffffff;

/// Maximum number of bytes after a Request or Reply. A packet must fit into a socket's buffer, by default about 200
/// KiB.
inline constexpr std::size_t maximumPayload = 65536;
/// Maximum number of descriptors in one message, a limit of the kernel (SCM_MAX_FD).
inline constexpr std::size_t maximumFds = 253;

/// Argument of blob_entry() in a blob with a channel.
struct DaemonArgument {
    std::int32_t socket;
    std::uint32_t reserved;
    /// Value that the library's user has passed to the Channel.
    std::uint64_t argument;
    /// Address of a buffer of `bufferSize` bytes for one packet.
    std::uint64_t buffer;
};

inline constexpr std::size_t bufferSize = sizeof(Reply) + maximumPayload;

}  // namespace compel::protocol
