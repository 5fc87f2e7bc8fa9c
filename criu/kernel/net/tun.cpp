// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/net/tun.hpp"

#include <linux/ethtool.h>
#include <linux/filter.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"

namespace criu::kernel {
namespace {

constexpr std::uint32_t kUso4 = 0x20;  // TUN_F_USO4 (Linux 6.2)
constexpr std::uint32_t kUso6 = 0x40;  // TUN_F_USO6

/// Offload flags, with the feature names that ethtool(8) uses.
constexpr std::pair<std::string_view, std::uint32_t> kOffloads[] = {
    {"tx-checksum-ip-generic", TUN_F_CSUM}, {"tx-tcp-segmentation", TUN_F_TSO4},
    {"tx-tcp6-segmentation", TUN_F_TSO6},   {"tx-tcp-ecn-segmentation", TUN_F_TSO_ECN},
    {"tx-udp-segmentation", kUso4 | kUso6},
};

ifreq requestFor(const std::string& device) {
    ifreq request{};
    if (device.empty() || device.size() >= sizeof(request.ifr_name))
        fail("'{}' can't be the name of a network device", device);
    std::memcpy(request.ifr_name, device.data(), device.size());
    return request;
}

/// Sends an ethtool request. `words`: the header, and space for the kernel's reply.
void ask(int socket, const std::string& device, std::vector<std::uint32_t>& words) {
    ifreq request = requestFor(device);
    request.ifr_data = reinterpret_cast<char*>(words.data());
    sys(::ioctl(socket, SIOCETHTOOL, &request), "read the features of network device {}", device);
}

template <typename Header>
std::vector<std::uint32_t> room(const Header& header, std::size_t more) {
    std::vector<std::uint32_t> words((sizeof(header) + more + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t));
    std::memcpy(words.data(), &header, sizeof(header));
    return words;
}

void setNumber(int fd, unsigned long what, std::uint32_t value, const char* name) {
    sys(::ioctl(fd, what, &value), "{} of a tun device", name);
}

}  // namespace

std::optional<TunAttachment> readTunAttachment(int fd) {
    ifreq request{};
    if (::ioctl(fd, TUNGETIFF, &request) != 0) {
        if (errno == EBADFD)
            return std::nullopt;
        failErrno("ask which device a tun descriptor is attached to");
    }
    const auto flags = static_cast<std::uint16_t>(request.ifr_flags);
    return TunAttachment{{request.ifr_name, ::strnlen(request.ifr_name, sizeof(request.ifr_name))},
                         flags,
                         (flags & IFF_DETACH_QUEUE) != 0};
}

TunSettings readTunSettings(int fd, bool tap) {
    TunSettings settings;
    int number = 0;
    sys(::ioctl(fd, TUNGETVNETHDRSZ, &number), "read the header size of a tun device");
    settings.headerSize = static_cast<std::uint32_t>(number);
    sys(::ioctl(fd, TUNGETSNDBUF, &number), "read the send buffer of a tun device");
    settings.sendBuffer = static_cast<std::uint32_t>(number);
    sys(::ioctl(fd, TUNGETVNETLE, &number), "read the byte order of a tun device");
    settings.littleEndian = number != 0;
    if (tap) {
        sock_fprog filter{};
        sys(::ioctl(fd, TUNGETFILTER, &filter), "read the filter of a tap device");
        settings.filtered = filter.len != 0;
    }
    return settings;
}

std::uint32_t readTunOffload(const std::string& device) {
    const UniqueFd socket(sys(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "create a socket"));
    ethtool_sset_info count{};
    count.cmd = ETHTOOL_GSSET_INFO;
    count.sset_mask = 1ULL << ETH_SS_FEATURES;
    std::vector<std::uint32_t> counted = room(count, sizeof(std::uint32_t));
    ask(socket.get(), device, counted);
    const std::uint32_t features = counted.back();
    constexpr std::uint32_t kMany = 4096;
    if (features > kMany)
        fail("network device {} has {} features", device, features);

    ethtool_gstrings names{};
    names.cmd = ETHTOOL_GSTRINGS;
    names.string_set = ETH_SS_FEATURES;
    names.len = features;
    std::vector<std::uint32_t> texts = room(names, std::size_t{features} * ETH_GSTRING_LEN);
    ask(socket.get(), device, texts);
    constexpr std::uint32_t kBits = 32;
    ethtool_gfeatures states{};
    states.cmd = ETHTOOL_GFEATURES;
    states.size = (features + kBits - 1) / kBits;
    std::vector<std::uint32_t> blocks = room(states, states.size * sizeof(ethtool_get_features_block));
    ask(socket.get(), device, blocks);

    std::uint32_t offload = 0;
    for (std::uint32_t feature = 0; feature < features; ++feature) {
        ethtool_get_features_block block{};
        std::memcpy(
            &block,
            reinterpret_cast<const std::byte*>(blocks.data()) + sizeof(states) + feature / kBits * sizeof(block),
            sizeof(block));
        if ((block.active >> feature % kBits & 1U) == 0)
            continue;
        const char* const text =
            reinterpret_cast<const char*>(texts.data()) + sizeof(names) + std::size_t{feature} * ETH_GSTRING_LEN;
        const std::string_view name(text, ::strnlen(text, ETH_GSTRING_LEN));
        for (const auto& [known, flag] : kOffloads)
            if (name == known)
                offload |= flag;
    }
    return offload;
}

void attachTun(int fd, const std::string& device, std::uint32_t flags, std::uint32_t index) {
    if (index != 0)
        setNumber(fd, TUNSETIFINDEX, index, "set the index");
    ifreq request = requestFor(device);
    request.ifr_flags = static_cast<short>(flags);
    sys(::ioctl(fd, TUNSETIFF, &request), "attach to tun device {} with flags {:#x}", device, flags);
}

void detachTunQueue(int fd) {
    ifreq request{};
    request.ifr_flags = IFF_DETACH_QUEUE;
    sys(::ioctl(fd, TUNSETQUEUE, &request), "detach a queue of a tun device");
}

void setTunPersistent(int fd, bool persistent) {
    sys(::ioctl(fd, TUNSETPERSIST, persistent ? 1UL : 0UL), "make a tun device persistent, or not");
}

void writeTunSettings(int fd, const TunSettings& settings) {
    setNumber(fd, TUNSETSNDBUF, settings.sendBuffer, "set the send buffer");
    setNumber(fd, TUNSETVNETHDRSZ, settings.headerSize, "set the header size");
    if (settings.littleEndian)
        setNumber(fd, TUNSETVNETLE, 1, "set the byte order");
}

void writeTunOffload(int fd, std::uint32_t offload) {
    sys(::ioctl(fd, TUNSETOFFLOAD, static_cast<unsigned long>(offload)), "set offload {:#x} of a tun device", offload);
}

void writeTunOwner(int fd, std::int32_t user, std::int32_t group) {
    if (user != -1)
        sys(::ioctl(fd, TUNSETOWNER, static_cast<unsigned long>(user)), "set the owner of a tun device");
    if (group != -1)
        sys(::ioctl(fd, TUNSETGROUP, static_cast<unsigned long>(group)), "set the group of a tun device");
}

}  // namespace criu::kernel
