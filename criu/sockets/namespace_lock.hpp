// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>

/// Lock of a whole network namespace: drops every packet without kPassingMark. The functions return input of the packet
/// filter tools. Names are those of CRIU 4.2.
namespace criu::sockets {

/// Returns input for iptables-restore(8) and ip6tables-restore(8).
[[nodiscard]] std::string iptablesNamespaceLock();

/// Returns input that removes all such locks in `rules`, the filter table as iptables-save(8) prints it; empty if there
/// is none.
[[nodiscard]] std::string iptablesNamespaceUnlock(std::string_view rules);

/// Returns input for nft(8). `table`: family and name. `flags`: statement with flags of the table, or empty.
[[nodiscard]] std::string nftablesNamespaceLock(std::string_view table, std::string_view flags = {});

}  // namespace criu::sockets
