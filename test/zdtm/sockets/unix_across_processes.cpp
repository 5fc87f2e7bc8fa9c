// SPDX-License-Identifier: GPL-2.0-only
#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("connected sockets in different branches of the tree, under different numbers") {
    const zdtm::Pair pair = zdtm::make_pair_of(SOCK_STREAM);
    const pid_t left = me.start_child([&](zdtm::Task& task) {
        SYS(close(pair.other));
        const int moved = SYS(dup2(pair.one, 77));
        SYS(close(pair.one));
        const pid_t deeper = task.start_child([&](zdtm::Task& inner) {
            inner.wait_for_check();
            zdtm::send_message(moved, "deeper");
        });
        SYS(close(moved));
        task.wait_for_check();
        task.finish(deeper);
    });
    const pid_t right = me.start_child([&](zdtm::Task& task) {
        SYS(close(pair.one));
        const int moved = SYS(dup2(pair.other, 77));  // the number differs from the other end's
        SYS(close(pair.other));
        const pid_t deeper = task.start_child([&](zdtm::Task& inner) {
            inner.wait_for_check();
            CHECK(zdtm::receive(moved) == "deeper", "nothing came");
            CHECK(zdtm::receive(moved).length == 0, "another process has the other end");
        });
        SYS(close(moved));
        task.wait_for_check();
        task.finish(deeper);
    });
    SYS(close(pair.one));
    SYS(close(pair.other));
    me.wait_for_check();

    me.finish(left);
    me.finish(right);
}
