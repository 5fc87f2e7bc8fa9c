// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused fd 3 of pid \d+ .*vsock socket .*being connected from cid .*, port \d+
// zdtm: fails-with-4.2 its message names no pid
#include <sys/socket.h>

#include <fcntl.h>
#include <linux/vm_sockets.h>
#include <poll.h>
#include <sys/time.h>

#include "zdtm.hpp"

ZDTM("a dump refuses a vsock socket that is connecting") {
    const int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        zdtm::skip("no vsock: %s", strerror(errno));
    }
    const timeval minutes{300, 0};
    SYS(setsockopt(fd, AF_VSOCK, SO_VM_SOCKETS_CONNECT_TIMEOUT_OLD, &minutes, sizeof(minutes)));
    sockaddr_vm nobody{};  // no process listens there, and no host either
    nobody.svm_family = AF_VSOCK;
    nobody.svm_cid = VMADDR_CID_LOCAL;
    nobody.svm_port = 5000;
    if (connect(fd, reinterpret_cast<const sockaddr*>(&nobody), sizeof(nobody)) != -1 || errno != EINPROGRESS) {
        zdtm::skip("no machine to wait for");
    }
    pollfd ask{fd, POLLOUT, 0};
    if (poll(&ask, 1, 500) != 0) {
        zdtm::skip("a host answers");
    }
    me.wait_for_check();
    CHECK(fcntl(fd, F_GETFD) >= 0, "it is gone");
}
