/* SPDX-License-Identifier: LGPL-2.1-only */
/* Includes all headers of the plugin `std` for blobs. */
#ifndef COMPEL_PLUGINS_STD_H
#define COMPEL_PLUGINS_STD_H

#include <compel/plugins.h>
#include <compel/plugins/std/fds.h>
#include <compel/plugins/std/infect.h>
#include <compel/plugins/std/log.h>
#include <compel/plugins/std/string.h>
#include <compel/plugins/std/syscall.h>

#endif
