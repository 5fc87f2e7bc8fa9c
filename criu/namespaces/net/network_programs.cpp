// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/net/network_programs.hpp"

#include <sys/socket.h>

#include "criu/base/error.hpp"
#include "criu/kernel/run_command.hpp"

namespace criu::namespaces {

std::string ipProgram() {
    std::string path = kernel::findProgram("ip");
    if (path.empty()) {
        Error error(0, "the tree is in a network namespace of its own, and ip isn't installed");
        error.addHint("install iproute2");
        throw error;
    }
    return path;
}

std::string legacyIptables(int family, std::string_view verb) {
    const std::string_view base = family == AF_INET ? "iptables" : "ip6tables";
    std::string path = kernel::findProgram(fmt::format("{}-legacy-{}", base, verb));
    if (!path.empty())
        return path;
    // If only one variant of iptables is installed, its name has no suffix. It may be the legacy variant.
    path = kernel::findProgram(fmt::format("{}-{}", base, verb));
    if (!path.empty() && kernel::runProgram(path, {"--version"}, {}).find("nf_tables") == std::string::npos)
        return path;
    Error error(0, fmt::format("the network namespace has legacy {} rules, and {}-legacy-{} isn't installed", base,
                               base, verb));
    error.addHint("install iptables");
    throw error;
}

}  // namespace criu::namespaces
