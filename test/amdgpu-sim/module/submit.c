// SPDX-License-Identifier: GPL-2.0-only
/* Command submission of render nodes: contexts, buffer lists, submissions and waits. */
#include <linux/capability.h>
#include <linux/idr.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <uapi/drm/amdgpu_drm.h>

#include "sim.h"

#define MAX_LIST 65536u
/* AMDGPU_VM_MAX_NUM_CTX of amdgpu_vm.h (Linux 6.1): all context numbers of a file are below it. */
#define END_OF_CONTEXTS 4096

/* Buffers that must be resident for a submission. */
struct buffer_list {
    unsigned int count;
    struct sim_bo* buffers[];
};

static void list_free(struct buffer_list* list) {
    unsigned int i;

    for (i = 0; list && i < list->count; i++) {
        sim_bo_put(list->buffers[i]);
    }
    kvfree(list);
}

static struct buffer_list* list_from_user(struct drm_file* file, u64 entries, u32 count, u32 entry_size) {
    struct buffer_list* list;
    u32 i;

    if (count > MAX_LIST || entry_size < sizeof(struct drm_amdgpu_bo_list_entry)) {
        return ERR_PTR(-EINVAL);
    }
    list = kvzalloc(struct_size(list, buffers, count), GFP_KERNEL);
    if (!list) {
        return ERR_PTR(-ENOMEM);
    }
    for (i = 0; i < count; i++) {
        struct drm_amdgpu_bo_list_entry entry;
        struct drm_gem_object* object;

        if (copy_from_user(&entry, u64_to_user_ptr(entries + (u64)i * entry_size), sizeof(entry))) {
            list_free(list);
            return ERR_PTR(-EFAULT);
        }
        object = drm_gem_object_lookup(file, entry.bo_handle);
        if (!object) {
            list_free(list);
            return ERR_PTR(-ENOENT);
        }
        list->buffers[list->count++] = sim_bo_of(object);
    }
    return list;
}

int sim_bo_list(struct drm_device* drm, void* data, struct drm_file* file) {
    union drm_amdgpu_bo_list* arguments = data;
    struct sim_file* own = file->driver_priv;
    struct drm_amdgpu_bo_list_in in = arguments->in;
    struct buffer_list *list = NULL, *old;
    int handle = in.list_handle, result = 0;

    if (in.operation != AMDGPU_BO_LIST_OP_DESTROY) {
        list = list_from_user(file, in.bo_info_ptr, in.bo_number, in.bo_info_size);
        if (IS_ERR(list)) {
            return PTR_ERR(list);
        }
    }
    mutex_lock(&own->lock);
    switch (in.operation) {
        case AMDGPU_BO_LIST_OP_CREATE:
            handle = idr_alloc(&own->lists, list, 1, 0, GFP_KERNEL);
            result = min(handle, 0);
            break;
        case AMDGPU_BO_LIST_OP_UPDATE:
            old = idr_replace(&own->lists, list, handle);
            if (IS_ERR(old)) {
                result = PTR_ERR(old);
            } else {
                list_free(old);
            }
            break;
        case AMDGPU_BO_LIST_OP_DESTROY:
            list_free(idr_remove(&own->lists, handle));
            handle = 0;
            break;
        default:
            result = -EINVAL;
    }
    mutex_unlock(&own->lock);
    if (result) {
        list_free(list);
        return result;
    }
    memset(arguments, 0, sizeof(*arguments));
    arguments->out.list_handle = handle;
    return 0;
}

static bool context_failed(const struct sim_context* context) {
    unsigned int ring;

    if (context->resets != READ_ONCE(context->gpu->resets)) {
        return true;
    }
    for (ring = 0; ring < SIM_RINGS; ring++) {
        if (READ_ONCE(context->failed[ring])) {
            return true;
        }
    }
    return false;
}

