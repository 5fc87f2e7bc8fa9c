// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/common/scm.h>
#include <compel/infect-util.h>

#include <cerrno>

#include "compel/c/control.hpp"

using compel::c::Message;

extern "C" {

int compel_rpc_sock(parasite_ctl* ctl) {
    return ctl->tsock;
}

int compel_rpc_call(unsigned int cmd, parasite_ctl* ctl) {
    const Message message = {cmd, 0, 0};
    ssize_t sent;
    do
        sent = send(ctl->tsock, &message, sizeof(message), MSG_NOSIGNAL);
    while (sent == -1 && errno == EINTR);
    return sent == sizeof(message) ? 0 : compel::c::failErrno(ctl->rpid, "send a command to the blob");
}

int parasite_wait_ack(int sock, unsigned int cmd, Message* message) {
    ssize_t received;
    do
        received = recv(sock, message, sizeof(*message), MSG_WAITALL);
    while (received == -1 && errno == EINTR);
    if (received == sizeof(*message) && message->cmd == cmd && message->ack == cmd)
        return 0;
    compel_print_on_level(COMPEL_LOG_ERROR, "command %u: %s\n", cmd,
                          received == 0 ? "the blob's process has ended" : "no proper answer of the blob");
    return -1;
}

int compel_rpc_sync(unsigned int cmd, parasite_ctl* ctl) {
    Message answer;
    if (parasite_wait_ack(ctl->tsock, cmd, &answer) != 0)
        return -1;
    if (answer.err == 0)
        return 0;
    compel_print_on_level(COMPEL_LOG_ERROR, "process %d: command %u failed: %d\n", ctl->rpid, cmd, answer.err);
    return -1;
}

int compel_rpc_call_sync(unsigned int cmd, parasite_ctl* ctl) {
    return compel_rpc_call(cmd, ctl) == 0 ? compel_rpc_sync(cmd, ctl) : -1;
}

int compel_util_send_fd(parasite_ctl* ctl, int fd) {
    return send_fd(ctl->tsock, nullptr, 0, fd) == 0 ? 0 : compel::c::failErrno(ctl->rpid, "send it a descriptor");
}

int compel_util_recv_fd(parasite_ctl* ctl, int* fd) {
    *fd = recv_fd(ctl->tsock);
    return *fd >= 0 ? 0 : compel::c::fail(ctl->rpid, "receive a descriptor from it");
}
}
