// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <span>
#include <vector>

/// What the packet filter knows of connections (nf_conntrack), as netlink messages of the kernel: stored as they come,
/// and sent back to make the same entries anew. About the network namespace of the calling thread.
namespace criu::kernel {

enum class ConntrackTable : unsigned char { Connections, Expectations };

/// All entries, each a netlink message with its header; empty if nothing is tracked or the kernel doesn't track.
std::vector<std::byte> readConntrack(ConntrackTable table);

/// Makes the entries of such a list. Throws Error for a list that is cut off, or when the kernel refuses an entry.
void writeConntrack(ConntrackTable table, std::span<const std::byte> messages);

}  // namespace criu::kernel
