// SPDX-License-Identifier: GPL-2.0-only
#include <array>

#include "pty.hpp"

ZDTM("several sessions, each with its own controlling terminal, one nested in another") {
    const std::array<zdtm::Pty, 3> ptys{zdtm::open_pty(), zdtm::open_pty(), zdtm::open_pty()};
    const auto lead = [&ptys](std::size_t index) {
        SYS(setsid());
        const int terminal = SYS(open(ptys[index].path.c_str(), O_RDWR));
        return terminal;
    };
    const auto check = [&ptys](std::size_t index, int terminal) {
        CHECK(SYS(tcgetsid(terminal)) == getpid(), "session %d", tcgetsid(terminal));
        CHECK(zdtm::read_file("/proc/self/stat").size() > 1, "no stat");
        zdtm::write_text(SYS(open("/dev/tty", O_WRONLY)), std::to_string(index));
    };
    const pid_t outer = me.start_child([&](zdtm::Task& task) {
        const int terminal = lead(0);
        const pid_t inner = task.start_child([&](zdtm::Task& child) {
            const int deeper = lead(1);
            child.wait_for_check();
            check(1, deeper);
        });
        task.wait_for_check();
        check(0, terminal);
        task.finish(inner);
    });
    const pid_t other = me.start_child([&](zdtm::Task& task) {
        const int terminal = lead(2);
        task.wait_for_check();
        check(2, terminal);
    });
    me.wait_for_check();
    me.finish(outer);
    me.finish(other);
    for (std::size_t i = 0; i < ptys.size(); ++i) {
        const std::string said = zdtm::read_now(ptys[i].master);
        CHECK(said == std::to_string(i), "terminal %zu: '%s'", i, said.c_str());
    }
}
