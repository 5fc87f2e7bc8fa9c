/* SPDX-License-Identifier: LGPL-2.1-only */
/* Commands to a blob that is at work in another process. */
#ifndef COMPEL_INFECT_RPC_H
#define COMPEL_INFECT_RPC_H

#include <compel/common/compiler.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Numbers of commands from here on are the user's. */
#define PARASITE_USER_CMDS 64

COMPEL_BEGIN_C

struct parasite_ctl;

/* Sends a command and doesn't wait. All of them return 0, or a negative number after a failure, which is logged. */
extern int __must_check compel_rpc_call(unsigned int cmd, struct parasite_ctl* ctl);
/* Waits until the blob has carried out the command; fails if that failed. */
extern int __must_check compel_rpc_sync(unsigned int cmd, struct parasite_ctl* ctl);
/* Both. */
extern int __must_check compel_rpc_call_sync(unsigned int cmd, struct parasite_ctl* ctl);
/* The socket to the blob, which remains the library's. */
extern int compel_rpc_sock(struct parasite_ctl* ctl);

COMPEL_END_C

#endif
