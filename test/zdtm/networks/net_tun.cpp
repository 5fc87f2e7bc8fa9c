// SPDX-License-Identifier: GPL-2.0-only
// zdtm: ignore fd [45]
// zdtm: may-differ fd 4: number 1: reg\.pos:
// (their positions, which writing moves, nothing reads and no call sets)
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <vector>

#include "inet_sockets.hpp"
#include "network.hpp"
#include "patience.hpp"
#include "zdtm.hpp"

namespace {

int open_tun() {
    return SYS(open("/dev/net/tun", O_RDWR | O_NONBLOCK));
}

void attach(int fd, const char* name, int flags) {
    ifreq request{};
    strncpy(request.ifr_name, name, sizeof(request.ifr_name) - 1);
    request.ifr_flags = short(flags);
    SYS(ioctl(fd, TUNSETIFF, &request));
}

ifreq attachment(int fd) {
    ifreq request{};
    SYS(ioctl(fd, TUNGETIFF, &request));
    return request;
}

int number(int fd, unsigned long question) {
    int value = 0;
    SYS(ioctl(fd, question, &value));
    return value;
}

void set_number(int fd, unsigned long what, int value) {
    SYS(ioctl(fd, what, &value));
}

void set_queue(int fd, int flag) {
    ifreq request{};
    request.ifr_flags = short(flag);
    SYS(ioctl(fd, TUNSETQUEUE, &request));
}

// Sends a datagram through the device, reads it as an Ethernet frame, and writes an answer.
void check_traffic(int tap) {
    std::vector<unsigned char> frame(2048);
    while (read(tap, frame.data(), frame.size()) > 0) {
    }
    const int socket = SYS(::socket(AF_INET, SOCK_DGRAM, 0));
    sockaddr_in peer{};
    peer.sin_family = AF_INET;
    peer.sin_port = htons(7777);
    peer.sin_addr.s_addr = inet_addr("10.99.0.2");
    SYS(connect(socket, reinterpret_cast<const sockaddr*>(&peer), sizeof(peer)));
    SYS(send(socket, "question", 8, 0));
    for (;;) {
        pollfd ask{tap, POLLIN, 0};
        CHECK(poll(&ask, 1, zdtm::kPatience) == 1, "no packet comes out of the device");
        const ssize_t size = SYS(read(tap, frame.data(), frame.size()));
        // An Ethernet frame with an IPv4 header without options, and UDP.
        if (size == 14 + 20 + 8 + 8 && frame[12] == 8 && frame[13] == 0 && memcmp(&frame[42], "question", 8) == 0)
            break;
    }
    // Exchanges addresses and ports, which keeps the IP checksum valid. UDP needs no checksum.
    std::swap_ranges(frame.begin(), frame.begin() + 6, frame.begin() + 6);
    std::swap_ranges(frame.begin() + 26, frame.begin() + 30, frame.begin() + 30);
    std::swap_ranges(frame.begin() + 34, frame.begin() + 36, frame.begin() + 36);
    frame[40] = frame[41] = 0;
    memcpy(&frame[42], "response", 8);
    CHECK(write(tap, frame.data(), 50) == 50, "writing a packet: %s", strerror(errno));
    pollfd answer{socket, POLLIN, 0};
    CHECK(poll(&answer, 1, zdtm::kPatience) == 1, "a packet that was written doesn't arrive");
    char text[8];
    CHECK(recv(socket, text, sizeof(text), 0) == 8 && memcmp(text, "response", 8) == 0, "another packet arrived");
    SYS(close(socket));
}

/// Waits until IPv6 addresses have a route. The kernel first does duplicate address detection, which takes up to two
/// seconds, also after a restore.
void await_addresses() {
    zdtm::output_of("while ip -6 addr show tentative | grep -q inet6; do sleep 0.1; done");
}

}  // namespace

