// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/net/network_dump.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/kernel/net/conntrack.hpp"
#include "criu/kernel/net/neighbours.hpp"
#include "criu/kernel/net/nftables.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/run_command.hpp"
#include "criu/namespaces/net/network_programs.hpp"
#include "criu/namespaces/net/network_settings.hpp"
#include "criu/namespaces/net/saved_routes.hpp"

namespace criu::namespaces {
namespace {

bool hasIpv6() {
    return kernel::ProcDir().self().tryReadFile("net/if_inet6").has_value();
}

/// Returns true if a program has used the legacy kernel interface of iptables in this namespace.
bool hasLegacyRules(int family) {
    // Reads /proc of the calling thread, not of the process, because other threads may be in different network
    // namespaces.
    const auto names = kernel::ProcDir()
                           .self()
                           .thread(::gettid())
                           .tryReadFile(family == AF_INET ? "net/ip_tables_names" : "net/ip6_tables_names");
    return names && !names->empty();
}

/// Throws Error for IPv6 routing rules, because ip(8) stores only IPv4 rules. Accepts the default rules of a new
/// namespace (tables local and main).
void refuseRules6() {
    constexpr std::uint32_t kMain = 32766;
    std::vector<std::uint32_t> priorities = kernel::readRulePriorities(AF_INET6);
    std::sort(priorities.begin(), priorities.end());
    if (!priorities.empty() && priorities != std::vector<std::uint32_t>{0, kMain})
        fail(
            "the network namespace of the tree has other IPv6 routing rules than every new one (priorities {}), which "
            "can't be dumped yet",
            fmt::join(priorities, ", "));
}

/// Returns the packet filter rules of the calling thread's namespace; the key is the image kind.
std::map<ImageKind, std::string> filtersHere(StopRequest& stop) {
    std::map<ImageKind, std::string> filters;
    for (const int family : {AF_INET, AF_INET6})
        if (hasLegacyRules(family))
            filters.emplace(family == AF_INET ? ImageKind::Iptables : ImageKind::Ip6tables,
                            kernel::runProgram(legacyIptables(family, "save"), {}, {}, &stop));
    filters.emplace(ImageKind::Nftables, kernel::Nftables().run("list ruleset"));
    return filters;
}

}  // namespace

void NetworkDump::check() {
    if (externalName_ || empty_)
        return;
    devices_.check();
    refuseRules6();
    (void)ipProgram();
    for (const int family : {AF_INET, AF_INET6})
        if (hasLegacyRules(family))
            (void)legacyIptables(family, "save");
    if (!kernel::Nftables::available()) {
        Error error(0, "the packet filter's rules in the tree's network namespace can't be read without libnftables");
        error.addHint("install libnftables");
        throw error;
    }
}

void NetworkDump::write(const ImageDir& images, const TunDevices& tunDevices,
                        const std::map<std::int32_t, std::uint32_t>& numbers) const {
    for (const ImageKind kind : {ImageKind::Netns, ImageKind::Netdev, ImageKind::Ifaddr, ImageKind::Route,
                                 ImageKind::Route6, ImageKind::Rule, ImageKind::Iptables, ImageKind::Ip6tables,
                                 ImageKind::Nftables, ImageKind::Conntrack, ImageKind::ConntrackExpect})
        images.unlink(kind, number_);
    if (!empty_)
        writeSettings(images, tunDevices, numbers);
    if (carriesDevices()) {
        writeContent(images);
        writeFilters(images);
    }
    if (!externalName_)
        writeConnections(images);
}

void NetworkDump::writeContent(const ImageDir& images) const {
    const std::string ip = ipProgram();
    const auto saved = [&](std::vector<std::string> arguments) {
        return kernel::runProgram(ip, std::move(arguments), {}, &stop_);
    };
    writeText(images, ImageKind::Ifaddr, saved({"addr", "save"}));
    writeText(images, ImageKind::Route, cleanedRoutes(saved({"route", "save", "table", "all"})));
    if (hasIpv6())
        writeText(images, ImageKind::Route6, cleanedRoutes(saved({"-6", "route", "save", "table", "all"})));
    writeText(images, ImageKind::Rule, saved({"rule", "save"}));
}

void NetworkDump::readFilters() {
    if (carriesDevices())
        filters_ = filtersHere(stop_);
}

void NetworkDump::writeFilters(const ImageDir& images) const {
    for (const auto& [kind, rules] : filters_.empty() ? filtersHere(stop_) : filters_)
        writeText(images, kind, rules);
}

void NetworkDump::writeConnections(const ImageDir& images) const {
    const auto connections = [&](ImageKind kind, kernel::ConntrackTable table) {
        const std::vector<std::byte> entries = kernel::readConntrack(table);
        writeText(images, kind, {reinterpret_cast<const char*>(entries.data()), entries.size()});
    };
    connections(ImageKind::Conntrack, kernel::ConntrackTable::Connections);
    connections(ImageKind::ConntrackExpect, kernel::ConntrackTable::Expectations);
}

void NetworkDump::writeSettings(const ImageDir& images, const TunDevices& tunDevices,
                                const std::map<std::int32_t, std::uint32_t>& numbers) const {
    Arena arena;
    NetnsEntry& network = *arena.make<NetnsEntry>();
    if (externalName_)
        network.ext_key = arena.string(*externalName_);
    else
        fillSettings(network, numbers, arena);
    ImageWriter image = images.create(ImageKind::Netns, number_);
    image.write(network);
    image.finish();
    if (externalName_)
        return;

    ImageWriter devices = images.create(ImageKind::Netdev, number_);
    const std::vector<NetDeviceEntry*> entries = devices_.entries(tunDevices, numbers, arena);
    for (const NetDeviceEntry* const device : entries)
        devices.write(*device);
    devices.finish();
    log_.info("Network namespace {} has {} devices", number_, entries.size());
}

void NetworkDump::fillSettings(NetnsEntry& network, const std::map<std::int32_t, std::uint32_t>& numbers,
                               Arena& arena) {
    readNetworkSettings(network, arena);
    network.n_nsids = numbers.size();
    network.nsids = arena.messages<NetnsId>(numbers.size());
    const std::vector<kernel::Neighbour> neighbours = kernel::readNeighbours();
    network.n_neighbours = neighbours.size();
    network.neighbours = arena.messages<NeighbourEntry>(neighbours.size());
    for (std::size_t i = 0; i < neighbours.size(); ++i) {
        NeighbourEntry& out = *network.neighbours[i];
        out.device = neighbours[i].device;
        out.family = neighbours[i].family;
        out.flags = neighbours[i].flags;
        out.address = arena.bytes(neighbours[i].address);
        out.link_address = arena.bytes(neighbours[i].linkAddress);
    }
    std::size_t next = 0;
    for (const auto& [id, number] : numbers) {
        network.nsids[next]->target_ns_id = number;
        network.nsids[next++]->netnsid_value = id;
    }
}

void NetworkDump::writeText(const ImageDir& images, ImageKind kind, std::string_view text) const {
    if (text.empty())
        return;
    if (text.size() > kLargestSaved)
        fail("the network namespace of the tree is too large: {} bytes for {}", text.size(), imageName(kind, number_));
    ImageWriter image = images.create(kind, number_);
    image.payload(std::as_bytes(std::span(text)));
    image.finish();
}

}  // namespace criu::namespaces
