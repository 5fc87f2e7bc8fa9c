/* SPDX-License-Identifier: LGPL-2.1-only */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Clears the results of the last request. */
static void begin(criu_opts* opts) {
    free(opts->error);
    opts->error = NULL;
    errno = 0;
}

/* Sets errno and the error text by a reply. Returns 0 or -EBADE. */
static int judge(criu_opts* opts, const CriuResp* reply) {
    if (reply->cr_errmsg && !reply->success)
        opts->error = strdup(reply->cr_errmsg);
    errno = reply->has_cr_errno ? reply->cr_errno : 0;
    return reply->success ? 0 : -EBADE;
}

/* Sends one request on an open connection. The caller frees `reply`, also after a failure. */
static int ask_on(struct service* service, criu_opts* opts, CriuReq* request, CriuResp** reply) {
    int ret = service_ask(service, opts, request, reply);
    int code = errno;

    if (*reply) {
        int verdict = judge(opts, *reply);

        return ret ? ret : verdict;
    }
    errno = code;
    return ret;
}

/* Sends one request on a new connection, and closes it. */
static int ask(struct service* service, criu_opts* opts, CriuReq* request, CriuResp** reply) {
    int ret = ask_on(service, opts, request, reply);
    int code = errno;

    service_close(service);
    errno = code;
    return ret;
}

static void forget(CriuResp* reply) {
    int code = errno;

    if (reply)
        criu_resp__free_unpacked(reply, NULL);
    errno = code;
}

/* Sends one request with these options, or none, on a new connection. `own`: see service_open(). The caller frees
 * `reply`. */
static int ask_once(criu_opts* opts, CriuReqType type, CriuOpts* rpc, bool own, CriuResp** reply) {
    CriuReq request = CRIU_REQ__INIT;
    struct service service;
    int ret;

    begin(opts);
    request.type = type;
    request.opts = rpc;
    ret = service_open(&service, opts, own);
    return ret ? ret : ask(&service, opts, &request, reply);
}

/* Sends a request whose reply has only success or failure. */
static int ask_simply(criu_opts* opts, CriuReqType type, CriuOpts* rpc) {
    CriuResp* reply = NULL;
    int ret = ask_once(opts, type, rpc, false, &reply);

    forget(reply);
    return ret;
}

const char* criu_local_get_error(criu_opts* opts) {
    return opts->error ? opts->error : "";
}

const char* criu_get_error(void) {
    return criu_local_get_error(global_opts);
}

int criu_local_check(criu_opts* opts) {
    return ask_simply(opts, CRIU_REQ_TYPE__CHECK, NULL);
}

int criu_check(void) {
    return criu_local_check(global_opts);
}

int criu_local_dump(criu_opts* opts) {
    CriuResp* reply = NULL;
    int ret = ask_once(opts, CRIU_REQ_TYPE__DUMP, opts->rpc, !opts->rpc->has_pid, &reply);

    if (ret == 0 && reply->dump && reply->dump->has_restored && reply->dump->restored)
        ret = 1;
    forget(reply);
    return ret;
}

int criu_dump(void) {
    return criu_local_dump(global_opts);
}

int criu_local_pre_dump(criu_opts* opts) {
    return ask_simply(opts, CRIU_REQ_TYPE__SINGLE_PRE_DUMP, opts->rpc);
}

int criu_pre_dump(void) {
    return criu_local_pre_dump(global_opts);
}

int criu_local_dump_iters(criu_opts* opts, int (*more)(criu_predump_info pi)) {
    CriuReq request = CRIU_REQ__INIT;
    struct service service;
    int wanted = 1;
    int ret;
    int code;

    begin(opts);
    if (!opts->rpc->has_pid || !more)
        return -EINVAL;
    ret = service_open(&service, opts, false);
    request.opts = opts->rpc;
    while (ret == 0 && wanted > 0) {
        CriuResp* reply = NULL;

        request.type = CRIU_REQ_TYPE__PRE_DUMP;
        ret = ask_on(&service, opts, &request, &reply);
        forget(reply);
        if (ret == 0)
            wanted = more(NULL);
    }
    if (ret == 0 && wanted < 0)
        ret = wanted;
    if (ret == 0) {
        CriuResp* reply = NULL;

        request.type = CRIU_REQ_TYPE__DUMP;
        ret = ask_on(&service, opts, &request, &reply);
        forget(reply);
    }
    code = errno;
    service_close(&service);
    errno = code;
    return ret;
}

