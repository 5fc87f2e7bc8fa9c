/* SPDX-License-Identifier: LGPL-2.1-only */
/* Plugin `fds`: passes descriptors between a blob and its library (compel_util_recv_fd(), compel_util_send_fd()). */
#ifndef COMPEL_PLUGINS_PLUGIN_FDS_H
#define COMPEL_PLUGINS_PLUGIN_FDS_H

#include <compel/common/compiler.h>

COMPEL_BEGIN_C

/* Sends a descriptor. Returns 0, or a negative number on failure. */
extern int __must_check fds_send_fd(int fd);
/* Receives a descriptor. Returns -1 on failure. */
extern int fds_recv_fd(void);

COMPEL_END_C

#endif
