/* SPDX-License-Identifier: LGPL-2.1-only */
/* Interface between a blob and the library. */
#ifndef COMPEL_PLUGINS_STD_INFECT_H
#define COMPEL_PLUGINS_STD_INFECT_H

#include <compel/common/compiler.h>

COMPEL_BEGIN_C

/* Returns the socket to the library; -1 if the blob isn't connected. */
extern int parasite_get_rpc_sock(void);

/* Command and address of the arguments, which the library sets before it starts a run of the blob. */
extern unsigned int __export_parasite_service_cmd;
extern void* __export_parasite_service_args_ptr;
extern unsigned long __must_check parasite_service(void);

/*
 * Functions that the user's blob must define. They handle commands of compel_rpc_call(), handle commands of
 * compel_run_in_thread(), and clean up at the end of the blob.
 */
extern int __must_check parasite_daemon_cmd(int cmd, void* args);
extern int __must_check parasite_trap_cmd(int cmd, void* args);
extern void parasite_cleanup(void);

extern void log_set_fd(int fd);
extern void log_set_loglevel(unsigned int level);

COMPEL_END_C

#endif
