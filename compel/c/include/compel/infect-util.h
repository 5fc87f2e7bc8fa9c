/* SPDX-License-Identifier: LGPL-2.1-only */
#ifndef COMPEL_INFECT_UTIL_H
#define COMPEL_INFECT_UTIL_H

#include <compel/common/compiler.h>

/* Length of a UUID as text, with its terminating zero. */
#define RUN_ID_HASH_LENGTH 37

COMPEL_BEGIN_C

/*
 * Part of the names of sockets, so that no two programs use the same name. The caller may set it before the first
 * infection; if it is empty, the library sets a random one.
 */
extern char compel_run_id[RUN_ID_HASH_LENGTH];

struct parasite_ctl;

/* Sends a descriptor to the blob, which receives it with fds_recv_fd(). Returns 0, or -1 on failure. */
extern int __must_check compel_util_send_fd(struct parasite_ctl* ctl, int fd);
/* Receives a descriptor that the blob has sent with fds_send_fd(). Returns 0, or -1 on failure. */
extern int compel_util_recv_fd(struct parasite_ctl* ctl, int* fd);

COMPEL_END_C

#endif
