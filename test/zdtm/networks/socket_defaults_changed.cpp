// SPDX-License-Identifier: GPL-2.0-only
// zdtm: network own
// zdtm: between cd /proc/sys/net; for f in ipv6/bindv6only:0:1 ipv4/ip_default_ttl:64:77 ipv4/tcp_keepalive_time:7200:100 ipv4/tcp_keepalive_intvl:75:30 ipv4/tcp_keepalive_probes:9:5; do n=${f%%:*}; v=${f#*:}; if [ "$(cat $n)" = "${v%:*}" ]; then echo "${v#*:}" >$n; else echo "${v%:*}" >$n; fi; done
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <fstream>
#include <string>
#include <vector>

#include "zdtm.hpp"

namespace {

struct Expected {
    std::string name;
    int fd;
    int level;
    int option;
    int value;
};

int value_of(int fd, int level, int option) {
    int value = 0;
    socklen_t size = sizeof value;
    SYS(getsockopt(fd, level, option, &value, &size));
    return value;
}

void set(int fd, int level, int option, int value) {
    SYS(setsockopt(fd, level, option, &value, sizeof value));
}

}  // namespace

ZDTM("socket options with the defaults of the dump, when the defaults of the network namespace have changed") {
    constexpr int kEach = 3;  // a restore may read the first socket of a kind only
    std::vector<Expected> all;
    const auto expect = [&](const char* name, int fd, int level, int option) {
        all.push_back({name, fd, level, option, value_of(fd, level, option)});
    };
    for (int i = 0; i < kEach; ++i) {
        for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
            const int v4 = SYS(socket(AF_INET, type, 0));
            expect("IP_TTL", v4, IPPROTO_IP, IP_TTL);
            const int v6 = SYS(socket(AF_INET6, type, 0));
            expect("IPV6_V6ONLY", v6, IPPROTO_IPV6, IPV6_V6ONLY);
            const int other = SYS(socket(AF_INET6, type, 0));
            set(other, IPPROTO_IPV6, IPV6_V6ONLY, value_of(v6, IPPROTO_IPV6, IPV6_V6ONLY) == 0 ? 1 : 0);
            expect("IPV6_V6ONLY, changed", other, IPPROTO_IPV6, IPV6_V6ONLY);
            if (type == SOCK_STREAM) {
                for (const int fd : {v4, v6}) {
                    expect("TCP_KEEPIDLE", fd, IPPROTO_TCP, TCP_KEEPIDLE);
                    expect("TCP_KEEPINTVL", fd, IPPROTO_TCP, TCP_KEEPINTVL);
                    expect("TCP_KEEPCNT", fd, IPPROTO_TCP, TCP_KEEPCNT);
                }
            }
            // IP_TOS also sets SO_PRIORITY, and the program has reverted this.
            const int prior = SYS(socket(AF_INET, type, 0));
            set(prior, IPPROTO_IP, IP_TOS, 0x10);
            set(prior, SOL_SOCKET, SO_PRIORITY, 0);
            expect("IP_TOS", prior, IPPROTO_IP, IP_TOS);
            expect("SO_PRIORITY after IP_TOS", prior, SOL_SOCKET, SO_PRIORITY);
            // A bound socket, because criu sets options to bind it.
            sockaddr_in name{};
            name.sin_family = AF_INET;
            name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            SYS(bind(prior, reinterpret_cast<sockaddr*>(&name), sizeof name));
            expect("IP_FREEBIND", prior, IPPROTO_IP, IP_FREEBIND);
            expect("SO_REUSEADDR, bound", prior, SOL_SOCKET, SO_REUSEADDR);
            expect("SO_REUSEADDR", v4, SOL_SOCKET, SO_REUSEADDR);
            expect("SO_REUSEPORT", v4, SOL_SOCKET, SO_REUSEPORT);
        }
    }
    // A new ping socket has SO_REUSEADDR.
    std::ofstream("/proc/sys/net/ipv4/ping_group_range") << "0 0";
    for (int i = 0; i < kEach; ++i)
        if (const int ping = socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP); ping >= 0) {
            set(ping, SOL_SOCKET, SO_REUSEADDR, i == 1 ? 1 : 0);
            expect("SO_REUSEADDR of a ping socket", ping, SOL_SOCKET, SO_REUSEADDR);
        }
    me.wait_for_check();
    for (const Expected& one : all) {
        const int now = value_of(one.fd, one.level, one.option);
        CHECK(now == one.value, "%s of fd %d is %d, not %d", one.name.c_str(), one.fd, now, one.value);
    }
}
