// SPDX-License-Identifier: GPL-2.0-only
// usage: socket_user serve PATH    answers every byte by the next one, on any number of connections
//        socket_user use PATH      connects; prints READY; on SIGTERM prints PASS, or FAIL and the reason
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

[[noreturn]] void fail(const char* what) {
    std::printf("FAIL %s: %s\n", what, std::strerror(errno));
    std::exit(1);
}

int makeSocket() {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0)
        fail("socket");
    return fd;
}

sockaddr_un addressOf(const char* path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
    return address;
}

int serve(const char* path) {
    const sockaddr_un address = addressOf(path);
    const int listening = makeSocket();
    if (::bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        ::listen(listening, 5) != 0)
        fail("listen");
    std::signal(SIGCHLD, SIG_IGN);
    for (;;) {
        const int connection = ::accept(listening, nullptr, nullptr);
        if (connection < 0)
            fail("accept");
        if (::fork() == 0) {
            char byte = 0;
            while (::read(connection, &byte, 1) == 1) {
                ++byte;
                if (::write(connection, &byte, 1) != 1)
                    break;
            }
            ::_exit(0);
        }
        ::close(connection);
    }
}

void ask(int fd, char question) {
    char answer = 0;
    if (::write(fd, &question, 1) != 1 || ::read(fd, &answer, 1) != 1)
        fail("talk to the server");
    if (answer != question + 1)
        fail("the answer is wrong");
}

int use(const char* path) {
    sigset_t wanted;
    ::sigemptyset(&wanted);
    ::sigaddset(&wanted, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &wanted, nullptr);
    const sockaddr_un address = addressOf(path);
    const sockaddr_un own = addressOf((std::string(path) + ".client").c_str());
    const int fd = makeSocket();
    ::unlink(own.sun_path);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&own), sizeof(own)) != 0)
        fail("bind");
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
        fail("connect");
    ask(fd, 'a');
    std::puts("READY");
    int signal = 0;
    ::sigwait(&wanted, &signal);
    ask(fd, 'm');
    std::puts("PASS");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    if (argc != 3)
        return 2;
    return std::strcmp(argv[1], "serve") == 0 ? serve(argv[2]) : use(argv[2]);
}
