/* SPDX-License-Identifier: LGPL-2.1-only */
/* Descriptors in messages of Unix sockets (SCM_RIGHTS), in the library and in blobs. */
#ifndef COMPEL_COMMON_SCM_H
#define COMPEL_COMMON_SCM_H

#include <compel/common/compiler.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Descriptors in one message. The kernel's limit is 253 (SCM_MAX_FD). */
#define CR_SCM_MAX_FD 252

COMPEL_BEGIN_C

/*
 * Sends `count` descriptors in as many messages as needed to `address` (may be null) of `address_size` bytes. Adds
 * `size_each` bytes of `data` to each descriptor, if `data` isn't null. Returns 0, or a negative number on failure.
 */
extern int send_fds(int sock, struct sockaddr_un* address, int address_size, int* fds, int count, void* data,
                    unsigned size_each);
/* Receives the descriptors of a send_fds() with the same `count` and `size_each`. `flags` are those of recvmsg(2).
 * Returns 0, or -errno. */
extern int __recv_fds(int sock, int* fds, int count, void* data, unsigned size_each, int flags);

static inline int recv_fds(int sock, int* fds, int count, void* data, unsigned size_each) {
    return __recv_fds(sock, fds, count, data, size_each, 0);
}

static inline int send_fd(int sock, struct sockaddr_un* address, int address_size, int fd) {
    return send_fds(sock, address, address_size, &fd, 1, 0, 0);
}

/* Receives one descriptor. Returns -1 on failure. */
static inline int recv_fd(int sock) {
    int fd;
    return recv_fds(sock, &fd, 1, 0, 0) ? -1 : fd;
}

COMPEL_END_C

#endif
