// SPDX-License-Identifier: GPL-2.0-only
// Sends a stream of known bytes from one process to another: stream tcp|unix. The receiver takes its time, so that both
// queues are always full. The receiver knows each byte by its place. SIGTERM ends the stream, and both processes must
// then have counted the same.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

namespace {

[[noreturn]] void fail(const char* what) {
    std::printf("FAIL %s: %s\n", what, std::strerror(errno));
    std::fflush(stdout);
    _exit(1);
}

void require(bool good, const char* what) {
    if (!good) {
        fail(what);
    }
}

volatile sig_atomic_t ending = 0;  // set in the sender when the stream shall end
pid_t sender = 0;                  // set in the receiver

// SIGTERM: the receiver passes the signal on to the sender.
void handle_end(int) {
    if (sender != 0) {
        kill(sender, SIGTERM);
    }
    ending = 1;
}

// The word at a place of the stream; none is like another.
std::uint64_t word_at(std::uint64_t place) {
    std::uint64_t word = (place + 1) * 0x9e3779b97f4a7c15ULL;
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ULL;
    return word ^ word >> 27;
}

struct Sum {
    std::uint64_t bytes = 0;
    std::uint64_t value = 0;

    void add(std::uint64_t word) {
        value = (value << 1 | value >> 63) ^ word;
        bytes += sizeof word;
    }
};

std::pair<int, int> tcp_pair() {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    require(bind(listener, any, length) == 0 && listen(listener, 1) == 0 && getsockname(listener, any, &length) == 0,
            "listen");
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    require(connect(client, any, length) == 0, "connect");
    const int server = accept(listener, nullptr, nullptr);
    require(server >= 0, "accept");
    close(listener);
    return {client, server};
}

std::pair<int, int> unix_pair() {
    std::array<int, 2> ends{};
    require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0, "socketpair");
    return {ends[0], ends[1]};
}

// Pieces of odd sizes, as programs send them.
void send_all(int socket) {
    Sum sum;
    std::vector<std::uint64_t> piece;
    for (std::uint64_t place = 0; ending == 0;) {
        piece.clear();
        for (std::size_t count = 1 + place % 9973; piece.size() < count; ++place) {
            piece.push_back(word_at(place));
            sum.add(piece.back());
        }
        const char* bytes = reinterpret_cast<const char*>(piece.data());
        for (std::size_t left = piece.size() * sizeof piece[0]; left != 0;) {
            const ssize_t sent = send(socket, bytes, left, 0);
            require(sent > 0 || (sent < 0 && errno == EINTR), "send");
            if (sent > 0) {
                bytes += sent;
                left -= static_cast<std::size_t>(sent);
            }
        }
    }
    require(shutdown(socket, SHUT_WR) == 0, "shutdown");
    // The receiver's sum is the answer.
    Sum theirs;
    errno = 0;
    require(recv(socket, &theirs, sizeof theirs, MSG_WAITALL) == sizeof theirs, "the receiver's sum");
    require(theirs.bytes == sum.bytes && theirs.value == sum.value, "the sums differ");
}

void receive_all(int socket) {
    constexpr std::size_t kBlock = std::size_t{1} << 17;
    constexpr timespec kRest{0, 1'000'000};
    Sum sum;
    std::vector<char> block(kBlock);
    std::size_t kept = 0;  // bytes of a word that isn't complete
    for (;;) {
        const ssize_t got = recv(socket, block.data() + kept, block.size() - kept, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        require(got >= 0, "receive");
        if (got == 0) {
            break;
        }
        const std::size_t have = kept + static_cast<std::size_t>(got);
        std::size_t at = 0;
        for (; at + sizeof(std::uint64_t) <= have; at += sizeof(std::uint64_t)) {
            std::uint64_t word = 0;
            std::memcpy(&word, block.data() + at, sizeof word);
            if (word != word_at(sum.bytes / sizeof word)) {
                std::printf("FAIL byte %llu isn't the one that was sent\n", static_cast<unsigned long long>(sum.bytes));
                std::fflush(stdout);
                _exit(1);
            }
            sum.add(word);
        }
        kept = have - at;
        std::memmove(block.data(), block.data() + at, kept);
        nanosleep(&kRest, nullptr);
    }
    errno = 0;
    require(kept == 0, "the stream ended inside of a word");
    require(send(socket, &sum, sizeof sum, 0) == sizeof sum, "send the sum");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: stream tcp|unix\n", stderr);
        return 2;
    }
    const auto [client, server] = std::strcmp(argv[1], "tcp") == 0 ? tcp_pair() : unix_pair();
    struct sigaction action {};
    action.sa_handler = handle_end;
    action.sa_flags = SA_RESTART;
    require(sigaction(SIGTERM, &action, nullptr) == 0, "sigaction");
    const pid_t child = fork();
    require(child >= 0, "fork");
    if (child == 0) {
        close(server);
        send_all(client);
        _exit(0);
    }
    sender = child;
    close(client);
    std::puts("READY");
    std::fflush(stdout);
    receive_all(server);
    int status = 0;
    require(waitpid(child, &status, 0) == child, "wait for the sender");
    errno = 0;
    require(status == 0, "the sender");
    std::puts("PASS");
    std::fflush(stdout);
    return 0;
}
