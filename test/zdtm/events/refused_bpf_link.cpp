// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*fd 3 of pid 2\b).*a BPF link.*\(have the program
// zdtm: fails-with-4.2 its message does not say so
#include "bpf.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a BPF link, which keeps its program attached") {
    const int program = zdtm::load_program(BPF_PROG_TYPE_SK_LOOKUP, BPF_SK_LOOKUP);
    const int network = SYS(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
    bpf_attr attributes{};
    attributes.link_create.prog_fd = static_cast<std::uint32_t>(program);
    attributes.link_create.target_fd = static_cast<std::uint32_t>(network);
    attributes.link_create.attach_type = BPF_SK_LOOKUP;
    const int link = static_cast<int>(syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof(attributes)));
    if (link < 0)
        zdtm::skip("no BPF links here: %s", strerror(errno));
    SYS(dup3(link, program, O_CLOEXEC));
    SYS(close(link));
    SYS(close(network));
    me.wait_for_check();
    SYS(fcntl(program, F_GETFD));
}
