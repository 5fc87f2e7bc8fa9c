// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "criu/sockets/inet_endpoint.hpp"

/// The rules by which iptables locks connections, as text for iptables-restore(8).
namespace criu::sockets {

/// Lines that insert the rules for the connections of a family; empty if there are none.
std::string iptablesInsertions(std::span<const InetConnection> connections, int family);

/// Lines that delete those rules in `saved` (output of iptables-save) that lock one of the connections, each as often
/// as it is there. A rule that isn't there would make iptables-restore refuse all.
std::string iptablesDeletions(std::span<const InetConnection> connections, int family, std::string_view saved);

/// Whether `saved` has the rules for all the connections of a family, from either end's point of view.
bool iptablesHave(std::span<const InetConnection> connections, int family, std::string_view saved);

}  // namespace criu::sockets
