// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/plugins/plugin-fds.h>
#include <compel/plugins/std.h>

extern "C" {

int fds_send_fd(int fd) {
    return send_fd(parasite_get_rpc_sock(), nullptr, 0, fd);
}

int fds_recv_fd() {
    return recv_fd(parasite_get_rpc_sock());
}
}
