// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string_view>

/// What images hold in the formats of other programs, which get it as their input while they run as root. Each check
/// throws Error unless the text has the shape of what the same program writes at a dump. What it then means is the
/// program's and the kernel's matter, and concerns the network namespace alone, which has been made for the tree.
namespace criu::namespaces {

/// For "ip OBJECT restore": a number, then whole netlink messages, all of `type` (RTM_NEWADDR …). ip(8) sends on
/// whatever it finds, and some messages reach into other namespaces.
void requireSavedByIp(std::string_view saved, std::uint16_t type);

/// For iptables-restore: tables, chains and rules ("-A …") without options that load code or run programs.
void requireIptablesRules(std::string_view saved);

/// For nft: descriptions of tables and nothing else; no files are included.
void requireNftablesRuleset(std::string_view saved);

}  // namespace criu::namespaces
