// SPDX-License-Identifier: GPL-2.0-only
#include "network.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "patience.hpp"
#include "zdtm.hpp"

namespace zdtm {

void enter_new_network() {
    if (system("ip -V >/dev/null 2>&1") != 0)
        skip("ip isn't installed");
    if (unshare(CLONE_NEWNET) != 0)
        skip("no network namespace: %s", strerror(errno));
    output_of("ip link set up dev lo");
}

std::string output_of(const std::string& command) {
    // The shell inherits the blocked signals of the test. It needs none of them.
    FILE* const pipe = popen(("exec 2>&1; PATH=$PATH:/usr/sbin:/sbin; " + command).c_str(), "re");
    CHECK(pipe != nullptr, "%s can't be started", command.c_str());
    std::string text;
    for (int byte = fgetc(pipe); byte != EOF; byte = fgetc(pipe))
        text += static_cast<char>(byte);
    const int status = pclose(pipe);
    CHECK(status == 0, "%s ended with status %#x: %s", command.c_str(), unsigned(status), text.c_str());
    return text;
}

// The runner's init is the parent of criu, and in the same network namespace.
constexpr const char* kOutside = "/proc/1/ns/net";

std::string output_outside(const std::string& command) {
    return output_of("nsenter --net=" + std::string(kOutside) + " sh -c '" + command + "'");
}

void outside(const std::function<void()>& work) {
    std::thread([&] {
        const int there = SYS(open(kOutside, O_RDONLY | O_CLOEXEC));
        SYS(setns(there, CLONE_NEWNET));
        SYS(close(there));
        work();
    }).join();
}

void check_way_out(const char* address) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(7777);
    CHECK(inet_pton(AF_INET, address, &name.sin_addr) == 1, "%s is no address", address);
    int receiver = -1;
    outside([&] {
        receiver = SYS(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        SYS(bind(receiver, reinterpret_cast<const sockaddr*>(&name), sizeof(name)));
    });
    const int sender = SYS(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    SYS(connect(sender, reinterpret_cast<const sockaddr*>(&name), sizeof(name)));
    pollfd ask{receiver, POLLIN, 0};
    for (int turn = 0; turn < kPatience / 100 && poll(&ask, 1, 100) == 0; ++turn)
        send(sender, "out", 3, 0);
    CHECK(poll(&ask, 1, 0) == 1, "nothing gets out to %s", address);
    SYS(close(sender));
    SYS(close(receiver));
}

Sights::Sights(std::vector<std::string> commands) : commands_(std::move(commands)) {
    for (const std::string& command : commands_)
        answers_.push_back(output_of(command));
}

void Sights::check() const {
    for (size_t i = 0; i < commands_.size(); ++i) {
        const std::string& before = answers_[i];
        const std::string now = output_of(commands_[i]);
        const auto at =
            size_t(std::mismatch(before.begin(), before.end(), now.begin(), now.end()).first - before.begin());
        const size_t from = at < 60 ? 0 : at - 60;
        CHECK(now == before, "%s: at %zu, was ..%s.. now ..%s..", commands_[i].c_str(), at,
              before.substr(from, 120).c_str(), now.substr(std::min(from, now.size()), 120).c_str());
    }
}

}  // namespace zdtm
