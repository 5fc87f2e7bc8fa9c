// SPDX-License-Identifier: GPL-2.0-only
// zdtm: processor x86
// zdtm: ignore map 7fffffffe000
// zdtm: dump-options --allow-uprobes
// zdtm: restore-options --allow-uprobes
// zdtm: also refused-restore
// zdtm: not-in everything
// zdtm: refused-restore --no-allow-uprobes
// zdtm: refused-with user-space probes.*--allow-uprobes
// zdtm: may-differ inventory: allow_uprobes:
#include <elf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include <cstdlib>

#include "zdtm.hpp"

extern "C" const char zdtm_probed_instruction[];

namespace {

/// Adds 1. The probe is on the addition, which the kernel executes in its area; it emulates simpler instructions.
[[gnu::noinline]] int probed(int value) {
    asm volatile(".globl zdtm_probed_instruction\nzdtm_probed_instruction: addl $1, %0" : "+r"(value));
    return value;
}

/// Returns the offset in this program's file of an address in its code.
std::uint64_t file_offset(std::uint64_t address) {
    std::FILE* const maps = std::fopen("/proc/self/maps", "re");
    unsigned long start = 0;
    unsigned long end = 0;
    unsigned long offset = 0;
    std::uint64_t found = 0;
    char line[4096];
    while (std::fgets(line, sizeof(line), maps) != nullptr)
        if (std::sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && start <= address && address < end)
            found = address - start + offset;
    std::fclose(maps);
    return found;
}

bool has_probe_area() {
    return zdtm::read_file("/proc/self/maps").find("[uprobes]") != std::string::npos;
}

}  // namespace

ZDTM("--allow-uprobes leaves out the area of user-space probes") {
    std::string type;
    if (access("/sys/bus/event_source/devices/uprobe/type", R_OK) == 0)
        type = zdtm::read_file("/sys/bus/event_source/devices/uprobe/type");
    if (type.empty())
        zdtm::skip("the kernel has no user-space probes");
    char path[4096] = {};
    SYS(readlink("/proc/self/exe", path, sizeof(path) - 1));
    perf_event_attr attributes{};
    attributes.type = static_cast<unsigned>(std::stoul(type));
    attributes.size = sizeof(attributes);
    attributes.config1 = reinterpret_cast<std::uint64_t>(path);
    attributes.config2 = file_offset(reinterpret_cast<std::uint64_t>(zdtm_probed_instruction));
    const auto probe = static_cast<int>(syscall(SYS_perf_event_open, &attributes, getpid(), -1, -1, 0));
    if (probe < 0)
        zdtm::skip("a probe can't be set here");
    int (*volatile call)(int) = &probed;
    CHECK(call(1) == 2, "the probed function is wrong");
    CHECK(has_probe_area(), "the kernel made no area");
    SYS(close(probe));
    me.wait_for_check();
    CHECK(call(2) == 3, "the probed function is wrong");
}
