// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/compare/raw_images.hpp"

#include <linux/if_addr.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <optional>
#include <regex>
#include <span>

#include <fmt/format.h>

#include "criu/base/hex.hpp"
#include "criu/base/printable.hpp"
#include "criu/namespaces/mount/file_archive.hpp"

namespace criu::engine {
namespace {

/// Layout of one type of netlink message.
struct NetlinkType {
    std::string_view name;
    std::size_t head = 0;                      ///< bytes between the header and the first attribute
    std::span<const std::uint16_t> unchecked;  ///< attributes that change with time
};

constexpr std::array<std::uint16_t, 1> kOfAddresses{IFA_CACHEINFO};
constexpr std::array<std::uint16_t, 1> kOfRoutes{RTA_CACHEINFO};
/// Attributes of connections that count packets and time, or that the kernel chooses.
constexpr std::array<std::uint16_t, 6> kOfConnections{CTA_TIMEOUT,        CTA_ID,       CTA_USE, CTA_COUNTERS_ORIG,
                                                      CTA_COUNTERS_REPLY, CTA_TIMESTAMP};

NetlinkType typeOfNetlink(std::uint16_t type) noexcept {
    switch (type) {
        case RTM_NEWADDR:
            return {"address", sizeof(ifaddrmsg), kOfAddresses};
        case RTM_NEWROUTE:
            return {"route", sizeof(rtmsg), kOfRoutes};
        case RTM_NEWRULE:
            return {"rule", sizeof(rtmsg), {}};
        default:
            break;
    }
    if (type >> 8 == NFNL_SUBSYS_CTNETLINK || type >> 8 == NFNL_SUBSYS_CTNETLINK_EXP)
        return {"connection", sizeof(nfgenmsg), kOfConnections};
    return {"message", 0, {}};
}

template <typename T>
std::optional<T> headOf(std::string_view bytes) noexcept {
    if (bytes.size() < sizeof(T))
        return std::nullopt;
    T head;
    std::memcpy(&head, bytes.data(), sizeof(head));
    return head;
}

std::size_t aligned(std::size_t size) noexcept {
    return (size + 3) & ~std::size_t{3};
}

/// Returns a value without flags of addresses that only the kernel sets (if_addr.h).
std::string withoutKernelFlags(const NetlinkType& type, std::uint16_t number, std::string_view value) {
    std::string result(value);
    constexpr std::uint32_t kKernelFlags =
        IFA_F_TENTATIVE | IFA_F_DADFAILED | IFA_F_DEPRECATED | IFA_F_STABLE_PRIVACY | IFA_F_TEMPORARY;
    if (const auto flags = headOf<std::uint32_t>(value); type.name == "address" && number == IFA_FLAGS && flags) {
        const std::uint32_t kept = *flags & ~kKernelFlags;
        std::memcpy(result.data(), &kept, sizeof(kept));
    }
    return result;
}

/// Returns the content of a message in words, without attributes that change with time.
std::string textOfNetlink(const NetlinkType& type, std::string_view body) {
    std::string head(body.substr(0, type.head));
    if (type.name == "address" && head.size() == sizeof(ifaddrmsg))
        head[offsetof(ifaddrmsg, ifa_flags)] = 0;  // IFA_FLAGS has the same flags
    std::string text = toHex(head);
    body.remove_prefix(std::min(body.size(), aligned(type.head)));
    while (const auto attribute = headOf<rtattr>(body)) {
        if (attribute->rta_len < sizeof(*attribute) || attribute->rta_len > body.size())
            break;
        const auto number = static_cast<std::uint16_t>(attribute->rta_type & NLA_TYPE_MASK);
        const std::string_view value = body.substr(sizeof(*attribute), attribute->rta_len - sizeof(*attribute));
        if (std::ranges::find(type.unchecked, number) == type.unchecked.end())
            fmt::format_to(std::back_inserter(text), " {}={}", number, toHex(withoutKernelFlags(type, number, value)));
        body.remove_prefix(std::min(body.size(), aligned(attribute->rta_len)));
    }
    return text + (body.empty() ? "" : " ") + toHex(body);
}

}  // namespace

RawParts partsOfNetlink(std::string_view bytes, bool magic) {
    RawParts parts;
    if (magic)
        bytes.remove_prefix(std::min<std::size_t>(bytes.size(), sizeof(std::uint32_t)));
    while (const auto head = headOf<nlmsghdr>(bytes)) {
        if (head->nlmsg_len < sizeof(*head) || head->nlmsg_len > bytes.size())
            break;
        const NetlinkType type = typeOfNetlink(head->nlmsg_type);
        if (head->nlmsg_type != NLMSG_DONE)
            parts.emplace(
                fmt::format("{} {}", type.name,
                            textOfNetlink(type, bytes.substr(sizeof(*head), head->nlmsg_len - sizeof(*head)))),
                "");
        bytes.remove_prefix(std::min(bytes.size(), aligned(head->nlmsg_len)));
    }
    if (!bytes.empty())
        parts.emplace("rest", toHex(bytes));
    return parts;
}

RawParts partsOfFilter(std::string_view text) {
    static const std::regex kCounters(R"(\[[0-9]+:[0-9]+\]|packets [0-9]+ bytes [0-9]+)");
    RawParts parts;
    std::string section;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string line = std::regex_replace(std::string(text.substr(0, end)), kCounters, "");
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.starts_with('#') || line.empty())
            continue;
        if (line.starts_with("table ") || line.starts_with('*'))
            section = line;
        // A dump locks the network by a table of its own, which a restore removes.
        if (section.starts_with("table inet criu-dump-") || section.starts_with("table inet CRIU-"))
            continue;
        parts.emplace(section == line ? line : fmt::format("{}: {}", section, line), "");
    }
    return parts;
}

RawParts partsOfArchive(int archive, const std::map<std::string, ContentApart>& apart) {
    RawParts parts;
    for (namespaces::ArchivedFile& file : namespaces::FileArchives().list(archive)) {
        if (const auto found = apart.find(file.path); found != apart.end()) {
            constexpr std::uint64_t kSecond = 1'000'000'000;
            file.size = found->second.size;
            file.content = found->second.content;
            file.modified = {static_cast<time_t>(found->second.modified / kSecond),
                             static_cast<long>(found->second.modified % kSecond)};
        }
        std::string text =
            fmt::format("mode {:#o}, owner {}:{}, {} bytes, modified {}.{:09}, content {:#x}", file.mode, file.user,
                        file.group, file.size, file.modified.tv_sec, file.modified.tv_nsec, file.content);
        if (file.device != 0)
            fmt::format_to(std::back_inserter(text), ", device {:#x}", file.device);
        if (!file.target.empty())
            fmt::format_to(std::back_inserter(text), ", link to {}", file.target);
        for (const auto& [name, value] : file.attributes)
            fmt::format_to(std::back_inserter(text), ", attribute {} {}", name, toHex(value));
        parts.emplace(file.path, std::move(text));
    }
    return parts;
}

}  // namespace criu::engine
