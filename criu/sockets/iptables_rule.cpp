// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/iptables_rule.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <set>
#include <vector>

#include "criu/sockets/network_lock.hpp"

namespace criu::sockets {
namespace {

/// Iptables rule that drops packets from `packets.local` to `packets.remote` in a chain.
struct Rule {
    std::string_view chain;
    InetConnection packets;
    friend auto operator<=>(const Rule&, const Rule&) = default;
};

std::vector<Rule> rulesFor(const InetConnection& connection) {
    return {{"INPUT", {connection.remote, connection.local}}, {"OUTPUT", connection}};
}

std::string wrapped(const std::string& lines) {
    return lines.empty() ? lines : fmt::format("*filter\n{}COMMIT\n", lines);
}

std::vector<std::string_view> words(std::string_view line) {
    std::vector<std::string_view> found;
    while (!line.empty()) {
        const std::size_t end = std::min(line.find(' '), line.size());
        if (end != 0)
            found.push_back(line.substr(0, end));
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    return found;
}

bool parseAddress(std::string_view text, int family, InetEndpoint& out) {
    out.family = family;
    const std::string host(text.substr(0, text.find('/')));
    return ::inet_pton(family, host.c_str(), out.words.data()) == 1;
}

bool parsePort(std::string_view text, InetEndpoint& out) {
    return std::from_chars(text.data(), text.data() + text.size(), out.port).ptr == text.data() + text.size();
}

/// Parses a line of iptables-save. Returns nothing if the line isn't a rule of criu.
std::optional<Rule> parse(std::string_view line, int family) {
    const std::vector<std::string_view> all = words(line);
    Rule rule;
    bool marked = false;
    bool drops = false;
    unsigned ends = 0;
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
        const std::string_view value = all[i + 1];
        if (all[i] == "-A")
            rule.chain = value == "INPUT" ? "INPUT" : value == "OUTPUT" ? "OUTPUT" : "";
        else if (all[i] == "-s")
            ends += parseAddress(value, family, rule.packets.local) ? 1 : 0;
        else if (all[i] == "-d")
            ends += parseAddress(value, family, rule.packets.remote) ? 1 : 0;
        else if (all[i] == "--sport")
            ends += parsePort(value, rule.packets.local) ? 1 : 0;
        else if (all[i] == "--dport")
            ends += parsePort(value, rule.packets.remote) ? 1 : 0;
        else if (all[i] == "--mark")
            marked = i > 0 && all[i - 1] == "!" && value == fmt::format("{:#x}", kPassingMark);
        else if (all[i] == "-j")
            drops = value == "DROP";
    }
    if (rule.chain.empty() || !marked || !drops || ends != 4)
        return std::nullopt;
    return rule;
}

/// Calls `visit` for each rule of criu in the output of iptables-save. Passes the rule, and its line.
template <typename Visit>
void forEachRule(std::string_view saved, int family, Visit&& visit) {
    while (!saved.empty()) {
        const std::string_view line = saved.substr(0, saved.find('\n'));
        saved.remove_prefix(std::min(line.size() + 1, saved.size()));
        if (const std::optional<Rule> rule = parse(line, family))
            visit(*rule, line);
    }
}

}  // namespace

std::string iptablesInsertions(std::span<const InetConnection> connections, int family) {
    std::string lines;
    for (const InetConnection& connection : connections) {
        if (connection.local.family != family)
            continue;
        // The matches of a rule have the same order as in CRIU 4.2. Otherwise CRIU 4.2 couldn't delete the rule.
        for (const auto& [chain, packets] : rulesFor(connection))
            fmt::format_to(std::back_inserter(lines),
                           "-I {} -s {} -d {} -p tcp -m mark ! --mark {:#x} -m tcp --sport {} --dport {} -j DROP\n",
                           chain, packets.local.address(), packets.remote.address(), kPassingMark, packets.local.port,
                           packets.remote.port);
    }
    return wrapped(lines);
}

std::string iptablesDeletions(std::span<const InetConnection> connections, int family, std::string_view saved) {
    std::set<Rule> wanted;
    for (const InetConnection& connection : connections) {
        // Deletes the rules for both directions: CRIU 4.2 adds the rules of a connection inside of the tree twice, once
        // for each end.
        for (const InetConnection& way : {connection, InetConnection{connection.remote, connection.local}})
            for (const Rule& rule : rulesFor(way))
                wanted.insert(rule);
    }
    std::string lines;
    forEachRule(saved, family, [&](const Rule& rule, std::string_view line) {
        if (wanted.contains(rule))
            fmt::format_to(std::back_inserter(lines), "-D{}\n", line.substr(2));
    });
    return wrapped(lines);
}

bool iptablesHave(std::span<const InetConnection> connections, int family, std::string_view saved) {
    std::set<Rule> there;
    forEachRule(saved, family, [&](const Rule& rule, std::string_view) { there.insert(rule); });
    const auto have = [&](const InetConnection& connection) {
        const std::vector<Rule> rules = rulesFor(connection);
        return std::all_of(rules.begin(), rules.end(), [&](const Rule& rule) { return there.contains(rule); });
    };
    return std::all_of(connections.begin(), connections.end(), [&](const InetConnection& connection) {
        return have(connection) || have({connection.remote, connection.local});
    });
}

}  // namespace criu::sockets
