// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "criu/sockets/inet_endpoint.hpp"

/// Rules of iptables that lock connections, as text for iptables-restore(8).
namespace criu::sockets {

/// Returns lines that insert the rules for the connections of a family; empty if there are none.
std::string iptablesInsertions(std::span<const InetConnection> connections, int family);

/// Returns lines that delete all rules in `saved` (output of iptables-save) that lock one of the connections. Each is
/// deleted as often as it occurs, because iptables-restore refuses all lines if one rule doesn't exist.
std::string iptablesDeletions(std::span<const InetConnection> connections, int family, std::string_view saved);

/// True if `saved` has the rules for all connections of a family, as either end sees them.
bool iptablesHave(std::span<const InetConnection> connections, int family, std::string_view saved);

}  // namespace criu::sockets
