/* SPDX-License-Identifier: LGPL-2.1-only */
/* Functions of the library and of blobs that pass descriptors in messages of Unix sockets (SCM_RIGHTS). */
#ifndef COMPEL_COMMON_SCM_H
#define COMPEL_COMMON_SCM_H

#include <compel/common/compiler.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Maximum number of descriptors in one message. The kernel's limit is 253 (SCM_MAX_FD). */
#define CR_SCM_MAX_FD 252

COMPEL_BEGIN_C

/*
 * Sends `count` descriptors in as many messages as needed. Sends `size_each` bytes of `data` with each descriptor; none
 * if `data` is null. Returns 0, or a negative number after a failure. `address`: address of the receiver; null if
 * `sock` is connected.
 */
extern int send_fds(int sock, struct sockaddr_un* address, int address_size, int* fds, int count, void* data,
                    unsigned size_each);
/* Receives the descriptors of a send_fds() call with the same `count` and `size_each`. Returns 0, or -errno. `flags`:
 * flags of recvmsg(2). */
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
