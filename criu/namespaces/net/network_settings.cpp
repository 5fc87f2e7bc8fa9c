// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/net/network_settings.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/image/text_rules.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::namespaces {
namespace {

// Names of settings in a fixed order. Images contain values without names, so the position in these lists identifies a
// value.
constexpr std::string_view kSettings4[] = {"accept_local",
                                           "accept_redirects",
                                           "accept_source_route",
                                           "arp_accept",
                                           "arp_announce",
                                           "arp_filter",
                                           "arp_ignore",
                                           "arp_notify",
                                           "bootp_relay",
                                           "disable_policy",
                                           "disable_xfrm",
                                           "force_igmp_version",
                                           "forwarding",
                                           "igmpv2_unsolicited_report_interval",
                                           "igmpv3_unsolicited_report_interval",
                                           "log_martians",
                                           "medium_id",
                                           "promote_secondaries",
                                           "proxy_arp",
                                           "proxy_arp_pvlan",
                                           "route_localnet",
                                           "rp_filter",
                                           "secure_redirects",
                                           "send_redirects",
                                           "shared_media",
                                           "src_valid_mark",
                                           "tag",
                                           "ignore_routes_with_linkdown",
                                           "drop_gratuitous_arp",
                                           "drop_unicast_in_l2_multicast"};
constexpr std::string_view kSettings6[] = {"accept_dad",
                                           "accept_ra",
                                           "accept_ra_defrtr",
                                           "accept_ra_from_local",
                                           "accept_ra_min_hop_limit",
                                           "accept_ra_mtu",
                                           "accept_ra_pinfo",
                                           "accept_ra_rt_info_max_plen",
                                           "accept_ra_rtr_pref",
                                           "accept_redirects",
                                           "accept_source_route",
                                           "autoconf",
                                           "dad_transmits",
                                           "disable_ipv6",
                                           "drop_unicast_in_l2_multicast",
                                           "drop_unsolicited_na",
                                           "force_mld_version",
                                           "force_tllao",
                                           "forwarding",
                                           "hop_limit",
                                           "ignore_routes_with_linkdown",
                                           "keep_addr_on_down",
                                           "max_addresses",
                                           "max_desync_factor",
                                           "mldv1_unsolicited_report_interval",
                                           "mldv2_unsolicited_report_interval",
                                           "mtu",
                                           "ndisc_notify",
                                           "optimistic_dad",
                                           "proxy_ndp",
                                           "regen_max_retry",
                                           "router_probe_interval",
                                           "router_solicitation_delay",
                                           "router_solicitation_interval",
                                           "router_solicitations",
                                           "stable_secret",
                                           "suppress_frag_ndisc",
                                           "temp_prefered_lft",
                                           "temp_valid_lft",
                                           "use_oif_addrs_only",
                                           "use_optimistic",
                                           "use_tempaddr"};
constexpr std::string_view kSecret = "stable_secret";
constexpr std::string_view kRedirects = "accept_redirects";
constexpr std::string_view kQueueLength = "sys/net/unix/max_dgram_qlen";
constexpr std::string_view kPingGroups = "sys/net/ipv4/ping_group_range";
constexpr std::string_view kNobodyPings = "1\t0";

using Settings = std::span<SysctlEntry* const>;

/// Directory of settings in /proc/sys/net.
struct SettingsPlace {
    int version = 4;
    std::string_view name;  ///< name of a device, "all" or "default"

    [[nodiscard]] std::span<const std::string_view> settings() const {
        return version == 4 ? std::span<const std::string_view>(kSettings4) : kSettings6;
    }
    [[nodiscard]] std::string path(std::string_view setting) const {
        return fmt::format("sys/net/ipv{}/conf/{}/{}", version, name, setting);
    }
};

/// Returns the value of a setting. Returns nullopt if the kernel lacks the setting, or if the setting is a secret that
/// was never set.
std::optional<std::string> readSetting(const std::string& path) {
    try {
        std::string value = kernel::ProcDir().readFile(path);
        while (!value.empty() && value.back() == '\n')
            value.pop_back();
        return value;
    } catch (const Error& error) {
        if (error.code() == ENOENT || error.code() == EIO)
            return std::nullopt;
        throw;
    }
}

void writeSetting(const std::string& path, const std::string& value, const SettingsRule& rule) {
    const std::string full = "/proc/" + path;
    const UniqueFd file(::open(full.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file && errno == ENOENT) {
        if (rule.weak) {
            rule.log.warn("{} doesn't exist here: {} isn't written to it", full, value);
            return;
        }
        Error error(ENOENT, fmt::format("open {}", full));
        error.addHint("--weak-sysctls leaves out what this kernel lacks");
        throw error;
    }
    if (!file)
        failErrno("open {}", full);
    sys(::write(file.get(), value.data(), value.size()), "write {} to {}", value, full);
}

void readNumber(const std::string& path, SysctlEntry& entry) {
    entry.type = SYSCTL_TYPE__CTL_32;
    const auto text = readSetting(path);
    if (!text)
        return;
    const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), entry.iarg);
    if (problem != std::errc() || end != text->data() + text->size())
        fail("/proc/{} holds {}, which is no number", path, *text);
    entry.has_iarg = 1;
}

