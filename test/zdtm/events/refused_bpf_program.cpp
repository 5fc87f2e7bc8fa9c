// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*fd \d+ of pid 2\b).*a BPF program.*\(have the program
// zdtm: fails-with-4.2 its message does not say so
#include "bpf.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a BPF program") {
    const int program = zdtm::load_program(BPF_PROG_TYPE_SOCKET_FILTER, {});
    me.wait_for_check();
    SYS(fcntl(program, F_GETFD));
}
