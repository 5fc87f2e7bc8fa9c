// SPDX-License-Identifier: GPL-2.0-only
#include "option_samples.hpp"

#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cstdint>
#include <ctime>
#include <map>
#include <utility>

#include "zdtm.hpp"

namespace zdtm {
namespace {

constexpr int kOptions = 130;  // number above those of all options that are set by a number
constexpr int kSolMptcp = 284;
constexpr int kLevels[] = {SOL_SOCKET, IPPROTO_IP,     IPPROTO_IPV6, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDPLITE,
                           SOL_RAW,    IPPROTO_ICMPV6, SOL_NETLINK,  SOL_PACKET,  AF_VSOCK,    kSolMptcp};

struct Option {
    int level;
    int option;
    const char* reason;
};

// Options that are no lasting setting, or that can't be set.
constexpr Option kLeftOut[] = {
    {SOL_SOCKET, SO_RCVBUFFORCE, "sets SO_RCVBUF"},
    {SOL_SOCKET, SO_SNDBUFFORCE, "sets SO_SNDBUF"},
    {SOL_SOCKET, SO_INCOMING_CPU, "the kernel changes it with each packet"},
    {IPPROTO_UDP, UDP_CORK, "a corked socket is refused"},
    {IPPROTO_UDPLITE, UDP_CORK, "a corked socket is refused"},
    {IPPROTO_TCP, TCP_QUICKACK, "the kernel changes it with each segment"},
    {IPPROTO_TCP, TCP_REPAIR, "is what a dump uses"},
    {IPPROTO_TCP, TCP_REPAIR_QUEUE, "is what a dump uses"},
    {IPPROTO_TCP, TCP_QUEUE_SEQ, "is what a dump uses"},
    {IPPROTO_TCP, TCP_TIMESTAMP, "is a clock"},
};

template <typename T>
std::vector<unsigned char> bytes_of(const T& value) {
    const auto* const start = reinterpret_cast<const unsigned char*>(&value);
    return {start, start + sizeof(value)};
}

// Values of all types that options have. Most options accept one of them.
std::vector<std::vector<unsigned char>> candidates() {
    std::vector<std::vector<unsigned char>> values;
    for (const int number : {1, 0, 2, -1, 3, 7, 16, 40, 100, 1000, 4000, 70'000}) {
        values.push_back(bytes_of(number));
    }
    values.push_back(bytes_of(htonl(1)));                                // an interface, IP_UNICAST_IF
    values.push_back(bytes_of(htonl(INADDR_LOOPBACK)));                  // an address, IP_MULTICAST_IF
    values.push_back(bytes_of(std::uint32_t{60'000U << 16 | 30'000U}));  // IP_LOCAL_PORT_RANGE
    values.push_back({1, 1, 1, 1});                                      // headers without effect, IP_OPTIONS
    values.push_back({0, 0, 1, 4, 0, 0, 0, 0});                          // headers without effect, IPV6_DSTOPTS
    values.push_back(bytes_of(linger{1, 5}));
    values.push_back(bytes_of(std::uint64_t{100'000}));             // SO_MAX_PACING_RATE, sizes of vsock
    values.push_back(bytes_of(std::pair<int, int>(CLOCK_TAI, 0)));  // SO_TXTIME
    values.push_back(bytes_of(timeval{5, 0}));
    values.push_back({'r', 'e', 'n', 'o'});               // TCP_CONGESTION
    values.push_back({'l', 'o', 0, 0});                   // SO_BINDTODEVICE
    values.push_back(std::vector<unsigned char>(16, 7));  // TCP_FASTOPEN_KEY
    return values;
}

bool is_left_out(int level, int option) {
    for (const Option& one : kLeftOut) {
        if (one.level == level && one.option == option) {
            return true;
        }
    }
    return false;
}

}  // namespace

OptionSamples::OptionSamples() {
    rlimit limit{};
    SYS(getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = limit.rlim_max;
    SYS(setrlimit(RLIMIT_NOFILE, &limit));
}

OptionSamples::Value OptionSamples::read(int socket, int level, int option) {
    Value value(256);
    socklen_t size = static_cast<socklen_t>(value.size());
    if (getsockopt(socket, level, option, value.data(), &size) != 0) {
        return {};
    }
    value.resize(size);
    return value;
}

bool OptionSamples::change(int socket, int level, int option, Value& value) {
    const Value before = read(socket, level, option);
    if (before.empty()) {
        return false;
    }
    for (const Value& wanted : candidates()) {
        if (setsockopt(socket, level, option, wanted.data(), static_cast<socklen_t>(wanted.size())) == 0) {
            value = read(socket, level, option);
            if (value != before) {
                return true;
            }
        }
    }
    return false;
}

void OptionSamples::add(const std::string& kind, const std::function<int()>& make,
                        const std::function<int(int)>& heir) {
    const int first = make();
    for (const int level : kLevels) {
        for (int option = 0; option < kOptions; ++option) {
            if (is_left_out(level, option) || read(first, level, option).empty()) {
                continue;
            }
            const int socket = make();
            Value value;
            if (!change(socket, level, option, value)) {
                SYS(close(socket));
            } else if (heir) {
                const int other = heir(socket);
                samples_.push_back({kind, other, level, option, read(other, level, option)});
            } else {
                samples_.push_back({kind, socket, level, option, value});
            }
        }
    }
    SYS(close(first));
}

void OptionSamples::check() const {
    std::map<std::string, std::vector<std::string>> wrong;  // kinds of sockets by difference
    const auto shown = [](const Value& value) {
        std::string text;
        for (const unsigned char byte : value) {
            constexpr char digits[] = "0123456789abcdef";
            text += {digits[byte >> 4], digits[byte & 15]};
        }
        return text;
    };
    for (const Sample& sample : samples_) {
        if (const Value now = read(sample.socket, sample.level, sample.option); now != sample.value) {
            wrong[std::to_string(sample.level) + '/' + std::to_string(sample.option) + ' ' + shown(sample.value) +
                  " is " + shown(now)]
                .push_back(sample.kind);
        }
    }
    std::string all;
    for (const auto& [what, kinds] : wrong) {
        all += "; " + what + " (" + kinds.front() + " and " + std::to_string(kinds.size() - 1) + " others)";
    }
    CHECK(all.empty(), "of %zu options%s", samples_.size(), all.c_str());
}

}  // namespace zdtm
