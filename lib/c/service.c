/* SPDX-License-Identifier: LGPL-2.1-only */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int orphan_master = -1;

int criu_get_orphan_pts_master_fd(void) {
    return orphan_master;
}

/* Executes criu, in the child. Writes the errno to `problem` after a failure; execve(2) closes `problem` after
 * success. */
static void become_criu(const char* program, int socket, int problem) {
    char number[16];
    sigset_t child;
    int code;

    /* Unblocks SIGCHLD: criu waits for its children. */
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_UNBLOCK, &child, NULL);
    signal(SIGCHLD, SIG_DFL);
    fcntl(socket, F_SETFD, 0);
    snprintf(number, sizeof(number), "%d", socket);
    execlp(program, program, "swrk", number, (char*)NULL);
    code = errno;
    if (write(problem, &code, sizeof(code)) < 0)
        _exit(1);
    _exit(1);
}

static pid_t wait_for(pid_t pid, int* status) {
    pid_t ended;

    do
        ended = waitpid(pid, status, 0);
    while (ended < 0 && errno == EINTR);
    return ended;
}

/* Returns 0, or the errno of the execve(2) in the child. */
static int problem_of(int pipe_end) {
    int code = 0;
    ssize_t size;

    do
        size = read(pipe_end, &code, sizeof(code));
    while (size < 0 && errno == EINTR);
    return size == sizeof(code) ? code : 0;
}

int service_start(struct service* service, const char* program, bool detached) {
    int sockets[2];
    int pipe_ends[2];
    pid_t child;
    int code;

    service->fd = -1;
    service->worker = 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
        return -ECONNREFUSED;
    if (pipe2(pipe_ends, O_CLOEXEC)) {
        close(sockets[0]);
        close(sockets[1]);
        return -ECONNREFUSED;
    }
    child = fork();
    if (child == 0) {
        /* A caller that dumps itself can't have criu among its descendants, so init or a subreaper adopts criu. */
        if (detached) {
            setsid();
            if (fork() != 0)
                _exit(0);
        }
        close(sockets[0]);
        become_criu(program, sockets[1], pipe_ends[1]);
    }
    code = child < 0 ? errno : 0;
    close(sockets[1]);
    close(pipe_ends[1]);
    if (child > 0 && detached)
        wait_for(child, NULL);
    if (code == 0)
        code = problem_of(pipe_ends[0]);
    close(pipe_ends[0]);
    if (code) {
        close(sockets[0]);
        if (child > 0 && !detached)
            wait_for(child, NULL);
        errno = code;
        return -ECONNREFUSED;
    }
    service->fd = sockets[0];
    service->worker = detached ? 0 : child;
    return 0;
}

static int connect_to(struct service* service, const char* path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return -ECONNREFUSED;
    }
    strcpy(address.sun_path, path);
    service->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (service->fd >= 0 && connect(service->fd, (struct sockaddr*)&address, sizeof(address)) == 0)
        return 0;
    if (service->fd >= 0) {
        int code = errno;

        close(service->fd);
        service->fd = -1;
        errno = code;
    }
    return -ECONNREFUSED;
}

/* Sets the error text of a connection that failed with `errno`. */
static void explain_failure(criu_opts* opts) {
    const int code = errno;
    const char* what = "the descriptor of criu service";
    const char* place = "";
    const char* hint = "";

    if (opts->service_comm == CRIU_COMM_SK) {
        what = "connect to the socket of criu service, ";
        place = opts->service_path;
    }
    if (opts->service_comm == CRIU_COMM_BIN) {
        what = "start ";
        place = opts->service_path;
        if (code == ENOENT && !strchr(place, '/'))
            hint = " (a name without a slash is looked up in PATH)";
    }
    free(opts->error);
    if (asprintf(&opts->error, "%s%s: %s%s", what, place, strerror(code), hint) < 0)
        opts->error = NULL;
    errno = code;
}

