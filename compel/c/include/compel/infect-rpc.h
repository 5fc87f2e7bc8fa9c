/* SPDX-License-Identifier: LGPL-2.1-only */
/* Commands to a blob that runs in another process. */
#ifndef COMPEL_INFECT_RPC_H
#define COMPEL_INFECT_RPC_H

#include <compel/common/compiler.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* First number of the user's commands. */
#define PARASITE_USER_CMDS 64

COMPEL_BEGIN_C

struct parasite_ctl;

/* Sends a command and doesn't wait. These functions return 0, or a negative number after a failure, which they log. */
extern int __must_check compel_rpc_call(unsigned int cmd, struct parasite_ctl* ctl);
/* Waits until the blob has executed the command. Fails if the command failed. */
extern int __must_check compel_rpc_sync(unsigned int cmd, struct parasite_ctl* ctl);
/* Sends a command and waits for its end. */
extern int __must_check compel_rpc_call_sync(unsigned int cmd, struct parasite_ctl* ctl);
/* Returns the socket to the blob. The library keeps ownership. */
extern int compel_rpc_sock(struct parasite_ctl* ctl);

COMPEL_END_C

#endif
