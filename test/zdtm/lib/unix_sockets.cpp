// SPDX-License-Identifier: GPL-2.0-only
#include "unix_sockets.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstddef>

#include "zdtm.hpp"

namespace zdtm {
namespace {
constexpr std::size_t kHead = offsetof(sockaddr_un, sun_path);
}

Pair make_pair_of(int type) {
    int ends[2];
    SYS(socketpair(AF_UNIX, type | SOCK_NONBLOCK, 0, ends));
    return {ends[0], ends[1]};
}

Name Name::path(std::string_view text) {
    Name name;
    name.address.sun_family = AF_UNIX;
    memcpy(name.address.sun_path, text.data(), text.size());
    name.length = static_cast<socklen_t>(kHead + text.size() + 1);
    return name;
}

Name Name::abstract(std::string_view text) {
    // All tests share one network namespace. Each has its own output file, whose inode number makes the name unique.
    struct stat output {};
    SYS(fstat(STDOUT_FILENO, &output));
    std::string whole("\0zdtm.", 6);
    whole.append(std::to_string(output.st_ino)).append(".").append(text);
    Name name;
    name.address.sun_family = AF_UNIX;
    memcpy(name.address.sun_path, whole.data(), whole.size());
    name.length = static_cast<socklen_t>(kHead + whole.size());
    return name;
}

Name Name::of(int fd) {
    Name name;
    name.length = sizeof name.address;
    SYS(getsockname(fd, reinterpret_cast<sockaddr*>(&name.address), &name.length));
    return name;
}

Name Name::of_peer(int fd) {
    Name name;
    name.length = sizeof name.address;
    SYS(getpeername(fd, reinterpret_cast<sockaddr*>(&name.address), &name.length));
    return name;
}

std::string Name::shown() const {
    std::string text(address.sun_path, length > kHead ? length - kHead : 0);
    if (!text.empty() && text.back() == '\0' && text.front() != '\0') {
        text.pop_back();
    }
    for (char& byte : text) {
        byte = byte == '\0' ? '@' : byte;
    }
    return text;
}

int bound_socket(int type, const Name& name) {
    const int fd = SYS(socket(AF_UNIX, type | SOCK_NONBLOCK, 0));
    SYS(bind(fd, name.get(), name.length));
    return fd;
}

int listening_socket(int type, const Name& name, int backlog) {
    const int fd = bound_socket(type, name);
    SYS(listen(fd, backlog));
    return fd;
}

int connected_socket(int type, const Name& name) {
    const int fd = SYS(socket(AF_UNIX, type | SOCK_NONBLOCK, 0));
    SYS(connect(fd, name.get(), name.length));
    return fd;
}

bool try_send_message(int fd, std::string_view data, const std::vector<int>& descriptors) {
    iovec vector{const_cast<char*>(data.data()), data.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(253 * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) {
        const std::size_t size = descriptors.size() * sizeof(int);
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(size);
        cmsghdr* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(header), descriptors.data(), size);
    }
    const ssize_t sent = sendmsg(fd, &message, 0);
    if (sent < 0)
        return false;
    CHECK(sent == static_cast<ssize_t>(data.size()), "sent %zd of %zu bytes", sent, data.size());
    return true;
}

void send_message(int fd, std::string_view data, const std::vector<int>& descriptors) {
    if (!try_send_message(fd, data, descriptors))
        SYS(-1);
}

void send_to(int fd, std::string_view data, const Name& to) {
    const ssize_t sent = SYS(sendto(fd, data.data(), data.size(), 0, to.get(), to.length));
    CHECK(sent == static_cast<ssize_t>(data.size()), "sent %zd of %zu bytes", sent, data.size());
}

Message receive(int fd, std::size_t most) {
    Message out;
    out.data.resize(most);
    sockaddr_un from{};
    iovec vector{out.data.data(), out.data.size()};
    alignas(cmsghdr) char control[4096] = {};
    msghdr message{};
    message.msg_name = &from;
    message.msg_namelen = sizeof from;
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    out.length = recvmsg(fd, &message, MSG_DONTWAIT);
    const int error = errno;
    out.data.resize(out.length > 0 ? static_cast<std::size_t>(out.length) : 0);
    if (out.length < 0) {
        errno = error;
        return out;
    }
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET) {
            continue;
        }
        if (header->cmsg_type == SCM_RIGHTS) {
            out.descriptors.resize((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            memcpy(out.descriptors.data(), CMSG_DATA(header), out.descriptors.size() * sizeof(int));
        } else if (header->cmsg_type == SCM_CREDENTIALS) {
            out.sender.emplace();
            memcpy(&*out.sender, CMSG_DATA(header), sizeof *out.sender);
        }
    }
    if (message.msg_namelen > kHead) {
        Name name;
        name.address = from;
        name.length = message.msg_namelen;
        out.from = name.shown();
    }
    return out;
}

ucred receive_credentials(int fd) {
    const Message message = receive(fd);
    CHECK(message.length > 0 && message.sender, "no credentials came: %s", strerror(errno));
    return *message.sender;
}

void check_connected(int from, int to, const char* what) {
    const std::string text = std::string("from here to there: ") + what;
    send_message(from, text);
    const Message got = receive(to);
    CHECK(got == text, "%s: %zd (%s) '%s'", what, got.length, strerror(errno), got.data.c_str());
}

}  // namespace zdtm
