/* SPDX-License-Identifier: LGPL-2.1-only */
/* Functions that send commands to a blob in another process. */
#ifndef COMPEL_INFECT_RPC_H
#define COMPEL_INFECT_RPC_H

#include <compel/common/compiler.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Smallest number of commands that the user may define. */
#define PARASITE_USER_CMDS 64

COMPEL_BEGIN_C

struct parasite_ctl;

/* Sends a command and doesn't wait for its end. All functions of this header that return int return 0, or log the
 * failure and return a negative number. */
extern int __must_check compel_rpc_call(unsigned int cmd, struct parasite_ctl* ctl);
/* Waits until the blob has executed the command that compel_rpc_call() has sent. Fails if the command has failed. */
extern int __must_check compel_rpc_sync(unsigned int cmd, struct parasite_ctl* ctl);
/* Sends a command and waits for its end. */
extern int __must_check compel_rpc_call_sync(unsigned int cmd, struct parasite_ctl* ctl);
/* Returns the socket to the blob. The caller must not close it. */
extern int compel_rpc_sock(struct parasite_ctl* ctl);

COMPEL_END_C

#endif
