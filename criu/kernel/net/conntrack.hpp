// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <span>
#include <vector>

/// Functions for the connection tracking table (nf_conntrack) in the calling thread's network namespace. Images contain
/// the entries of the table as netlink messages of the kernel. A restore sends these messages to create equal entries.
namespace criu::kernel {

enum class ConntrackTable : unsigned char { Connections, Expectations };

/// Reads all entries as netlink messages with their headers. Returns an empty list if the table is empty, or if the
/// kernel lacks connection tracking.
std::vector<std::byte> readConntrack(ConntrackTable table);

/// Creates the entries of a list from readConntrack(). Throws Error if the list is truncated or the kernel refuses an
/// entry.
void writeConntrack(ConntrackTable table, std::span<const std::byte> messages);

}  // namespace criu::kernel
