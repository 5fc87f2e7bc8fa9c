// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string_view>

/// Checks of image content that programs read as input while they run as root. Each function throws Error unless the
/// text has the form in which the same program writes it at a dump. The functions don't check the meaning, because it
/// affects only the network namespace of the tree.
namespace criu::namespaces {

/// Checks the input of "ip OBJECT restore": a magic number, and then complete netlink messages of `type` (RTM_NEWADDR
/// …). ip(8) sends all messages unchecked, and messages of some types affect other namespaces.
void requireSavedByIp(std::string_view saved, std::uint16_t type);

/// Checks the input of iptables-restore: tables, chains and rules ("-A …"). Refuses options that load code or run
/// programs.
void requireIptablesRules(std::string_view saved);

/// Checks the input of nft: only descriptions of tables. Refuses commands such as `include`.
void requireNftablesRuleset(std::string_view saved);

}  // namespace criu::namespaces
