// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>

/// The lock of a whole network namespace: every packet is dropped unless it bears kPassingMark. Lines for the tools of
/// the packet filter; names are those of CRIU 4.2.
namespace criu::sockets {

/// For iptables-restore(8) and ip6tables-restore(8).
[[nodiscard]] std::string iptablesNamespaceLock();

/// What takes back as many such locks as there are among `rules` (the filter table, as iptables-save(8) lists it);
/// empty if there is none.
[[nodiscard]] std::string iptablesNamespaceUnlock(std::string_view rules);

/// For nft(8). `table`: family and name.
[[nodiscard]] std::string nftablesNamespaceLock(std::string_view table);

}  // namespace criu::sockets