static bool context_idle(const struct sim_context* context) {
    unsigned int ring;

    for (ring = 0; ring < SIM_RINGS; ring++) {
        if (READ_ONCE(context->completed[ring]) < READ_ONCE(context->submitted[ring])) {
            return false;
        }
    }
    return true;
}

/* Returns the priority, or the normal one for an unknown value. */
static s32 known_priority(s32 priority) {
    switch (priority) {
        case AMDGPU_CTX_PRIORITY_UNSET:
        case AMDGPU_CTX_PRIORITY_VERY_LOW:
        case AMDGPU_CTX_PRIORITY_LOW:
        case AMDGPU_CTX_PRIORITY_HIGH:
        case AMDGPU_CTX_PRIORITY_VERY_HIGH:
            return priority;
        default:
            return AMDGPU_CTX_PRIORITY_NORMAL;
    }
}

int sim_ctx(struct drm_device* drm, void* data, struct drm_file* file) {
    union drm_amdgpu_ctx* arguments = data;
    struct sim_file* own = file->driver_priv;
    struct sim_context* context;
    s32 priority;
    bool query2;
    int id, result = 0;

    switch (arguments->in.op) {
        case AMDGPU_CTX_OP_ALLOC_CTX:
            /* amdgpu_ctx_ioctl() and amdgpu_ctx_priority_permit() of amdgpu_ctx.c (Linux 6.1) */
            priority = known_priority(arguments->in.priority);
            if (priority > AMDGPU_CTX_PRIORITY_NORMAL && !capable(CAP_SYS_NICE)) {
                return -EACCES;
            }
            context = sim_context_create(sim_gpu_of(drm));
            if (!context) {
                return -ENOMEM;
            }
            context->priority = priority;
            mutex_lock(&own->lock);
            /* amdgpu_ctx_alloc() of amdgpu_ctx.c (Linux 6.1): the lowest free number. */
            id = idr_alloc(&own->contexts, context, 1, END_OF_CONTEXTS, GFP_KERNEL);
            mutex_unlock(&own->lock);
            if (id < 0) {
                sim_context_put(context);
                return id;
            }
            memset(arguments, 0, sizeof(*arguments));
            arguments->out.alloc.ctx_id = id;
            return 0;
        case AMDGPU_CTX_OP_FREE_CTX:
            mutex_lock(&own->lock);
            context = idr_remove(&own->contexts, arguments->in.ctx_id);
            mutex_unlock(&own->lock);
            if (!context) {
                return -EINVAL;
            }
            sim_context_put(context);
            return 0;
        case AMDGPU_CTX_OP_QUERY_STATE:
        case AMDGPU_CTX_OP_QUERY_STATE2:
            mutex_lock(&own->lock);
            context = idr_find(&own->contexts, arguments->in.ctx_id);
            result = context ? context_failed(context) : -EINVAL;
            mutex_unlock(&own->lock);
            if (result < 0) {
                return result;
            }
            /* amdgpu_ctx_query() and amdgpu_ctx_query2() of amdgpu_ctx.c (Linux 6.1) */
            query2 = arguments->in.op == AMDGPU_CTX_OP_QUERY_STATE2;
            memset(arguments, 0, sizeof(*arguments));
            if (query2) {
                arguments->out.state.flags =
                    result ? AMDGPU_CTX_QUERY2_FLAGS_RESET | AMDGPU_CTX_QUERY2_FLAGS_GUILTY : 0;
            } else {
                arguments->out.state.reset_status = result ? AMDGPU_CTX_GUILTY_RESET : AMDGPU_CTX_NO_RESET;
            }
            return 0;
        default:
            return -EINVAL;
    }
}

static struct sim_context* context_by_id(struct sim_file* own, u32 id) {
    struct sim_context* context;

    mutex_lock(&own->lock);
    context = idr_find(&own->contexts, id);
    if (context) {
        kref_get(&context->references);
    }
    mutex_unlock(&own->lock);
    return context;
}

