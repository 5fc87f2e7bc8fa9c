/* SPDX-License-Identifier: LGPL-2.1-only */
/* The plugin `fds`: descriptors between a blob and its library, by compel_util_recv_fd() and compel_util_send_fd(). */
#ifndef COMPEL_PLUGINS_PLUGIN_FDS_H
#define COMPEL_PLUGINS_PLUGIN_FDS_H

#include <compel/common/compiler.h>

COMPEL_BEGIN_C

/* 0, or negative. */
extern int __must_check fds_send_fd(int fd);
/* A descriptor, or -1. */
extern int fds_recv_fd(void);

COMPEL_END_C

#endif
