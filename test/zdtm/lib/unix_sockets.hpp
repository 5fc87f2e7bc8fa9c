// SPDX-License-Identifier: GPL-2.0-only
// What tests of Unix sockets need: messages with descriptors and credentials, names, pairs.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zdtm {

// A message as it was received.
struct Message {
    ssize_t length = -1;  // as recvmsg(2) returned it
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

// socketpair(2) that must work; O_NONBLOCK.
Pair make_pair_of(int type);

// An abstract name, of which one that nobody else has is made, or a path.
struct Name {
    sockaddr_un address{};
    socklen_t length = 0;

    static Name path(std::string_view text);
    static Name abstract(std::string_view text);
    // What getsockname(2) and getpeername(2) say.
    static Name of(int fd);
    static Name of_peer(int fd);
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
    // Paths without the zero byte at their end, abstract names with an @ for the one in front.
    std::string shown() const;
};

// A socket, O_NONBLOCK, bound to a name.
int bound_socket(int type, const Name& name);
// The same, listening.
int listening_socket(int type, const Name& name, int backlog = 10);
// A socket connected to a name.
int connected_socket(int type, const Name& name);

// False, and errno set, if the kernel doesn't take it.
bool try_send_message(int fd, std::string_view data, const std::vector<int>& descriptors = {});
void send_message(int fd, std::string_view data, const std::vector<int>& descriptors = {});
void send_to(int fd, std::string_view data, const Name& to);

// Receives at most `most` bytes, without waiting.
Message receive(int fd, std::size_t most = 65536);

// Who has sent the next message; of a socket with SO_PASSCRED, to which the kernel says it of each.
ucred receive_credentials(int fd);

// Does what one sends reach the other?
void check_connected(int from, int to, const char* what);

}  // namespace zdtm
