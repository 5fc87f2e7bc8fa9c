// SPDX-License-Identifier: GPL-2.0-only
#include "network.hpp"

#include <sched.h>
#include <sys/wait.h>

#include <cstdio>

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
    // The shell is a child with the test's blocked signals: none that matters to it.
    FILE* const pipe = popen(("exec 2>&1; PATH=$PATH:/usr/sbin:/sbin; " + command).c_str(), "re");
    CHECK(pipe != nullptr, "%s can't be started", command.c_str());
    std::string text;
    for (int byte = fgetc(pipe); byte != EOF; byte = fgetc(pipe))
        text += static_cast<char>(byte);
    const int status = pclose(pipe);
    CHECK(status == 0, "%s ended with status %#x: %s", command.c_str(), unsigned(status), text.c_str());
    return text;
}

}  // namespace zdtm
