// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it drops the datagrams
// Datagrams that the kernel has merged (UDP_GRO) are single ones after a restore.
// zdtm: ignore fd 10 FIONREAD
// Datagrams in the queues of UDP sockets.
#include <linux/udp.h>

#include <vector>

#include "inet_sockets.hpp"
#include "zdtm.hpp"

namespace {

using zdtm::Inet;

// A datagram as its receiver sees it.
struct Got {
    std::string data;
    std::string source;
    std::string control;  // level, type and content of the ancillary data
};

int bound(int family, const Inet& where, bool shared = false) {
    const int fd = SYS(socket(family, SOCK_DGRAM, 0));
    if (shared)
        zdtm::set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    if (bind(fd, where.get(), where.length) != 0)
        zdtm::skip("bind to %s: %s", where.text().c_str(), strerror(errno));
    return fd;
}

int bound(int family) {
    return bound(family, Inet::loopback(family));
}

// Binds to all addresses, at a port that the kernel chooses.
int bound_to_any(int family) {
    Inet any = Inet::loopback(family);
    if (family == AF_INET)
        reinterpret_cast<sockaddr_in*>(&any.room)->sin_addr.s_addr = INADDR_ANY;
    else
        reinterpret_cast<sockaddr_in6*>(&any.room)->sin6_addr = in6addr_any;
    return bound(family, any);
}

void give(int from, const Inet& to, const std::string& text) {
    CHECK(sendto(from, text.data(), text.size(), 0, to.get(), to.length) == static_cast<ssize_t>(text.size()),
          "send to %s: %s", to.text().c_str(), strerror(errno));
}

std::string hex(const unsigned char* bytes, std::size_t size) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < size; ++i)
        text += {kDigits[bytes[i] >> 4], kDigits[bytes[i] & 15]};
    return text;
}

bool receive(int fd, Got& got, int flags = 0) {
    static char room[70000];
    alignas(cmsghdr) char control[1024];
    Inet from;
    iovec vector{room, sizeof room};
    msghdr message{};
    message.msg_name = &from.room;
    message.msg_namelen = sizeof from.room;
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t size = recvmsg(fd, &message, MSG_DONTWAIT | flags);
    if (size < 0)
        return false;
    from.length = message.msg_namelen;
    got = {std::string(room, static_cast<std::size_t>(size)), from.text(), {}};
    for (cmsghdr* next = CMSG_FIRSTHDR(&message); next != nullptr; next = CMSG_NXTHDR(&message, next))
        got.control += std::to_string(next->cmsg_level) + "/" + std::to_string(next->cmsg_type) + ":" +
                       hex(CMSG_DATA(next), next->cmsg_len - CMSG_LEN(0)) + ";";
    return true;
}

std::vector<Got> receive_all(int fd) {
    std::vector<Got> all;
    for (Got got; receive(fd, got);)
        all.push_back(got);
    return all;
}

void check(const char* what, int fd, const std::vector<Got>& wanted) {
    const std::vector<Got> all = receive_all(fd);
    CHECK(all.size() == wanted.size(), "%s: %zu datagrams instead of %zu", what, all.size(), wanted.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        CHECK(all[i].data == wanted[i].data, "%s: datagram %zu has %zu bytes instead of %zu", what, i,
              all[i].data.size(), wanted[i].data.size());
        CHECK(all[i].source == wanted[i].source, "%s: datagram %zu is from %s instead of %s", what, i,
              all[i].source.c_str(), wanted[i].source.c_str());
        CHECK(all[i].control == wanted[i].control, "%s: datagram %zu has %s instead of %s", what, i,
              all[i].control.c_str(), wanted[i].control.c_str());
    }
}

// Sockets that get datagrams twice: the test takes the first ones, and so knows what it has to get after the restore.
class Expected {
public:
    void add(const char* name, int fd) { sockets_.push_back({name, fd, receive_all(fd)}); }
    void check() const {
        for (const Socket& socket : sockets_)
            ::check(socket.name, socket.fd, socket.wanted);
    }

private:
    struct Socket {
        const char* name;
        int fd;
        std::vector<Got> wanted;
    };
    std::vector<Socket> sockets_;
};

// A socket that sends in the name of a foreign host.
int stranger() {
    const int fd = SYS(socket(AF_INET, SOCK_DGRAM, 0));
    zdtm::set_option(fd, IPPROTO_IP, IP_TRANSPARENT, 1);
    Inet where = Inet::loopback(AF_INET);
    reinterpret_cast<sockaddr_in*>(&where.room)->sin_addr.s_addr = htonl(0xc0000207);  // 192.0.2.7
    SYS(bind(fd, where.get(), where.length));
    return fd;
}

}  // namespace

