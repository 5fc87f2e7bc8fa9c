/* SPDX-License-Identifier: LGPL-2.1-only */
/* Descriptors in messages of Unix sockets (SCM_RIGHTS), in the library and in blobs. */
#ifndef COMPEL_COMMON_SCM_H
#define COMPEL_COMMON_SCM_H

#include <compel/common/compiler.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Descriptors in one message; the kernel takes 253 (SCM_MAX_FD). */
#define CR_SCM_MAX_FD 252

COMPEL_BEGIN_C

/*
 * Sends `count` descriptors, by as many messages as that takes, to `address` (may be null) of `address_size` bytes.
 * With each descriptor go `size_each` bytes of `data`, if that isn't null. 0, or negative after a failure.
 */
extern int send_fds(int sock, struct sockaddr_un* address, int address_size, int* fds, int count, void* data,
                    unsigned size_each);
/* Receives what send_fds() has sent with the same `count` and `size_each`. 0, or -errno. `flags`: of recvmsg(2). */
extern int __recv_fds(int sock, int* fds, int count, void* data, unsigned size_each, int flags);

static inline int recv_fds(int sock, int* fds, int count, void* data, unsigned size_each) {
    return __recv_fds(sock, fds, count, data, size_each, 0);
}

static inline int send_fd(int sock, struct sockaddr_un* address, int address_size, int fd) {
    return send_fds(sock, address, address_size, &fd, 1, 0, 0);
}

/* A descriptor, or -1. */
static inline int recv_fd(int sock) {
    int fd;
    return recv_fds(sock, &fd, 1, 0, 0) ? -1 : fd;
}

COMPEL_END_C

#endif