/* Gives the job references to the buffers of a list. */
static int take_list(struct sim_job* job, const struct buffer_list* list) {
    unsigned int i;

    job->resident = kvcalloc(max(list->count, 1u), sizeof(*job->resident), GFP_KERNEL);
    if (!job->resident) {
        return -ENOMEM;
    }
    for (i = 0; i < list->count; i++) {
        sim_bo_get(list->buffers[i]);
        job->resident[job->resident_count++] = list->buffers[i];
    }
    return 0;
}

static int take_handles(struct drm_file* file, struct sim_job* job, u64 data) {
    struct drm_amdgpu_bo_list_in in;
    struct buffer_list* list;
    int result;

    if (copy_from_user(&in, u64_to_user_ptr(data), sizeof(in))) {
        return -EFAULT;
    }
    list = list_from_user(file, in.bo_info_ptr, in.bo_number, in.bo_info_size);
    if (IS_ERR(list)) {
        return PTR_ERR(list);
    }
    result = take_list(job, list);
    list_free(list);
    return result;
}

static int take_chunks(struct drm_file* file, struct sim_job* job, const struct drm_amdgpu_cs_in* in) {
    u32 i, buffers = 0;
    int result;

    for (i = 0; i < in->num_chunks; i++) {
        struct drm_amdgpu_cs_chunk_ib ib;
        struct drm_amdgpu_cs_chunk chunk;
        u64 address;

        if (get_user(address, (u64 __user*)u64_to_user_ptr(in->chunks) + i) ||
            copy_from_user(&chunk, u64_to_user_ptr(address), sizeof(chunk))) {
            return -EFAULT;
        }
        switch (chunk.chunk_id) {
            case AMDGPU_CHUNK_ID_IB:
                if (copy_from_user(&ib, u64_to_user_ptr(chunk.chunk_data), sizeof(ib))) {
                    return -EFAULT;
                }
                /* This driver has engines of one kind, and no shaders. */
                if (!sim_kernel_rings || ib.ip_type != AMDGPU_HW_IP_DMA || ib.ip_instance || ib.ring >= SIM_RINGS ||
                    ++buffers > 1 || ib.ib_bytes % 4 || ib.ib_bytes > (4u << 20)) {
                    return -EINVAL;
                }
                job->address = ib.va_start;
                job->ring = ib.ring;
                job->bytes = ib.ib_bytes;
                break;
            case AMDGPU_CHUNK_ID_BO_HANDLES:
                if (job->resident) {
                    return -EINVAL;
                }
                result = take_handles(file, job, chunk.chunk_data);
                if (result) {
                    return result;
                }
                break;
            default:
                return -EINVAL;
        }
    }
    return buffers ? 0 : -EINVAL;
}

int sim_cs(struct drm_device* drm, void* data, struct drm_file* file) {
    union drm_amdgpu_cs* arguments = data;
    struct sim_file* own = file->driver_priv;
    struct drm_amdgpu_cs_in in = arguments->in;
    struct sim_job* job = kzalloc(sizeof(*job), GFP_KERNEL);
    int result;

    if (!job) {
        return -ENOMEM;
    }
    job->context = context_by_id(own, in.ctx_id);
    if (!job->context) {
        kfree(job);
        return -EINVAL;
    }
    job->vm = own->vm;
    kref_get(&own->vm->references);
    result = take_chunks(file, job, &in);
    if (!result && in.bo_list_handle && !job->resident) {
        struct buffer_list* list;

        mutex_lock(&own->lock);
        list = idr_find(&own->lists, in.bo_list_handle);
        result = list ? take_list(job, list) : -ENOENT;
        mutex_unlock(&own->lock);
    }
    if (!result && !job->resident) {
        /* Without a list only always valid buffers are resident. */
        const struct buffer_list none = {};

        result = take_list(job, &none);
    }
    if (!result && context_failed(job->context)) {
        result = -ECANCELED;
    }
    if (result) {
        sim_job_free(job);
        return result;
    }
    /* Numbers and queues the job under one lock: jobs of a context end in the order of their numbers. */
    mutex_lock(&own->lock);
    spin_lock(&job->context->lock);
    job->sequence = ++job->context->submitted[job->ring];
    spin_unlock(&job->context->lock);
    arguments->out.handle = job->sequence;
    sim_engine_submit(sim_gpu_of(drm)->engines[job->ring], job);
    mutex_unlock(&own->lock);
    return 0;
}