void readText(const std::string& path, SysctlEntry& entry, Arena& arena) {
    entry.type = SYSCTL_TYPE__CTL_STR;
    if (const auto text = readSetting(path))
        entry.sarg = arena.string(*text);
}

void readAll(const SettingsPlace& place, std::size_t& count, SysctlEntry**& entries, Arena& arena) {
    const auto names = place.settings();
    count = names.size();
    entries = arena.messages<SysctlEntry>(count);
    for (std::size_t i = 0; i < count; ++i) {
        if (names[i] == kSecret)
            readText(place.path(names[i]), *entries[i], arena);
        else
            readNumber(place.path(names[i]), *entries[i]);
    }
}

std::optional<std::string> valueOf(const SysctlEntry& entry) {
    if (entry.type == SYSCTL_TYPE__CTL_32)
        return entry.has_iarg != 0 ? std::optional(std::to_string(entry.iarg)) : std::nullopt;
    return entry.sarg != nullptr && *entry.sarg != '\0' ? std::optional<std::string>(entry.sarg) : std::nullopt;
}

void requireValues(const char* what, Settings entries) {
    for (const SysctlEntry* const entry : entries)
        if (const auto value = valueOf(*entry); value && !isSettingValue(*value))
            fail("{}: \"{}\" is no value of one", what, *value);
}

/// Writes only values that differ, because some writes have side effects.
void writeAll(const SettingsPlace& place, Settings entries, const SettingsRule& rule) {
    const auto names = place.settings();
    const std::size_t count = std::min(names.size(), entries.size());
    const auto one = [&](std::size_t i) {
        const auto value = valueOf(*entries[i]);
        const std::string path = place.path(names[i]);
        if (value && readSetting(path) != value)
            writeSetting(path, *value, rule);
    };
    for (std::size_t i = 0; i < count; ++i)
        if (names[i] != kRedirects)
            one(i);
    // Writes accept_redirects last, because a write to `forwarding` changes it.
    for (std::size_t i = 0; i < count; ++i)
        if (names[i] == kRedirects)
            one(i);
}

}  // namespace

void readDeviceSettings(NetDeviceEntry& device, Arena& arena) {
    readAll({4, device.name}, device.n_conf4, device.conf4, arena);
    readAll({6, device.name}, device.n_conf6, device.conf6, arena);
}

void readNetworkSettings(NetnsEntry& network, Arena& arena) {
    readAll({4, "default"}, network.n_def_conf4, network.def_conf4, arena);
    readAll({4, "all"}, network.n_all_conf4, network.all_conf4, arena);
    readAll({6, "default"}, network.n_def_conf6, network.def_conf6, arena);
    readAll({6, "all"}, network.n_all_conf6, network.all_conf6, arena);
    network.n_unix_conf = 1;
    network.unix_conf = arena.messages<SysctlEntry>(1);
    readNumber(std::string(kQueueLength), *network.unix_conf[0]);
    network.n_ipv4_sysctl = 1;
    network.ipv4_sysctl = arena.messages<SysctlEntry>(1);
    readText(std::string(kPingGroups), *network.ipv4_sysctl[0], arena);
    if (network.ipv4_sysctl[0]->sarg != nullptr && network.ipv4_sysctl[0]->sarg == kNobodyPings)
        network.ipv4_sysctl[0]->sarg = nullptr;  // default value of a new namespace
}

void requireSettings(const NetDeviceEntry& device) {
    for (const Settings entries : {Settings(device.conf4, device.n_conf4), Settings(device.conf6, device.n_conf6)})
        requireValues("settings of a network device", entries);
}

void requireSettings(const NetnsEntry& network) {
    for (const Settings entries :
         {Settings(network.def_conf4, network.n_def_conf4), Settings(network.all_conf4, network.n_all_conf4),
          Settings(network.def_conf6, network.n_def_conf6), Settings(network.all_conf6, network.n_all_conf6),
          Settings(network.unix_conf, network.n_unix_conf), Settings(network.ipv4_sysctl, network.n_ipv4_sysctl)})
        requireValues("settings of a network namespace", entries);
}

void writeDeviceSettings(const NetDeviceEntry& device, const SettingsRule& rule) {
    writeAll({4, device.name}, {device.conf4, device.n_conf4}, rule);
    writeAll({6, device.name}, {device.conf6, device.n_conf6}, rule);
}

void writeNetworkSettings(const NetnsEntry& network, const SettingsRule& rule) {
    writeAll({4, "all"}, {network.all_conf4, network.n_all_conf4}, rule);
    writeAll({4, "default"}, {network.def_conf4, network.n_def_conf4}, rule);
    writeAll({6, "all"}, {network.all_conf6, network.n_all_conf6}, rule);
    writeAll({6, "default"}, {network.def_conf6, network.n_def_conf6}, rule);
    const auto single = [&rule](Settings entries, std::string_view path) {
        if (entries.empty())
            return;
        const auto value = valueOf(*entries[0]);
        if (value && readSetting(std::string(path)) != value)
            writeSetting(std::string(path), *value, rule);
    };
    single({network.unix_conf, network.n_unix_conf}, kQueueLength);
    single({network.ipv4_sysctl, network.n_ipv4_sysctl}, kPingGroups);
}

}  // namespace criu::namespaces
