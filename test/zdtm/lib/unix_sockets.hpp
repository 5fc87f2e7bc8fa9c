// SPDX-License-Identifier: GPL-2.0-only
// Messages with descriptors and credentials, names and pairs, for tests of Unix sockets.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zdtm {

// A received message.
struct Message {
    ssize_t length = -1;  // result of recvmsg(2)
    std::string data;
    std::vector<int> descriptors;
    std::optional<ucred> sender;
    std::string from;  // sun_path of the sender's socket

    bool operator==(std::string_view text) const { return length >= 0 && data == text; }
};

struct Pair {
    int one = -1;
    int other = -1;
};

// Calls socketpair(2) with O_NONBLOCK, which must succeed.
Pair make_pair_of(int type);

// An abstract name, made unique among tests, or a path.
struct Name {
    sockaddr_un address{};
    socklen_t length = 0;

    static Name path(std::string_view text);
    static Name abstract(std::string_view text);
    // Return the results of getsockname(2) and getpeername(2).
    static Name of(int fd);
    static Name of_peer(int fd);
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
    // Returns a path without its final zero byte, or an abstract name with @ for its first byte.
    std::string shown() const;
};

// Makes an O_NONBLOCK socket that is bound to a name.
int bound_socket(int type, const Name& name);
// Makes an O_NONBLOCK socket that listens on a name.
int listening_socket(int type, const Name& name, int backlog = 10);
// Makes a socket that is connected to a name.
int connected_socket(int type, const Name& name);

// Returns false, with errno set, if the kernel refuses the message.
bool try_send_message(int fd, std::string_view data, const std::vector<int>& descriptors = {});
void send_message(int fd, std::string_view data, const std::vector<int>& descriptors = {});
void send_to(int fd, std::string_view data, const Name& to);

// Receives at most `most` bytes without blocking.
Message receive(int fd, std::size_t most = 65536);

// Returns the sender's credentials of the next message. The socket must have SO_PASSCRED.
ucred receive_credentials(int fd);

// Requires a message of one socket to arrive at the other.
void check_connected(int from, int to, const char* what);

}  // namespace zdtm
