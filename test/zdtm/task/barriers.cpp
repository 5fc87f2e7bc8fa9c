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

ZDTM("commands of membarrier(2) that a process has registered work, and a process without registrations has none") {
    const long supported = SYS(barrier(MEMBARRIER_CMD_QUERY));
    const auto takes = [&](const Command& command) { return (supported & command.registers) != 0; };
    // Each child but the last registers one command. Kernels since 6.3 also show the private command as registered for
    // a child that has registered another one.
    std::array<pid_t, kCommands.size() + 1> children{};
    for (std::size_t own = 0; own < children.size(); ++own)
        children[own] = me.start_child([&](zdtm::Task& task) {
            const bool registers = own < kCommands.size() && takes(kCommands[own]);
            if (registers)
                SYS(barrier(kCommands[own].registers));
            task.ready();
            task.wait_trigger();
            if (registers)
                SYS(barrier(kCommands[own].executes));
            for (const Command& command : kCommands)
                CHECK(own < kCommands.size() || barrier(command.executes) != 0, "command %s works without registration",
                      command.name);
        });
    me.wait_for_check();
    for (const pid_t child : children)
        me.finish(child);
}
