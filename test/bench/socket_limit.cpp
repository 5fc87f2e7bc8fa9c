// SPDX-License-Identifier: GPL-2.0-only
// Measures the throughput of this machine's loopback network: socket_limit MIB STREAMS prints GB/s. STREAMS threads
// send memory over TCP connections, and as many others receive and discard it, which is the minimum work of a page
// server. It runs once to warm up and three times measured. The best result counts, because it is a limit.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t block = 1 << 20;

void require(bool good, const char* what) {
    if (!good) {
        perror(what);
        exit(1);
    }
}

struct Connection {
    int from;
    int to;
};

Connection connection() {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    require(bind(listener, any, length) == 0 && listen(listener, 1) == 0 && getsockname(listener, any, &length) == 0,
            "listen");
    const int from = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(connect(from, any, length) == 0, "connect");
    const int to = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    require(to >= 0, "accept");
    close(listener);
    return {from, to};
}

void send_all(int to, const std::vector<std::byte>& memory, std::size_t size) {
    while (size > 0) {
        const ssize_t sent = send(to, memory.data(), std::min(size, memory.size()), MSG_NOSIGNAL);
        require(sent > 0, "send");
        size -= static_cast<std::size_t>(sent);
    }
    shutdown(to, SHUT_WR);
}

void take_all(int from, std::size_t size) {
    std::vector<std::byte> memory(block);
    while (size > 0) {
        const ssize_t got = recv(from, memory.data(), std::min(size, memory.size()), 0);
        require(got > 0, "recv");
        size -= static_cast<std::size_t>(got);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3 || atol(argv[1]) <= 0 || atol(argv[2]) <= 0) {
        fputs("usage: socket_limit MIB STREAMS\n", stderr);
        return 2;
    }
    const auto streams = static_cast<std::size_t>(atol(argv[2]));
    const std::size_t each = (static_cast<std::size_t>(atol(argv[1])) << 20) / streams;
    const std::vector<std::byte> memory(block, std::byte{0x5a});
    double best = 0;
    for (int turn = 0; turn < 4; ++turn) {
        std::vector<Connection> connections;
        for (std::size_t i = 0; i < streams; ++i) {
            connections.push_back(connection());
        }
        const auto begin = std::chrono::steady_clock::now();
        std::vector<std::thread> threads;
        for (const Connection& each_one : connections) {
            threads.emplace_back(send_all, each_one.from, std::cref(memory), each);
            threads.emplace_back(take_all, each_one.to, each);
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        for (const Connection& each_one : connections) {
            close(each_one.from);
            close(each_one.to);
        }
        if (turn > 0) {
            best = std::max(best, static_cast<double>(each * streams) / seconds.count() / 1e9);
        }
    }
    printf("%.2f\n", best);
}
