// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/net/iptables.hpp"

#include <fmt/format.h>

#include "criu/base/error.hpp"
#include "criu/kernel/run_command.hpp"

namespace criu::kernel {

std::string Iptables::program(const char* verb) const {
    const std::string name = fmt::format("{}-{}", family_ == Family::V4 ? "iptables" : "ip6tables", verb);
    std::string found = findProgram(name);
    if (found.empty()) {
        Error error(0, fmt::format("{} isn't installed", name));
        error.addHint("install iptables, or use --network-lock nftables");
        throw error;
    }
    return found;
}

bool Iptables::available() const {
    const std::string name = family_ == Family::V4 ? "iptables" : "ip6tables";
    return !findProgram(name + "-restore").empty() && !findProgram(name + "-save").empty();
}

void Iptables::run(const std::string& lines) const {
    runProgram(program("restore"), {kIptablesWait, "--noflush"}, lines);
}

std::string Iptables::filterRules() const {
    return runProgram(program("save"), {"-t", "filter"}, {});
}

}  // namespace criu::kernel