ZDTM("datagrams that wait in UDP sockets: their content, order, source and ancillary data") {
    const int four = bound(AF_INET);
    const int six = bound(AF_INET6);
    const int any = bound_to_any(AF_INET6);
    const int asking = bound_to_any(AF_INET);
    const int asking_six = bound_to_any(AF_INET6);
    const int on_device = bound_to_any(AF_INET);
    SYS(setsockopt(on_device, SOL_SOCKET, SO_BINDTODEVICE, "lo", 2));
    const int connected = bound(AF_INET);
    const int merging = bound(AF_INET);
    const int peeking = bound(AF_INET);
    const int client = bound(AF_INET);
    const int other = bound(AF_INET);
    const int client_six = bound(AF_INET6);
    const int foreign = stranger();
    for (const int option : {IP_PKTINFO, IP_RECVTTL, IP_RECVTOS, IP_RECVORIGDSTADDR})
        zdtm::set_option(asking, IPPROTO_IP, option, 1);
    for (const int option : {IPV6_RECVPKTINFO, IPV6_RECVHOPLIMIT, IPV6_RECVTCLASS, IPV6_RECVORIGDSTADDR})
        zdtm::set_option(asking_six, IPPROTO_IPV6, option, 1);
    const int marked = bound(AF_INET);
    zdtm::set_option(marked, IPPROTO_IP, IP_TTL, 9);
    zdtm::set_option(marked, IPPROTO_IP, IP_TOS, 0x20);
    const int marked_six = bound(AF_INET6);
    zdtm::set_option(marked_six, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 9);
    zdtm::set_option(marked_six, IPPROTO_IPV6, IPV6_TCLASS, 0x20);
    const Inet other_end = Inet::of(other);
    SYS(connect(connected, other_end.get(), other_end.length));
    zdtm::set_option(merging, IPPROTO_UDP, UDP_GRO, 1);
    const int segmenting = bound(AF_INET);
    zdtm::set_option(segmenting, IPPROTO_UDP, UDP_SEGMENT, 100);
    zdtm::set_option(peeking, SOL_SOCKET, SO_PEEK_OFF, 3);
    std::vector<int> group{bound(AF_INET, Inet::loopback(AF_INET), true)};
    for (int i = 0; i < 3; ++i)
        group.push_back(bound(AF_INET, Inet::of(group.front()), true));

    const std::string large(40000, 'l');
    const auto send_all = [&] {
        give(client, Inet::of(four), "first");
        give(foreign, Inet::of(four), "from far");
        give(client, Inet::of(four), large);
        for (int i = 0; i < 40; ++i)
            give(other, Inet::of(four), "number " + std::to_string(i));
        give(client_six, Inet::of(six), "six");
        give(client_six, Inet::of(six), large);
        give(client, Inet::loopback(AF_INET, Inet::of(any).port()), "mapped");
        give(client_six, Inet::loopback(AF_INET6, Inet::of(any).port()), "not mapped");
        Inet fifth = Inet::loopback(AF_INET, Inet::of(asking).port());
        reinterpret_cast<sockaddr_in*>(&fifth.room)->sin_addr.s_addr = htonl(0x7f000005);
        give(marked, fifth, "asked");
        give(marked_six, Inet::loopback(AF_INET6, Inet::of(asking_six).port()), "asked, too");
        give(other, Inet::loopback(AF_INET, Inet::of(on_device).port()), "to the device");
        give(other, Inet::of(connected), "to the connected one");
        give(client, Inet::of(peeking), "peeked at");
        for (int i = 0; i < 12; ++i) {
            const int one = i % 3 == 0 ? client : i % 3 == 1 ? other : foreign;
            give(one, Inet::of(group.front()), "shared " + std::to_string(i));
        }
    };
    send_all();
    Expected expected;
    expected.add("IPv4", four);
    expected.add("IPv6", six);
    expected.add("all addresses", any);
    expected.add("ancillary data", asking);
    expected.add("ancillary data of IPv6", asking_six);
    expected.add("SO_BINDTODEVICE", on_device);
    expected.add("connected", connected);
    expected.add("SO_PEEK_OFF", peeking);
    for (const int fd : group)
        expected.add("SO_REUSEPORT", fd);
    send_all();
    zdtm::set_option(peeking, SOL_SOCKET, SO_PEEK_OFF, 3);
    give(segmenting, Inet::of(merging), std::string(350, 'm'));

    me.wait_for_check();
    CHECK(zdtm::get_option(peeking, SOL_SOCKET, SO_PEEK_OFF) == 3, "SO_PEEK_OFF is %d",
          zdtm::get_option(peeking, SOL_SOCKET, SO_PEEK_OFF));
    CHECK(zdtm::get_option(four, SOL_SOCKET, SO_PEEK_OFF) == -1, "SO_PEEK_OFF is %d",
          zdtm::get_option(four, SOL_SOCKET, SO_PEEK_OFF));
    expected.check();
    std::string merged;
    for (const Got& part : receive_all(merging))
        merged += part.data;
    CHECK(merged == std::string(350, 'm'), "%zu bytes", merged.size());
    // All sockets still work.
    give(other, Inet::of(connected), "again");
    give(client, Inet::of(four), "again");
    check("connected", connected, {{"again", Inet::of(other).text(), ""}});
    check("IPv4", four, {{"again", Inet::of(client).text(), ""}});
    give(client, Inet::of(connected), "no");
    check("connected", connected, {});
}
