// SPDX-License-Identifier: LGPL-2.1-only
// Code of a blob that connects to the library (compel/c/daemon.cpp), receives a descriptor for the log, and executes
// commands. At its end, the process continues by a signal frame that the library has prepared.
#include <compel/asm/sigframe.h>
#include <compel/plugins/std.h>

#include <cerrno>

#include "compel/c/control.hpp"

using compel::c::InitArguments;
using compel::c::Message;

namespace {

int theSocket = -1;
rt_sigframe* theFrame = nullptr;

constexpr int futexWake = 1;

/// Ends the blob's service. Returns the stack pointer with which the entry code calls sigreturn(2).
unsigned long finish() {
    parasite_cleanup();
    sys_close(theSocket);
    theSocket = -1;
    std_log_set_fd(-1);
    return reinterpret_cast<unsigned long>(theFrame) + RT_SIGFRAME_OFFSET(theFrame);
}

bool acknowledge(unsigned command, int error) {
    Message message = {command, command, error};
    long sent;
    do
        sent = sys_sendto(theSocket, &message, sizeof(message), MSG_NOSIGNAL, nullptr, 0);
    while (sent == -EINTR);
    return sent == sizeof(message);
}

bool receive(Message* message) {
    long received;
    do
        received = sys_recvfrom(theSocket, message, sizeof(*message), MSG_WAITALL, nullptr, nullptr);
    while (received == -EINTR);
    return received == sizeof(*message);
}

/// Executes commands until the last command, or until the library closes the connection. After a command has failed,
/// executes none of the later commands.
void serve(void* arguments) {
    bool failed = false;
    Message message;
    if (!acknowledge(compel::c::commandInitDaemon, 0))
        return;
    while (receive(&message) && message.cmd != compel::c::commandFini) {
        if (failed) {
            print_on_level(COMPEL_LOG_ERROR, "command %u comes after one that has failed\n", message.cmd);
            continue;
        }
        const int error = parasite_daemon_cmd(static_cast<int>(message.cmd), arguments);
        if (!acknowledge(message.cmd, error))
            return;
        failed = error != 0;
        if (failed)
            sys_shutdown(theSocket, SHUT_WR);
    }
}

void announce(InitArguments* init, int state) {
    __atomic_store_n(&init->connected, static_cast<std::uint32_t>(state), __ATOMIC_RELEASE);
    sys_futex(&init->connected, futexWake, 1, nullptr, nullptr, 0);
}

int connectTo(InitArguments* init) {
    const long made = sys_socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (made < 0)
        return static_cast<int>(made);
    theSocket = static_cast<int>(made);
    const long connected = sys_connect(theSocket, reinterpret_cast<sockaddr*>(&init->address), init->addressSize);
    return connected < 0 ? static_cast<int>(connected) : 0;
}

unsigned long begin(InitArguments* init) {
    theFrame = reinterpret_cast<rt_sigframe*>(init->sigframe);
    init->sigreturnAddress = reinterpret_cast<std::uint64_t>(finish);
    const int level = init->logLevel;
    const int error = connectTo(init);
    announce(init, error == 0 ? 1 : error);
    const int log = error == 0 ? recv_fd(theSocket) : -1;
    if (log >= 0) {
        std_log_set_fd(log);
        std_log_set_loglevel(static_cast<__compel_log_levels>(level));
        serve(init);
    }
    return finish();
}

}  // namespace

extern "C" {

// Both variables are in .data, so that the library can set them before each run.
unsigned int __export_parasite_service_cmd __attribute__((section(".data"))) = 0;
void* __export_parasite_service_args_ptr __attribute__((section(".data"))) = nullptr;

int parasite_get_rpc_sock() {
    return theSocket;
}

unsigned long parasite_service() {
    const unsigned command = __export_parasite_service_cmd;
    void* const arguments = __export_parasite_service_args_ptr;
    if (command == compel::c::commandInitDaemon)
        return begin(static_cast<InitArguments*>(arguments));
    return static_cast<unsigned long>(static_cast<long>(parasite_trap_cmd(static_cast<int>(command), arguments)));
}
}
