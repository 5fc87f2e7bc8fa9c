// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <span>
#include <vector>

/// Connection tracking table (nf_conntrack) of the calling thread's network namespace, as netlink messages of the
/// kernel. Images store these messages; a restore sends them back to create equal entries.
namespace criu::kernel {

enum class ConntrackTable : unsigned char { Connections, Expectations };

/// Reads all entries, each a netlink message with its header. Returns an empty list if nothing is tracked or the
/// kernel can't track.
std::vector<std::byte> readConntrack(ConntrackTable table);

/// Creates the entries of such a list. Throws Error if the list is truncated or the kernel refuses an entry.
void writeConntrack(ConntrackTable table, std::span<const std::byte> messages);

}  // namespace criu::kernel