int criu_dump_iters(int (*more)(criu_predump_info pi)) {
    return criu_local_dump_iters(global_opts, more);
}

static int restore_by(struct service* service, criu_opts* opts) {
    CriuReq request = CRIU_REQ__INIT;
    CriuResp* reply = NULL;
    int ret;

    request.type = CRIU_REQ_TYPE__RESTORE;
    request.opts = opts->rpc;
    ret = ask(service, opts, &request, &reply);
    if (ret == 0)
        ret = reply->restore ? reply->restore->pid : -EBADMSG;
    forget(reply);
    return ret;
}

int criu_local_restore(criu_opts* opts) {
    struct service service;
    int ret;

    begin(opts);
    ret = service_open(&service, opts, false);
    return ret ? ret : restore_by(&service, opts);
}

int criu_restore(void) {
    return criu_local_restore(global_opts);
}

int criu_local_restore_child(criu_opts* opts) {
    struct service service;
    int ret;

    begin(opts);
    ret = service_start(&service, opts->service_comm == CRIU_COMM_BIN ? opts->service_path : "criu", false);
    if (ret)
        return ret;
    opts->rpc->has_rst_sibling = true;
    opts->rpc->rst_sibling = true;
    return restore_by(&service, opts);
}

int criu_restore_child(void) {
    return criu_local_restore_child(global_opts);
}

static int version_number(const CriuVersion* version) {
    if (version->gitid) /* a version between releases counts as the next release */
        return version->major_number * 10000 + (version->minor_number + 1) * 100;
    return version->major_number * 10000 + version->minor_number * 100 +
           (version->has_sublevel ? version->sublevel : 0);
}

int criu_local_get_version(criu_opts* opts) {
    CriuResp* reply = NULL;
    int ret = ask_once(opts, CRIU_REQ_TYPE__VERSION, opts->rpc, false, &reply);

    if (ret == 0)
        ret = reply->version ? version_number(reply->version) : -EBADMSG;
    forget(reply);
    return ret;
}

int criu_get_version(void) {
    return criu_local_get_version(global_opts);
}

int criu_local_check_version(criu_opts* opts, int minimum) {
    int version = criu_local_get_version(opts);

    return version < 0 ? version : version >= minimum;
}

int criu_check_version(int minimum) {
    return criu_local_check_version(global_opts, minimum);
}

int criu_local_feature_check(criu_opts* opts, struct criu_feature_check* features, size_t size) {
    struct criu_feature_check wanted = {0};
    CriuFeatures message = CRIU_FEATURES__INIT;
    CriuReq request = CRIU_REQ__INIT;
    CriuResp* reply = NULL;
    struct service service;
    int ret;

    begin(opts);
    if (!features || size > sizeof(wanted))
        return -1;
    memcpy(&wanted, features, size);
    message.has_mem_track = message.mem_track = wanted.mem_track;
    message.has_lazy_pages = message.lazy_pages = wanted.lazy_pages;
    message.has_pidfd_store = message.pidfd_store = wanted.pidfd_store;
    request.type = CRIU_REQ_TYPE__FEATURE_CHECK;
    request.opts = opts->rpc;
    request.features = &message;
    ret = service_open(&service, opts, false);
    if (ret == 0)
        ret = ask(&service, opts, &request, &reply);
    if (ret == 0 && !reply->features)
        ret = -EBADMSG;
    if (ret == 0) {
        const CriuFeatures* found = reply->features;

        wanted.mem_track = found->has_mem_track && found->mem_track;
        wanted.lazy_pages = found->has_lazy_pages && found->lazy_pages;
        wanted.pidfd_store = found->has_pidfd_store && found->pidfd_store;
        memcpy(features, &wanted, size);
    }
    forget(reply);
    return ret;
}

int criu_feature_check(struct criu_feature_check* features, size_t size) {
    return criu_local_feature_check(global_opts, features, size);
}
