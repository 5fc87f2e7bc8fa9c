// SPDX-License-Identifier: GPL-2.0-only
// Steps that create sockets.
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "builder.hpp"

namespace random_tree {

namespace {

int type_of(const Step& step) {
    const std::string type = step.text("type", "stream");
    return (type == "dgram"       ? SOCK_DGRAM
            : type == "seqpacket" ? SOCK_SEQPACKET
                                  : SOCK_STREAM) |
           (step.has("nonblock") ? SOCK_NONBLOCK : 0);
}

void set_option(int fd, int level, int option, int value) {
    require(setsockopt(fd, level, option, &value, sizeof value), "setsockopt");
}

// Sends one message, with a descriptor unless it is -1.
void send_message(int fd, const std::string& text, int passed) {
    iovec part{const_cast<char*>(text.data()), text.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof passed)] = {};
    if (passed >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof passed);
        std::memcpy(CMSG_DATA(header), &passed, sizeof passed);
    }
    require(sendmsg(fd, &message, MSG_NOSIGNAL), "sendmsg");
}

// Sends the messages of a step. `passes` is the name of a descriptor for the first message.
void send_messages(Builder& builder, const Step& step, int fd, long count, long seed) {
    const std::string passes = step.text("passes");
    for (long i = 0; i < count; ++i) {
        const int passed = i == 0 && !passes.empty() ? builder.fd(passes) : -1;
        send_message(fd, content(static_cast<std::size_t>(step.number("size", 50) + i), seed + i), passed);
    }
}

void options(const Step& step, int fd) {
    if (step.has("credentials")) {
        set_option(fd, SOL_SOCKET, SO_PASSCRED, 1);
    }
    if (step.number("sndbuf") > 0) {
        set_option(fd, SOL_SOCKET, SO_SNDBUF, static_cast<int>(step.number("sndbuf")));
    }
    if (step.number("priority") > 0) {
        set_option(fd, SOL_SOCKET, SO_PRIORITY, static_cast<int>(step.number("priority")));
    }
    if (step.has("keepalive")) {
        set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    }
    if (step.number("timeout") > 0) {
        const timeval limit{step.number("timeout"), 500000};
        require(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), "SO_RCVTIMEO");
    }
}

void unix_pair(Builder& builder, const Step& step) {
    int ends[2];
    require(socketpair(AF_UNIX, type_of(step), 0, ends), "socketpair");
    options(step, ends[1]);
    builder.keep(step.word(1) + ".a", ends[0]);
    builder.keep(step.word(1) + ".b", ends[1]);
    send_messages(builder, step, ends[0], step.number("messages"), step.number("seed"));
    send_messages(builder, step, ends[1], step.number("answers"), step.number("seed") + 50);
    if (step.has("shutdown")) {
        require(shutdown(ends[0], SHUT_WR), "shutdown");
    }
    if (step.has("orphan")) {
        close(ends[0]);
        builder.forget(step.word(1) + ".a");
    }
}

struct Named {
    sockaddr_un address;
    socklen_t size;
};

Named unix_name(Builder& builder, const Step& step) {
    Named made{};
    made.address.sun_family = AF_UNIX;
    const std::string text =
        step.has("abstract") ? std::string(1, '\0') + "random-" + step.word(1) : builder.path(step.word(1));
    std::memcpy(made.address.sun_path, text.data(), std::min(text.size(), sizeof made.address.sun_path));
    made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + text.size() + (step.has("abstract") ? 0 : 1));
    return made;
}

const sockaddr* generic(const Named& name) {
    return reinterpret_cast<const sockaddr*>(&name.address);
}

void unix_listener(Builder& builder, const Step& step) {
    const Named name = unix_name(builder, step);
    const int fd = require(socket(AF_UNIX, type_of(step), 0), "socket");
    require(bind(fd, generic(name), name.size), "bind");
    require(listen(fd, static_cast<int>(step.number("backlog", 5))), "listen");
    builder.keep(step.word(1), fd);
    for (long i = 0; i < step.number("waiting"); ++i) {
        const int client = require(socket(AF_UNIX, type_of(step), 0), "socket");
        require(connect(client, generic(name), name.size), "connect");
        send_messages(builder, step, client, step.number("messages"), step.number("seed") + i);
        builder.keep(step.word(1) + ".waiting" + std::to_string(i), client);
    }
    if (step.has("accepted")) {
        const int client = require(socket(AF_UNIX, type_of(step), 0), "socket");
        require(connect(client, generic(name), name.size), "connect");
        builder.keep(step.word(1) + ".a", client);
        builder.keep(step.word(1) + ".b", require(accept(fd, nullptr, nullptr), "accept"));
    }
    if (step.has("deleted") && !step.has("abstract")) {
        require(unlink(name.address.sun_path), "unlink");
    }
}

