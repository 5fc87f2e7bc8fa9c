/* SPDX-License-Identifier: LGPL-2.1-only */
#ifndef COMPEL_INFECT_UTIL_H
#define COMPEL_INFECT_UTIL_H

#include <compel/common/compiler.h>

/* Length of a UUID as text, with its terminating zero. */
#define RUN_ID_HASH_LENGTH 37

COMPEL_BEGIN_C

/*
 * Part of the names of the library's sockets, so that programs don't use the same name. The caller may set it before
 * the first infection. If it is empty, the library sets a random value.
 */
extern char compel_run_id[RUN_ID_HASH_LENGTH];

struct parasite_ctl;

/* Sends a descriptor to the blob, which receives it by fds_recv_fd(). Returns 0, or -1 after a failure. */
extern int __must_check compel_util_send_fd(struct parasite_ctl* ctl, int fd);
/* Receives a descriptor that the blob has sent by fds_send_fd(). Returns 0, or -1 after a failure. */
extern int compel_util_recv_fd(struct parasite_ctl* ctl, int* fd);

COMPEL_END_C

#endif
