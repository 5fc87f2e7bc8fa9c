/* SPDX-License-Identifier: LGPL-2.1-only */
#ifndef CRIU_LIB_INTERNAL_H
#define CRIU_LIB_INTERNAL_H

/* Declarations that the sources of libcriu share. */

#include "criu.h"

#include <sys/types.h>

struct criu_opts {
    CriuOpts* rpc;
    int (*notify)(char* action, criu_notify_arg_t na);
    enum criu_service_comm service_comm;
    char* service_path; /* of the socket or the program */
    int service_fd;
    char* error; /* of the last request, NULL if there was none */
};

/* Options of functions without "local"; NULL before criu_init_opts(). */
extern criu_opts* global_opts;

/* A connection to criu. */
struct service {
    int fd;       /* -1: none */
    pid_t worker; /* criu, if it is a child to wait for; otherwise 0 */
};

/* Starts criu with a new socket. `detached`: criu doesn't become a descendant of the caller. Returns 0 or a negative
 * errno. */
int service_start(struct service* service, const char* program, bool detached);
/* Opens the connection that the options name. Returns 0 or a negative errno. */
int service_open(struct service* service, criu_opts* opts, bool detached);
/* Sends a request, and calls the callback for each notification until the reply comes. The caller frees the reply.
 * Returns 0, a negative errno, or the callback's result. */
int service_ask(struct service* service, criu_opts* opts, CriuReq* request, CriuResp** reply);
/* Closes the connection, and waits for criu if it was started for it. */
void service_close(struct service* service);

#endif /* CRIU_LIB_INTERNAL_H */