void unix_datagrams(Builder& builder, const Step& step) {
    const Named name = unix_name(builder, step);
    const int fd = require(socket(AF_UNIX, SOCK_DGRAM | (step.has("nonblock") ? SOCK_NONBLOCK : 0), 0), "socket");
    require(bind(fd, generic(name), name.size), "bind");
    builder.keep(step.word(1), fd);
    const int client = require(socket(AF_UNIX, SOCK_DGRAM, 0), "socket");
    require(connect(client, generic(name), name.size), "connect");
    send_messages(builder, step, client, step.number("messages"), step.number("seed"));
    builder.keep(step.word(1) + ".client", client);
}

struct Address {
    sockaddr_storage storage;
    socklen_t size;
};

Address loopback(bool v6) {
    Address made{};
    if (v6) {
        auto* address = reinterpret_cast<sockaddr_in6*>(&made.storage);
        address->sin6_family = AF_INET6;
        address->sin6_addr = in6addr_loopback;
        made.size = sizeof *address;
    } else {
        auto* address = reinterpret_cast<sockaddr_in*>(&made.storage);
        address->sin_family = AF_INET;
        address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        made.size = sizeof *address;
    }
    return made;
}

sockaddr* generic(Address& address) {
    return reinterpret_cast<sockaddr*>(&address.storage);
}

int bound(const Step& step, int type, Address& address) {
    const bool v6 = step.has("v6");
    address = loopback(v6);
    const int fd =
        require(socket(v6 ? AF_INET6 : AF_INET, type | (step.has("nonblock") ? SOCK_NONBLOCK : 0), 0), "socket");
    if (step.has("reuse")) {
        set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    }
    require(bind(fd, generic(address), address.size), "bind");
    require(getsockname(fd, generic(address), &address.size), "getsockname");
    return fd;
}

// Waits until this number of bytes has arrived.
void await_bytes(int fd, std::size_t count) {
    std::string room(count, '\0');
    for (ssize_t got = 0; static_cast<std::size_t>(got) < count;) {
        got = recv(fd, room.data(), count, MSG_PEEK | MSG_WAITALL);
        if (got <= 0) {
            fail_call("recv");
        }
    }
}

void transfer(int from, int to, long bytes, long seed) {
    if (bytes > 0) {
        const std::string text = content(static_cast<std::size_t>(bytes), seed);
        require(send(from, text.data(), text.size(), MSG_NOSIGNAL), "send");
        await_bytes(to, text.size());
    }
}

void tcp(Builder& builder, const Step& step) {
    const std::string& name = step.word(1);
    Address address{};
    const int listener = bound(step, SOCK_STREAM, address);
    require(listen(listener, static_cast<int>(step.number("backlog", 5))), "listen");
    if (step.has("listening")) {
        builder.keep(name, listener);
        return;
    }
    const bool v6 = step.has("v6");
    const int client = require(socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0), "socket");
    require(connect(client, generic(address), address.size), "connect");
    const int server = require(accept(listener, nullptr, nullptr), "accept");
    options(step, client);
    if (step.has("nodelay")) {
        set_option(server, IPPROTO_TCP, TCP_NODELAY, 1);
    }
    transfer(client, server, step.number("bytes"), step.number("seed"));
    transfer(server, client, step.number("answer"), step.number("seed") + 1);
    if (step.has("shutdown")) {
        require(shutdown(client, SHUT_WR), "shutdown");
    }
    if (step.has("kept")) {
        builder.keep(name, listener);
    } else {
        close(listener);
    }
    builder.keep(name + ".a", client);
    builder.keep(name + ".b", server);
}

void udp(Builder& builder, const Step& step) {
    Address address{};
    const int fd = bound(step, SOCK_DGRAM, address);
    builder.keep(step.word(1), fd);
    if (step.has("connected")) {
        Address other{};
        const int peer = bound(step, SOCK_DGRAM, other);
        require(connect(peer, generic(address), address.size), "connect");
        options(step, peer);
        builder.keep(step.word(1) + ".peer", peer);
    }
}

void kernel_socket(Builder& builder, const Step& step) {
    const int fd = require(socket(AF_NETLINK, SOCK_RAW, static_cast<int>(step.number("protocol"))), "socket");
    if (step.has("bound")) {
        sockaddr_nl address{};
        address.nl_family = AF_NETLINK;
        require(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), "bind");
    }
    builder.keep(step.word(1), fd);
}

}  // namespace

void add_socket_kinds(Kinds& kinds) {
    kinds["unix"] = unix_pair;
    kinds["unix-listener"] = unix_listener;
    kinds["unix-datagrams"] = unix_datagrams;
    kinds["tcp"] = tcp;
    kinds["udp"] = udp;
    kinds["netlink"] = kernel_socket;
}

}  // namespace random_tree
