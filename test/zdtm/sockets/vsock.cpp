// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 vsock
#include <sys/socket.h>

#include <fcntl.h>
#include <linux/vm_sockets.h>
#include <sys/time.h>

#include <cstdint>
#include <vector>

#include "inet_sockets.hpp"
#include "zdtm.hpp"

namespace {

sockaddr_vm at(unsigned cid, unsigned port) {
    sockaddr_vm address{};
    address.svm_family = AF_VSOCK;
    address.svm_cid = cid;
    address.svm_port = port;
    return address;
}

sockaddr_vm name_of(int fd) {
    sockaddr_vm address{};
    socklen_t size = sizeof(address);
    SYS(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size));
    return address;
}

int bind_to(int fd, unsigned cid, unsigned port) {
    const sockaddr_vm address = at(cid, port);
    return bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

void set_size(int fd, int option, std::uint64_t value) {
    SYS(setsockopt(fd, AF_VSOCK, option, &value, sizeof(value)));
}

std::uint64_t size_of(int fd, int option) {
    std::uint64_t value = 0;
    socklen_t size = sizeof(value);
    SYS(getsockopt(fd, AF_VSOCK, option, &value, &size));
    return value;
}

struct Kept {
    int fd;
    int type;
    bool listens;
    sockaddr_vm address;
};

}  // namespace

ZDTM("vsock sockets: new, bound and listening, with options") {
    if (socket(AF_VSOCK, SOCK_STREAM, 0) < 0) {
        zdtm::skip("no vsock: %s", strerror(errno));
    }
    std::vector<Kept> all;
    for (const int type : {SOCK_STREAM, SOCK_SEQPACKET})
        for (const int stage : {0, 1, 2}) {  // new, bound, listening
            const int fd = SYS(socket(AF_VSOCK, type, 0));
            if (stage > 0)
                SYS(bind_to(fd, VMADDR_CID_ANY, VMADDR_PORT_ANY));
            if (stage > 1)
                SYS(listen(fd, 3));
            all.push_back({fd, type, stage > 1, name_of(fd)});
        }
    const int fd = all[2].fd;
    SYS(fcntl(fd, F_SETFL, O_NONBLOCK));
    set_size(fd, SO_VM_SOCKETS_BUFFER_MAX_SIZE, 500'000);
    set_size(fd, SO_VM_SOCKETS_BUFFER_MIN_SIZE, 300'000);
    set_size(fd, SO_VM_SOCKETS_BUFFER_SIZE, 400'000);
    const timeval patience{7, 120'000};
    SYS(setsockopt(fd, AF_VSOCK, SO_VM_SOCKETS_CONNECT_TIMEOUT_OLD, &patience, sizeof(patience)));
    zdtm::set_option(fd, SOL_SOCKET, SO_PRIORITY, 5);
    const int copy = SYS(dup(fd));
    timeval rounded{};  // the kernel rounds to its ticks
    socklen_t size = sizeof(rounded);
    SYS(getsockopt(fd, AF_VSOCK, SO_VM_SOCKETS_CONNECT_TIMEOUT_OLD, &rounded, &size));

    me.wait_for_check();

    for (const Kept& one : all) {
        const sockaddr_vm now = name_of(one.fd);
        CHECK(now.svm_cid == one.address.svm_cid && now.svm_port == one.address.svm_port,
              "%d was at %u:%u, is at %u:%u", one.fd, one.address.svm_cid, one.address.svm_port, now.svm_cid,
              now.svm_port);
        CHECK(zdtm::get_option(one.fd, SOL_SOCKET, SO_TYPE) == one.type, "%d is of another type", one.fd);
        CHECK(zdtm::get_option(one.fd, SOL_SOCKET, SO_ACCEPTCONN) == one.listens, "%d listens or not", one.fd);
        if (!one.listens)
            continue;
        const int rival = SYS(socket(AF_VSOCK, one.type, 0));
        CHECK(bind_to(rival, VMADDR_CID_ANY, now.svm_port) == -1 && errno == EADDRINUSE, "the port is free");
        SYS(close(rival));
    }
    CHECK(fcntl(fd, F_GETFL) == (O_RDWR | O_NONBLOCK), "flags are %#o", fcntl(fd, F_GETFL));
    CHECK(accept(copy, nullptr, nullptr) == -1 && errno == EAGAIN, "not the same socket any more");
    CHECK(size_of(fd, SO_VM_SOCKETS_BUFFER_MAX_SIZE) == 500'000, "another upper limit");
    CHECK(size_of(fd, SO_VM_SOCKETS_BUFFER_MIN_SIZE) == 300'000, "another lower limit");
    CHECK(size_of(fd, SO_VM_SOCKETS_BUFFER_SIZE) == 400'000, "another size");
    timeval now{};
    SYS(getsockopt(fd, AF_VSOCK, SO_VM_SOCKETS_CONNECT_TIMEOUT_OLD, &now, &size));
    CHECK(now.tv_sec == rounded.tv_sec && now.tv_usec == rounded.tv_usec, "waits %ld.%06ld s", now.tv_sec, now.tv_usec);
    CHECK(zdtm::get_option(fd, SOL_SOCKET, SO_PRIORITY) == 5, "another priority");
    // The new socket can be bound, and the bound one can listen.
    SYS(bind_to(all[0].fd, VMADDR_CID_ANY, VMADDR_PORT_ANY));
    SYS(listen(all[0].fd, 1));
    SYS(listen(all[1].fd, 1));
}