static int open_connection(struct service* service, criu_opts* opts, bool detached) {
    service->fd = -1;
    service->worker = 0;
    switch (opts->service_comm) {
        case CRIU_COMM_SK:
            return connect_to(service, opts->service_path);
        case CRIU_COMM_FD:
            service->fd = opts->service_fd;
            opts->service_fd = -1;
            if (service->fd >= 0)
                return 0;
            errno = EBADF;
            return -ECONNREFUSED;
        case CRIU_COMM_BIN:
            return service_start(service, opts->service_path, detached);
    }
    errno = EINVAL;
    return -ECONNREFUSED;
}

int service_open(struct service* service, criu_opts* opts, bool detached) {
    int ret = open_connection(service, opts, detached);

    if (ret)
        explain_failure(opts);
    return ret;
}

void service_close(struct service* service) {
    if (service->fd >= 0)
        close(service->fd);
    service->fd = -1;
    if (service->worker > 0)
        wait_for(service->worker, NULL);
    service->worker = 0;
}

static int send_request(int socket, CriuReq* request) {
    size_t size = criu_req__get_packed_size(request);
    uint8_t* bytes = malloc(size);
    ssize_t sent;

    if (!bytes) {
        errno = ENOMEM;
        return -ECOMM;
    }
    criu_req__pack(request, bytes);
    do
        sent = send(socket, bytes, size, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    free(bytes);
    return sent == (ssize_t)size ? 0 : -ECOMM;
}

/* Takes the descriptor of a received message. */
static int take_descriptor(struct msghdr* header) {
    struct cmsghdr* rights = CMSG_FIRSTHDR(header);

    if (header->msg_flags & MSG_CTRUNC) {
        errno = ENFILE;
        return -1;
    }
    if (rights && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS)
        memcpy(&orphan_master, CMSG_DATA(rights), sizeof(orphan_master));
    return 0;
}

static ssize_t next_size(int socket) {
    char nothing;
    ssize_t size;

    do
        size = recv(socket, &nothing, sizeof(nothing), MSG_PEEK | MSG_TRUNC);
    while (size < 0 && errno == EINTR);
    return size;
}

static int receive_reply(int socket, CriuResp** reply) {
    char control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec content = {0};
    struct msghdr header = {
        .msg_iov = &content, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    ssize_t size = next_size(socket);
    int ret = -ECOMM;

    if (size == 0)
        errno = ECONNRESET; /* criu has ended */
    if (size <= 0)
        return ret;
    content.iov_base = malloc((size_t)size);
    content.iov_len = (size_t)size;
    if (!content.iov_base) {
        errno = ENOMEM;
        return ret;
    }
    do
        size = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    while (size < 0 && errno == EINTR);
    if (size > 0 && take_descriptor(&header) == 0) {
        *reply = criu_resp__unpack(NULL, (size_t)size, content.iov_base);
        if (*reply)
            ret = 0;
        else
            errno = EBADMSG;
    }
    free(content.iov_base);
    return ret;
}

/* Returns the callback's result, or a negative errno. */
static int answer_notification(struct service* service, criu_opts* opts, const CriuResp* message) {
    CriuReq answer = CRIU_REQ__INIT;
    int ret = opts->notify && message->notify ? opts->notify(message->notify->script, message->notify) : 0;
    int sent;

    answer.type = CRIU_REQ_TYPE__NOTIFY;
    answer.has_notify_success = true;
    answer.notify_success = ret == 0;
    sent = send_request(service->fd, &answer);
    return ret ? ret : sent;
}

int service_ask(struct service* service, criu_opts* opts, CriuReq* request, CriuResp** reply) {
    int ret = send_request(service->fd, request);

    *reply = NULL;
    while (ret == 0) {
        ret = receive_reply(service->fd, reply);
        if (ret)
            return ret;
        if ((*reply)->type == request->type)
            return 0;
        if ((*reply)->type != CRIU_REQ_TYPE__NOTIFY)
            return (*reply)->type == CRIU_REQ_TYPE__EMPTY && !(*reply)->success ? -EINVAL : -EBADMSG;
        ret = answer_notification(service, opts, *reply);
        criu_resp__free_unpacked(*reply, NULL);
        *reply = NULL;
    }
    return ret;
}
