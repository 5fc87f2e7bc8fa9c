// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused fd \d+ of pid \d+ .*keys to sign.*have the program close it
// zdtm: fails-with-4.2 it loses the keys
#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "zdtm.hpp"

ZDTM("a dump refuses a listening TCP socket with an MD5 signature key") {
    const int fd = SYS(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in peer{};
    peer.sin_family = AF_INET;
    peer.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    SYS(bind(fd, reinterpret_cast<const sockaddr*>(&peer), sizeof(peer)));
    tcp_md5sig key{};
    memcpy(&key.tcpm_addr, &peer, sizeof(peer));
    key.tcpm_keylen = 6;
    memcpy(key.tcpm_key, "secret", 6);
    if (setsockopt(fd, IPPROTO_TCP, TCP_MD5SIG, &key, sizeof(key)) != 0) {
        zdtm::skip("the kernel has no TCP_MD5SIG");
    }
    SYS(listen(fd, 1));
    me.wait_for_check();
}
