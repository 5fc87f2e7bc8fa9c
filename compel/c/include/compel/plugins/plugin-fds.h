/* SPDX-License-Identifier: LGPL-2.1-only */
/* Plugin `fds`: passes descriptors between a blob and the library, which calls compel_util_recv_fd() and
 * compel_util_send_fd(). */
#ifndef COMPEL_PLUGINS_PLUGIN_FDS_H
#define COMPEL_PLUGINS_PLUGIN_FDS_H

#include <compel/common/compiler.h>

COMPEL_BEGIN_C

/* Sends a descriptor to the library. Returns 0, or a negative number after a failure. */
extern int __must_check fds_send_fd(int fd);
/* Receives a descriptor from the library. Returns -1 after a failure. */
extern int fds_recv_fd(void);

COMPEL_END_C

#endif
