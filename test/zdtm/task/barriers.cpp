// SPDX-License-Identifier: GPL-2.0-only
#include <linux/membarrier.h>
#include <sys/syscall.h>

#include <array>

#include "zdtm.hpp"

namespace {

struct Command {
    const char* name;
    int registers;
    int executes;
};

constexpr std::array kCommands{
    Command{"private", MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, MEMBARRIER_CMD_PRIVATE_EXPEDITED},
    Command{"synchronizing", MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE,
            MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE},
    Command{"rseq", MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ},
};

long barrier(int command) {
    return syscall(SYS_membarrier, command, 0, 0);
}

}  // namespace

ZDTM("commands of membarrier(2) that a process has registered work, and the others don't") {
    const long supported = SYS(barrier(MEMBARRIER_CMD_QUERY));
    const auto takes = [&](const Command& command) { return (supported & command.registers) != 0; };
    // Each child registers one command.
    std::array<pid_t, kCommands.size()> children{};
    for (std::size_t own = 0; own < kCommands.size(); ++own)
        children[own] = me.start_child([&](zdtm::Task& task) {
            if (takes(kCommands[own]))
                SYS(barrier(kCommands[own].registers));
            task.ready();
            task.wait_trigger();
            for (std::size_t i = 0; i < kCommands.size(); ++i) {
                const bool works = barrier(kCommands[i].executes) == 0;
                CHECK(works == (i == own && takes(kCommands[i])), "command %s of the child that registered %s: %d",
                      kCommands[i].name, kCommands[own].name, works);
            }
        });
    me.wait_for_check();
    for (const pid_t child : children)
        me.finish(child);
}
