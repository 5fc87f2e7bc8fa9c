// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/namespace_lock.hpp"

#include <fmt/format.h>

#include <iterator>

#include "criu/sockets/network_lock.hpp"

namespace criu::sockets {
namespace {

constexpr std::string_view kChain = "CRIU";
constexpr std::string_view kDirections[] = {"INPUT", "OUTPUT"};

}  // namespace

std::string iptablesNamespaceLock() {
    std::string lines = fmt::format("*filter\n:{} - [0:0]\n", kChain);
    fmt::format_to(std::back_inserter(lines), "-A {} -m mark --mark {:#x} -j ACCEPT\n-A {} -j DROP\n", kChain,
                   kPassingMark, kChain);
    for (const std::string_view direction : kDirections)
        fmt::format_to(std::back_inserter(lines), "-I {} -j {}\n", direction, kChain);
    return lines + "COMMIT\n";
}

std::string iptablesNamespaceUnlock(std::string_view rules) {
    std::string lines = "*filter\n";
    bool found = false;
    while (!rules.empty()) {
        const std::size_t end = std::min(rules.find('\n'), rules.size());
        const std::string_view rule = rules.substr(0, end);
        rules.remove_prefix(std::min(end + 1, rules.size()));
        found = found || rule.starts_with(fmt::format(":{} ", kChain));
        for (const std::string_view direction : kDirections)
            if (rule == fmt::format("-A {} -j {}", direction, kChain))
                fmt::format_to(std::back_inserter(lines), "-D {} -j {}\n", direction, kChain);
    }
    if (!found)
        return {};
    return lines + fmt::format("-F {}\n-X {}\nCOMMIT\n", kChain, kChain);
}

std::string nftablesNamespaceLock(std::string_view table, std::string_view flags) {
    std::string commands = fmt::format("table {} {{\n{}", table, flags);
    for (const std::string_view hook : {"output", "input"})
        fmt::format_to(std::back_inserter(commands),
                       "chain {} {{\ntype filter hook {} priority 0; policy drop;\nmeta mark {:#x} accept\n}}\n", hook,
                       hook, kPassingMark);
    return commands + "}\n";
}

}  // namespace criu::sockets
