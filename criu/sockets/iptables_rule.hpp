// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "criu/sockets/inet_endpoint.hpp"

/// The network lock by iptables: rules that drop packets of connections, as text for iptables-restore(8).
namespace criu::sockets {

/// Returns lines that insert the rules for all connections of `family`. Returns an empty string if no connection has
/// this family.
std::string iptablesInsertions(std::span<const InetConnection> connections, int family);

/// Returns lines that delete all rules in `saved` (output of iptables-save) that lock one of the connections. A rule
/// gets as many lines as it has in `saved`, because iptables-restore refuses all lines if one rule doesn't exist.
std::string iptablesDeletions(std::span<const InetConnection> connections, int family, std::string_view saved);

/// True if `saved` (output of iptables-save) has the rules for all connections of `family`. The rules may have either
/// end of a connection as the local end.
bool iptablesHave(std::span<const InetConnection> connections, int family, std::string_view saved);

}  // namespace criu::sockets
