// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string_view>

/// Checks of image content that other programs get as input while they run as root. Each throws Error unless the text
/// has the form that the same program writes at a dump. The meaning is left to the program and the kernel; it affects
/// only the network namespace of the tree.
namespace criu::namespaces {

/// Checks input of "ip OBJECT restore": a magic number, then complete netlink messages of `type` (RTM_NEWADDR …). ip(8)
/// sends all messages unchecked, and some types affect other namespaces.
void requireSavedByIp(std::string_view saved, std::uint16_t type);

/// Checks input of iptables-restore: tables, chains and rules ("-A …") without options that load code or run programs.
void requireIptablesRules(std::string_view saved);

/// Checks input of nft: only descriptions of tables; no files are included.
void requireNftablesRuleset(std::string_view saved);

}  // namespace criu::namespaces
