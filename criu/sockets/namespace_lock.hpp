// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>

/// Namespace lock: packet filter rules that drop all packets of a network namespace except packets with kPassingMark.
/// The functions return input for the packet filter tools. Chains and tables have the names of CRIU 4.2.
namespace criu::sockets {

/// Returns input for iptables-restore(8) and ip6tables-restore(8) that adds the lock.
[[nodiscard]] std::string iptablesNamespaceLock();

/// Returns input for iptables-restore(8) that removes all namespace locks in `rules`. Returns an empty string if
/// `rules` has none. `rules`: the filter table as iptables-save(8) prints it.
[[nodiscard]] std::string iptablesNamespaceUnlock(std::string_view rules);

/// Returns input for nft(8) that adds the lock. `table`: family and name of the table. `flags`: statement with the
/// flags of the table, or empty.
[[nodiscard]] std::string nftablesNamespaceLock(std::string_view table, std::string_view flags = {});

}  // namespace criu::sockets
