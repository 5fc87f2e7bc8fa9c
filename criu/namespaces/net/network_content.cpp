// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/net/network_content.hpp"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <span>
#include <string>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/kernel/net/conntrack.hpp"
#include "criu/kernel/net/iptables.hpp"
#include "criu/kernel/net/neighbours.hpp"
#include "criu/kernel/net/network_ids.hpp"
#include "criu/kernel/net/nftables.hpp"
#include "criu/kernel/run_command.hpp"
#include "criu/namespaces/net/network_programs.hpp"
#include "criu/namespaces/net/program_inputs.hpp"
#include "criu/namespaces/net/saved_routes.hpp"

namespace criu::namespaces {
namespace {

std::string contentOf(const ImageDir& images, ImageKind kind, std::uint32_t number) {
    auto image = images.openRead(kind, number);
    if (!image)
        return {};
    const std::vector<std::byte> bytes = image->rest(kLargestSaved);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::byte> bytesOf(const ProtobufCBinaryData& data) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(data.data);
    return {bytes, bytes + data.len};
}

ImageKind rulesOf(int family) {
    return family == AF_INET ? ImageKind::Iptables : ImageKind::Ip6tables;
}

/// Image that ip(8) restores, with the only netlink message type that it may contain.
struct SavedByIp {
    ImageKind kind;
    const char* object;
    std::uint16_t type;
};
constexpr SavedByIp kSavedByIp[] = {{ImageKind::Ifaddr, "addr", RTM_NEWADDR},
                                    {ImageKind::Route, "route", RTM_NEWROUTE},
                                    {ImageKind::Route6, "route", RTM_NEWROUTE},
                                    {ImageKind::Rule, "rule", RTM_NEWRULE}};

/// Reads the input for a program from an image. Returns an empty text if the image doesn't exist. Checks the content at
/// each read, because another user may be able to change images.
std::string inputFrom(const ImageDir& images, ImageKind kind, std::uint32_t number) {
    std::string content = contentOf(images, kind, number);
    if (content.empty())
        return content;
    const ErrorContext context([&] { return imageName(kind, number); });
    if (kind == ImageKind::Iptables || kind == ImageKind::Ip6tables)
        requireIptablesRules(content);
    else if (kind == ImageKind::Nftables)
        requireNftablesRuleset(content);
    for (const SavedByIp& saved : kSavedByIp)
        if (saved.kind == kind)
            requireSavedByIp(content, saved.type);
    return content;
}

}  // namespace

NetworkContent::NetworkContent(const ImageDir& images, std::uint32_t number, bool empty) : number_(number) {
    if (empty && !images.exists(ImageKind::Netns, number_))
        return;
    settings_ = images.openRequired(ImageKind::Netns, number_).only<NetnsEntry>();
    if (externalName() != nullptr)
        return;
    if (empty) {
        settings_.reset();
        return;
    }
    if (auto image = images.openRead(ImageKind::Netdev, number_))
        devices_ = image->all<NetDeviceEntry>();
    requireSettings(**settings_);
    for (const auto& device : devices_)
        requireSettings(*device);
    requirePrograms(images);
}

void NetworkContent::requirePrograms(const ImageDir& images) const {
    for (const SavedByIp& saved : kSavedByIp)
        if (!inputFrom(images, saved.kind, number_).empty())
            (void)ipProgram();
    for (const int family : {AF_INET, AF_INET6})
        if (!inputFrom(images, rulesOf(family), number_).empty())
            (void)legacyIptables(family, "restore");
    if (!inputFrom(images, ImageKind::Nftables, number_).empty() && !kernel::Nftables::available()) {
        Error error(0,
                    "the packet filter's rules of the tree's network namespace can't be restored without "
                    "libnftables");
        error.addHint("install libnftables");
        throw error;
    }
}

const char* NetworkContent::externalName() const noexcept {
    return settings_ ? (*settings_)->ext_key : nullptr;
}

std::vector<std::pair<std::uint32_t, std::int32_t>> NetworkContent::ids() const {
    std::vector<std::pair<std::uint32_t, std::int32_t>> ids;
    if (settings_)
        for (const NetnsId* const id : std::span((*settings_)->nsids, (*settings_)->n_nsids))
            ids.emplace_back(id->target_ns_id, id->netnsid_value);
    return ids;
}

void NetworkContent::begin(const SettingsRule& rule, const std::function<int(std::uint32_t)>& descriptorOf) const {
    if (!settings_)
        return;
    writeNetworkSettings(**settings_, rule);
    for (const auto& [number, id] : ids())
        kernel::setNetworkId(descriptorOf(number), id);
}

void NetworkContent::restoreFilters(const ImageDir& images) const {
    if (!settings_)
        return;
    for (const int family : {AF_INET, AF_INET6}) {
        const std::string rules = inputFrom(images, rulesOf(family), number_);
        if (!rules.empty())
            kernel::runProgram(legacyIptables(family, "restore"), {kernel::kIptablesWait}, rules);
    }
    if (const std::string rules = inputFrom(images, ImageKind::Nftables, number_); !rules.empty())
        kernel::Nftables().run(rules);
}

void NetworkContent::finish(const ImageDir& images) const {
    const auto restored = [&](ImageKind kind, const char* object) {
        const std::string saved = inputFrom(images, kind, number_);
        if (saved.empty())
            return;
        const std::string ip = ipProgram();
        if (kind == ImageKind::Rule) {
            // Removes the default rules of the new namespace first, because otherwise these rules would exist twice.
            // `rule flush` keeps the rule of table local.
            kernel::runProgram(ip, {"rule", "flush"}, {});
            kernel::runProgram(ip, {"rule", "delete", "table", "local"}, {});
        }
        const bool routes = kind == ImageKind::Route || kind == ImageKind::Route6;
        kernel::runProgram(ip, {object, "restore"}, routes ? cleanedRoutes(saved) : saved);
    };
    if (settings_) {
        for (const SavedByIp& saved : kSavedByIp)
            restored(saved.kind, saved.object);
        for (const NeighbourEntry* const entry : std::span((*settings_)->neighbours, (*settings_)->n_neighbours))
            kernel::addNeighbour({entry->device, static_cast<std::uint8_t>(entry->family),
                                  static_cast<std::uint8_t>(entry->flags), bytesOf(entry->address),
                                  bytesOf(entry->link_address)});
    }
    const auto connections = [&](ImageKind kind, kernel::ConntrackTable table) {
        const std::string entries = contentOf(images, kind, number_);
        kernel::writeConntrack(table, std::as_bytes(std::span(entries)));
    };
    connections(ImageKind::Conntrack, kernel::ConntrackTable::Connections);
    connections(ImageKind::ConntrackExpect, kernel::ConntrackTable::Expectations);
}

}  // namespace criu::namespaces
