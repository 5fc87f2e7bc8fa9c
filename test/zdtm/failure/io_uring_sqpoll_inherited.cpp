// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*fd 3\b).*io_uring .*\(IORING_SETUP_SQPOLL\).*has inherited it.*have process \d+ close it
// zdtm: fails-with-4.2 its message does not say so
#include <sys/mman.h>

#include <fstream>
#include <string>

#include "ring.hpp"
#include "zdtm.hpp"

namespace {

void unmap_rings() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        if (line.find("[io_uring]") == std::string::npos) {
            continue;
        }
        const auto from = std::stoul(line, nullptr, 16);
        const auto to = std::stoul(line.substr(line.find('-') + 1), nullptr, 16);
        SYS(munmap(reinterpret_cast<void*>(from), to - from));
    }
}

}  // namespace

ZDTM("a dump refuses an io_uring with a kernel thread whose descriptor a child has without a mapping") {
    zdtm::Ring ring(4, IORING_SETUP_SQPOLL);
    const pid_t child = me.start_child([](zdtm::Task& task) {
        unmap_rings();
        task.wait_for_check();
    });
    me.wait_for_check();
    ring.spin(20);
    me.finish(child);
}