ZDTM("tun and tap devices: attached, two queues (one detached), persistent, and a descriptor without a device") {
    zdtm::enter_new_network();
    if (access("/dev/net/tun", R_OK | W_OK) != 0) {
        zdtm::skip("/dev/net/tun: %s", strerror(errno));
    }
    const int fresh = open_tun();
    const int tap = open_tun();
    attach(tap, "zdtmtap", IFF_TAP | IFF_NO_PI);
    SYS(ioctl(tap, TUNSETOWNER, 1234));
    const int same = SYS(dup(tap));
    const int first = open_tun();
    const int second = open_tun();
    for (const int fd : {first, second})
        attach(fd, "zdtmqueues", IFF_TUN | IFF_MULTI_QUEUE | IFF_VNET_HDR);
    set_number(first, TUNSETVNETHDRSZ, 12);
    set_queue(second, IFF_DETACH_QUEUE);
    const int lasting = open_tun();
    attach(lasting, "zdtmlasts", IFF_TUN);
    SYS(ioctl(lasting, TUNSETGROUP, 4321));
    SYS(ioctl(lasting, TUNSETPERSIST, 1));
    SYS(close(lasting));
    for (const char* const command :
         {"ip link set zdtmtap address 02:11:22:33:44:55 mtu 1400 up", "ip addr add 10.99.0.1/24 dev zdtmtap",
          "ip neigh add 10.99.0.2 lladdr 02:11:22:33:44:66 dev zdtmtap nud permanent || true",
          "echo 1 >/proc/sys/net/ipv6/conf/zdtmqueues/disable_ipv6", "ip addr add 10.98.0.1/24 dev zdtmqueues",
          "ip link set zdtmqueues up"})
        zdtm::output_of(command);
    check_traffic(tap);
    await_addresses();
    const std::vector<const char*> questions{
        "ip -o -d link show zdtmtap | sed -E 's, (state|addrgenmode) [A-Za-z0-9_]*,,g'",
        "ip -o -d link show zdtmqueues | sed -E 's, (state|addrgenmode) [A-Za-z0-9_]*,,g'",
        "ip -o -d link show zdtmlasts | sed -E 's, (state|addrgenmode) [A-Za-z0-9_]*,,g'",
        "ip -o -4 addr",
        "ip -o -6 addr | sed 's, scope.*,,'",
        "ip route show table all | sort"};
    std::vector<std::string> answers;
    for (const char* const question : questions)
        answers.push_back(zdtm::output_of(question));
    std::vector<ifreq> attached;
    for (const int fd : {tap, first, second})
        attached.push_back(attachment(fd));

    me.wait_for_check();

    await_addresses();
    for (std::size_t i = 0; i < questions.size(); ++i) {
        const std::string now = zdtm::output_of(questions[i]);
        CHECK(now == answers[i], "%s was\n%snow\n%s", questions[i], answers[i].c_str(), now.c_str());
    }
    for (const ifreq& before : attached) {
        const int fd = &before == &attached[0] ? tap : &before == &attached[1] ? first : second;
        const ifreq now = attachment(fd);
        CHECK(strcmp(now.ifr_name, before.ifr_name) == 0 && now.ifr_flags == before.ifr_flags,
              "%d was attached to %s (%#hx), is to %s (%#hx)", fd, before.ifr_name, before.ifr_flags, now.ifr_name,
              now.ifr_flags);
    }
    CHECK(fcntl(tap, F_GETFL) & O_NONBLOCK, "flags are %#o", fcntl(tap, F_GETFL));
    CHECK(number(first, TUNGETVNETHDRSZ) == 12, "headers have %d bytes", number(first, TUNGETVNETHDRSZ));
    zdtm::output_of("ip neigh replace 10.99.0.2 lladdr 02:11:22:33:44:66 dev zdtmtap nud permanent");
    check_traffic(tap);
    set_queue(second, IFF_ATTACH_QUEUE);
    attach(fresh, "zdtmlasts", IFF_TUN);
    SYS(close(fresh));
    zdtm::output_of("ip link show zdtmlasts");
    SYS(close(tap));
    zdtm::output_of("ip link show zdtmtap");
    SYS(close(same));
    zdtm::output_of("! ip link show zdtmtap");
}