int sim_wait_cs(struct drm_device* drm, void* data, struct drm_file* file) {
    union drm_amdgpu_wait_cs* arguments = data;
    struct drm_amdgpu_wait_cs_in in = arguments->in;
    struct sim_context* context = context_by_id(file->driver_priv, in.ctx_id);
    long left = MAX_SCHEDULE_TIMEOUT, result = 0;
    u64 now = ktime_get_ns();

    if (!context || in.ip_type != AMDGPU_HW_IP_DMA || in.ip_instance || in.ring >= SIM_RINGS) {
        if (context) {
            sim_context_put(context);
        }
        return -EINVAL;
    }
    /* amdgpu_ctx_get_fence() of amdgpu_ctx.c (Linux 6.1): this number stands for the latest submission. */
    if (in.handle == ~0ull) {
        in.handle = READ_ONCE(context->submitted[in.ring]);
    }
    if (in.handle > READ_ONCE(context->submitted[in.ring])) {
        sim_context_put(context);
        return -EINVAL;
    }
    if ((s64)in.timeout >= 0) { /* an absolute time; negative values wait forever */
        left = in.timeout > now ? nsecs_to_jiffies(in.timeout - now) + 1 : 0;
    }
    if (READ_ONCE(context->completed[in.ring]) < in.handle && left) {
        left =
            wait_event_interruptible_timeout(context->wait, READ_ONCE(context->completed[in.ring]) >= in.handle, left);
    }
    if (left < 0) {
        result = left;
    } else if (context->resets != READ_ONCE(context->gpu->resets)) {
        result = -ECANCELED;
    } else if (READ_ONCE(context->completed[in.ring]) >= in.handle && context->failed[in.ring] &&
               context->failed[in.ring] <= in.handle) {
        result = context->error;
    }
    if (!result) {
        memset(arguments, 0, sizeof(*arguments));
        arguments->out.status = READ_ONCE(context->completed[in.ring]) < in.handle;
    }
    sim_context_put(context);
    return result;
}

/* Waits for all submissions of this file, whatever buffer the caller names. */
int sim_gem_wait_idle(struct drm_device* drm, void* data, struct drm_file* file) {
    union drm_amdgpu_gem_wait_idle* arguments = data;
    struct sim_file* own = file->driver_priv;
    struct drm_gem_object* object = drm_gem_object_lookup(file, arguments->in.handle);
    struct sim_context* context;
    int id = 0, result = 0;

    if (!object) {
        return -ENOENT;
    }
    drm_gem_object_put(object);
    do {
        mutex_lock(&own->lock);
        context = idr_get_next(&own->contexts, &id);
        if (context) {
            kref_get(&context->references);
        }
        mutex_unlock(&own->lock);
        if (context) {
            result = wait_event_interruptible(context->wait, context_idle(context));
            sim_context_put(context);
            id++;
        }
    } while (context && !result);
    if (!result) {
        memset(arguments, 0, sizeof(*arguments));
    }
    return result;
}

void sim_submit_close(struct sim_file* file) {
    struct sim_context* context;
    struct buffer_list* list;
    int id;

    idr_for_each_entry(&file->contexts, context, id) {
        wait_event(context->wait, context_idle(context));
        sim_context_put(context);
    }
    idr_for_each_entry(&file->lists, list, id) {
        list_free(list);
    }
    idr_destroy(&file->contexts);
    idr_destroy(&file->lists);
}
