/* SPDX-License-Identifier: LGPL-2.1-only */
#ifndef CRIU_LIB_INTERNAL_H
#define CRIU_LIB_INTERNAL_H

/* What the sources of libcriu share. */

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

/* The options of functions without "local"; NULL before criu_init_opts(). */
extern criu_opts* global_opts;

/* A connection with criu. */
struct service {
    int fd;       /* -1: none */
    pid_t worker; /* criu, to be waited for; 0 if it isn't a child */
};

/* Starts criu with a socket of its own. `detached`: it isn't to be a descendant of the caller. Returns 0 or a negative
 * errno. */
int service_start(struct service* service, const char* program, bool detached);
/* The way that options name. Returns 0 or a negative errno. */
int service_open(struct service* service, criu_opts* opts, bool detached);
/* Sends a request, and calls back for each notification until the reply comes, which the caller frees. Returns 0, a
 * negative errno, or what the callback has returned. */
int service_ask(struct service* service, criu_opts* opts, CriuReq* request, CriuResp** reply);
/* Ends the connection, and waits for the end of criu if it was started for it. */
void service_close(struct service* service);

#endif /* CRIU_LIB_INTERNAL_H */
