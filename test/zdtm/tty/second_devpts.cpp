// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it takes terminals of the same number for one
#include <sys/mount.h>
#include <sys/stat.h>

#include "pty.hpp"

ZDTM("pseudoterminals with the same number in two devpts mounts") {
    SYS(mkdir("other", 0755));
    SYS(mount("devpts", "other", "devpts", 0, "newinstance,ptmxmode=0666"));
    const int far_master = SYS(open("other/ptmx", O_RDWR | O_NOCTTY));
    const int unlocked = 0;
    SYS(ioctl(far_master, TIOCSPTLCK, &unlocked));
    int number = -1;
    SYS(ioctl(far_master, TIOCGPTN, &number));
    const int far_slave = SYS(open(("other/" + std::to_string(number)).c_str(), O_RDWR | O_NOCTTY));
    zdtm::Pty near = zdtm::open_pty();
    while (near.path != "/dev/pts/" + std::to_string(number)) {
        near = zdtm::open_pty();
        ++number;
        CHECK(number < 100, "%s", near.path.c_str());
    }
    const int slave = zdtm::open_slave(near);
    zdtm::write_text(far_master, "far\n");
    zdtm::write_text(near.master, "near\n");
    zdtm::await_bytes(far_slave, 4);
    zdtm::await_bytes(slave, 5);

    me.wait_for_check();

    CHECK(zdtm::read_now(far_slave) == "far\n", "far input");
    CHECK(zdtm::read_now(slave) == "near\n", "near input");
    SYS(close(far_slave));
    SYS(close(far_master));
    SYS(umount("other"));
}
