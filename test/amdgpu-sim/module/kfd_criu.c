// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checkpoint and restore of KFD processes. The real driver's private data has no documented layout. This driver's data
 * has a magic number and a checksum, so that it notices lost or changed bytes.
 */
#include <linux/crc32.h>
#include <linux/dma-buf.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/syscalls.h>
#include <linux/uaccess.h>

#include "kfd.h"

#define PRIVATE_MAGIC 0x6b66642d73696d31ull /* "kfd-sim1" */
#define PRIVATE_MAX (64u << 20)

enum { OBJECT_QUEUE = 1, OBJECT_EVENT = 2, OBJECT_RANGE = 3 };

struct private_head {
    u32 version, xnack; /* kfd_criu_process_priv_data of kfd_priv.h (Linux 6.1) */
    u64 magic;
    u64 event_page_handle;
    u32 checksum, reserved; /* of all bytes, with this field as 0 */
};

struct private_device {
    u32 user_gpu_id, reserved;
};

struct private_bo {
    u64 user_address;
    u32 id;
    u32 mapped[SIM_MAX_GPUS]; /* user ids; 0: none */
    u32 reserved;
};

/* Fields that each buffer's record has in addition in AMD's driver (kfd_criu_bo_priv_data, DKMS of 2026). */
struct private_bo_dkms {
    u32 ipc_flags, is_imported;
    u32 ipc_share_handle[4];
};

static size_t bo_size(void) {
    return sizeof(struct private_bo) + (sim_dkms ? sizeof(struct private_bo_dkms) : 0);
}

struct private_queue {
    u32 type, reserved;
    struct kfd_ioctl_create_queue_args arguments;
    struct sim_queue_state state;
};

struct private_event {
    u32 type, reserved;
    struct sim_event event;
};

struct private_range {
    u32 type, preferred, prefetch, flags;
    u64 start, last;
    u32 granularity, reserved;
    u32 access[SIM_MAX_GPUS], in_place[SIM_MAX_GPUS]; /* user ids */
};

struct counts {
    u32 bos, queues, events, ranges;
};

static struct counts count(struct sim_process* process) {
    struct counts counts = {};
    struct list_head* at;
    unsigned int i;
    void* object;
    int id;

    for (i = 0; i < sim_gpu_count; i++) {
        idr_for_each_entry(&process->pdds[i].allocations, object, id) {
            counts.bos++;
        }
    }
    idr_for_each_entry(&process->queues, object, id) {
        counts.queues++;
    }
    idr_for_each_entry(&process->events, object, id) {
        counts.events++;
    }
    list_for_each(at, &process->ranges) {
        counts.ranges++;
    }
    return counts;
}

static void describe(const struct counts* counts, u32 devices, struct kfd_ioctl_criu_args* arguments) {
    arguments->num_devices = devices;
    arguments->num_bos = counts->bos;
    arguments->num_objects = counts->queues + counts->events + counts->ranges;
    arguments->priv_data_size = sizeof(struct private_head) + devices * sizeof(struct private_device) +
                                counts->bos * bo_size() + counts->queues * sizeof(struct private_queue) +
                                counts->events * sizeof(struct private_event) +
                                counts->ranges * sizeof(struct private_range);
}

/* Stops the queues until UNPAUSE. */
static long process_info(struct sim_process* process, struct kfd_ioctl_criu_args* arguments) {
    struct counts counts;

    /*
     * A queue doesn't stop in time: the driver resets the GPU and fails (unmap_queues_cpsch() and reset_queues_cpsch()
     * of kfd_device_queue_manager.c, Linux 6.1). criu_process_info() of kfd_chardev.c undoes the stop.
     */
    if (READ_ONCE(sim_hangs)) {
        WRITE_ONCE(sim_hangs, sim_hangs - 1);
        sim_queues_lose(process);
        sim_reset_gpus();
        return -ETIME;
    }
    sim_queues_evict(process);
    process->paused = true;
    counts = count(process);
    describe(&counts, sim_pdd_count(process), arguments);
    arguments->pid = task_tgid_nr_ns(process->leader, task_active_pid_ns(process->leader));
    /*
     * A deferred work of the driver may split and join ranges at this time (svm_range_deferred_list_work() of
     * kfd_svm.c).
     */
    if (READ_ONCE(sim_split_ranges)) {
        WRITE_ONCE(sim_split_ranges, sim_split_ranges - 1);
        return sim_range_split_any(process);
    }
    return 0;
}

static void save_queue(struct private_queue* to, struct sim_queue* queue) {
    to->type = OBJECT_QUEUE;
    mutex_lock(&queue->lock);
    to->arguments = queue->arguments;
    to->state = sim_queue_save(queue);
    mutex_unlock(&queue->lock);
}

static void save_range(struct private_range* to, const struct sim_range* range, const struct sim_process* process) {
    unsigned int i;

    to->type = OBJECT_RANGE;
    to->preferred = range->preferred;
    to->prefetch = range->prefetch;
    to->flags = range->flags;
    to->start = range->start;
    to->last = range->last;
    to->granularity = range->granularity;
    for (i = 0; i < sim_gpu_count; i++) {
        to->access[i] = range->access & BIT(i) ? process->pdds[i].user_gpu_id : 0;
        to->in_place[i] = range->in_place & BIT(i) ? process->pdds[i].user_gpu_id : 0;
    }
}

static void* save_objects(struct sim_process* process, void* at) {
    struct sim_queue* queue;
    struct sim_event* event;
    struct sim_range* range;
    int id;

    idr_for_each_entry(&process->queues, queue, id) {
        save_queue(at, queue);
        at += sizeof(struct private_queue);
    }
    spin_lock(&process->event_lock);
    idr_for_each_entry(&process->events, event, id) {
        *(struct private_event*)at = (struct private_event){.type = OBJECT_EVENT, .event = *event};
        at += sizeof(struct private_event);
    }
    spin_unlock(&process->event_lock);
    list_for_each_entry(range, &process->ranges, link) {
        save_range(at, range, process);
        at += sizeof(struct private_range);
    }
    return at;
}

static bool has_content(u32 flags) {
    return flags & (KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_GTT);
}

/* Returns a descriptor in the caller's table for the allocation's dma-buf, or an error. */
static int export_fd(struct sim_allocation* allocation, int flags) {
    struct dma_buf* buffer = sim_allocation_export(allocation, flags);
    int fd;

    if (IS_ERR(buffer)) {
        return PTR_ERR(buffer);
    }
    fd = dma_buf_fd(buffer, flags);
    if (fd < 0) {
        dma_buf_put(buffer);
    }
    return fd;
}

static void close_exported(const struct kfd_criu_bo_bucket* buckets, u32 used) {
    while (used--) {
        if (buckets[used].dmabuf_fd != KFD_INVALID_FD) {
            close_fd(buckets[used].dmabuf_fd);
        }
    }
}

static int save_bos(struct sim_process* process, struct kfd_criu_bo_bucket* bucket, struct private_bo* private) {
    struct kfd_criu_bo_bucket* first = bucket;
    unsigned int gpu, i, used;
    struct sim_allocation* allocation;
    int id;

    for (gpu = 0; gpu < sim_gpu_count; gpu++) {
        struct sim_pdd* pdd = &process->pdds[gpu];

        idr_for_each_entry(&pdd->allocations, allocation, id) {
            int fd = KFD_INVALID_FD;

            if (has_content(allocation->flags)) {
                fd = export_fd(allocation, allocation->flags & KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE ? O_RDWR : O_RDONLY);
                if (fd < 0) {
                    close_exported(first, bucket - first);
                    return fd;
                }
            }
            *bucket++ = (struct kfd_criu_bo_bucket){.addr = allocation->address,
                                                    .size = allocation->size,
                                                    .offset = sim_allocation_offset(allocation, pdd),
                                                    .gpu_id = pdd->user_gpu_id,
                                                    .alloc_flags = allocation->flags,
                                                    .dmabuf_fd = fd};
            *private = (struct private_bo){.user_address = allocation->user_address, .id = id};
            for (i = used = 0; i < sim_gpu_count; i++) {
                if (allocation->mapped & BIT(i)) {
                    private->mapped[used++] = process->pdds[i].user_gpu_id;
                }
            }
            /* criu_checkpoint_bos() of AMD's driver (DKMS 6.x). */
            if (sim_dkms && allocation->ipc) {
                struct private_bo_dkms* more = (void*)(private + 1);

                more->ipc_flags = allocation->ipc->flags;
                more->is_imported = allocation->imported;
                memcpy(more->ipc_share_handle, allocation->ipc->handle, sizeof(more->ipc_share_handle));
            }
            private = (void*)private + bo_size();
        }
    }
    return 0;
}

static long checkpoint(struct sim_process* process, struct kfd_ioctl_criu_args* arguments) {
    struct kfd_criu_device_bucket devices[SIM_MAX_GPUS] = {};
    struct counts counts = count(process);
    struct kfd_ioctl_criu_args expected;
    struct kfd_criu_bo_bucket* buckets;
    struct private_device* private_device;
    struct private_head* head;
    unsigned int i, at = 0, count_devices = sim_pdd_count(process);
    long result;

    if (!arguments->devices || !arguments->bos || !arguments->priv_data || !process->paused) {
        return -EINVAL;
    }
    describe(&counts, count_devices, &expected);
    if (expected.num_devices != arguments->num_devices || expected.num_bos != arguments->num_bos ||
        expected.num_objects != arguments->num_objects || expected.priv_data_size != arguments->priv_data_size) {
        return -EINVAL;
    }
    head = kvzalloc(expected.priv_data_size, GFP_KERNEL);
    buckets = kvcalloc(max(counts.bos, 1u), sizeof(*buckets), GFP_KERNEL);
    if (!head || !buckets) {
        result = -ENOMEM;
        goto done;
    }
    head->version = sim_private_version; /* KFD_CRIU_PRIV_VERSION of kfd_priv.h: 1 in both drivers */
    head->magic = PRIVATE_MAGIC;
    head->event_page_handle = process->event_page_handle;
    head->xnack = process->xnack;
    private_device = (struct private_device*)(head + 1);
    for (i = 0; i < sim_gpu_count; i++) {
        if (process->pdds[i].present) {
            private_device[at].user_gpu_id = process->pdds[i].user_gpu_id;
            devices[at].user_gpu_id = process->pdds[i].user_gpu_id;
            devices[at++].actual_gpu_id = process->pdds[i].gpu->properties.gpu_id;
        }
    }
    save_objects(process, (void*)(private_device + count_devices) + counts.bos * bo_size());
    result = save_bos(process, buckets, (struct private_bo*)(private_device + count_devices));
    if (result) {
        goto done;
    }
    head->checksum = crc32(0, head, expected.priv_data_size);
    if (copy_to_user(u64_to_user_ptr(arguments->devices), devices, count_devices * sizeof(*devices)) ||
        copy_to_user(u64_to_user_ptr(arguments->bos), buckets, counts.bos * sizeof(*buckets)) ||
        copy_to_user(u64_to_user_ptr(arguments->priv_data), head, expected.priv_data_size)) {
        close_exported(buckets, counts.bos);
        result = -EFAULT;
    }
done:
    kvfree(buckets);
    kvfree(head);
    return result;
}

static long unpause(struct sim_process* process) {
    if (!process->paused) {
        return -EINVAL;
    }
    sim_queues_resume(process);
    process->paused = false;
    return 0;
}

static int restore_devices(struct sim_process* process, const struct kfd_ioctl_criu_args* arguments) {
    struct kfd_criu_device_bucket devices[SIM_MAX_GPUS];
    unsigned int i;
    int result;

    /* criu_restore_devices() of Linux 6.1 requires exactly the GPUs that the process may use. */
    if (arguments->num_devices != sim_pdd_count(process)) {
        return -EINVAL;
    }
    if (copy_from_user(devices, u64_to_user_ptr(arguments->devices), arguments->num_devices * sizeof(*devices))) {
        return -EFAULT;
    }
    for (i = 0; i < arguments->num_devices; i++) {
        const struct sim_gpu* gpu = sim_gpu_by_id(devices[i].actual_gpu_id);
        struct sim_pdd* pdd = gpu ? &process->pdds[gpu->index] : NULL;

        if (!devices[i].user_gpu_id || !pdd || !pdd->present || pdd->drm_file) {
            return -EINVAL;
        }
        /* The driver sets the id first (criu_restore_devices() of kfd_chardev.c, Linux 6.1 to 7.3). */
        pdd->user_gpu_id = devices[i].user_gpu_id;
        result = sim_pdd_acquire(pdd, devices[i].drm_fd);
        if (result) {
            return -EINVAL;
        }
    }
    return 0;
}

static int restore_bo(struct sim_process* process, struct kfd_criu_bo_bucket* bucket,
                      const struct private_bo* private) {
    struct sim_pdd *pdd = sim_pdd_by_id(process, bucket->gpu_id), *peer;
    struct kfd_ioctl_alloc_memory_of_gpu_args arguments = {.va_addr = bucket->addr,
                                                           .size = bucket->size,
                                                           .gpu_id = bucket->gpu_id,
                                                           .flags = bucket->alloc_flags,
                                                           .mmap_offset = private->user_address};
    const struct private_bo_dkms* more = (const void*)(private + 1); /* AMD's driver only */
    struct sim_allocation* allocation;
    unsigned int i;
    int result;

    bucket->dmabuf_fd = KFD_INVALID_FD;
    if (!pdd) {
        return -ENODEV;
    }
    if (!private->id) {
        return -EINVAL;
    }
    result =
        sim_dkms && memchr_inv(more->ipc_share_handle, 0, sizeof(more->ipc_share_handle))
            ? sim_ipc_join(pdd, &arguments, private->id, more->ipc_share_handle, more->ipc_flags, more->is_imported)
            : sim_allocate(pdd, &arguments, private->id);
    if (result) {
        return result;
    }
    allocation = idr_find(&pdd->allocations, private->id);
    for (i = 0; i < SIM_MAX_GPUS && private->mapped[i]; i++) {
        peer = sim_pdd_by_id(process, private->mapped[i]);
        result = peer ? sim_allocation_map(allocation, peer) : -EINVAL;
        if (result) {
            return result;
        }
    }
    if (!(bucket->alloc_flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR)) {
        bucket->restored_offset = arguments.mmap_offset;
    }
    if (has_content(bucket->alloc_flags)) {
        result = export_fd(allocation, O_RDWR);
        if (result < 0) {
            return result;
        }
        bucket->dmabuf_fd = result;
    }
    return 0;
}

static int restore_bos(struct sim_process* process, const struct kfd_ioctl_criu_args* arguments,
                       const struct private_bo* private) {
    size_t bytes = arguments->num_bos * sizeof(struct kfd_criu_bo_bucket);
    struct kfd_criu_bo_bucket* buckets;
    int result = 0;
    u32 i;

    if (!arguments->num_bos) {
        return 0;
    }
    buckets = vmemdup_user(u64_to_user_ptr(arguments->bos), bytes);
    if (IS_ERR(buckets)) {
        return PTR_ERR(buckets);
    }
    for (i = 0; i < arguments->num_bos && !result; i++) {
        result = restore_bo(process, &buckets[i], (const void*)private + i * bo_size());
    }
    if (!result && copy_to_user(u64_to_user_ptr(arguments->bos), buckets, bytes)) {
        result = -EFAULT;
    }
    if (result) {
        close_exported(buckets, i);
    }
    kvfree(buckets);
    return result;
}

static int restore_range(struct sim_process* process, const struct private_range* from) {
    struct sim_range* range = kzalloc(sizeof(*range), GFP_KERNEL);
    unsigned int i;

    if (!range) {
        return -ENOMEM;
    }
    range->start = from->start;
    range->last = from->last;
    range->preferred = from->preferred;
    range->prefetch = from->prefetch;
    range->flags = from->flags;
    range->granularity = from->granularity;
    for (i = 0; i < SIM_MAX_GPUS; i++) {
        const struct sim_pdd* access = from->access[i] ? sim_pdd_by_id(process, from->access[i]) : NULL;
        const struct sim_pdd* in_place = from->in_place[i] ? sim_pdd_by_id(process, from->in_place[i]) : NULL;

        if ((from->access[i] && !access) || (from->in_place[i] && !in_place)) {
            kfree(range);
            return -EINVAL;
        }
        range->access |= access ? BIT(access->gpu->index) : 0;
        range->in_place |= in_place ? BIT(in_place->gpu->index) : 0;
    }
    list_add_tail(&range->link, &process->restored_ranges);
    return 0;
}

/* Creates the object at `at`. Returns its size or an error. */
static long restore_object(struct sim_process* process, const void* at, u64 left) {
    u32 type = left >= sizeof(type) ? *(const u32*)at : 0;
    const struct private_queue* queue = at;
    const struct private_event* event = at;
    const struct private_range* range = at;

    if (type == OBJECT_QUEUE && left >= sizeof(*queue)) {
        return sim_queue_restore(process, &queue->arguments, &queue->state) ?: (long)sizeof(*queue);
    }
    if (type == OBJECT_EVENT && left >= sizeof(*event)) {
        return sim_event_restore(process, &event->event) ?: (long)sizeof(*event);
    }
    if (type == OBJECT_RANGE && left >= sizeof(*range)) {
        return restore_range(process, range) ?: (long)sizeof(*range);
    }
    return -EINVAL;
}

static long restore_all(struct sim_process* process, const struct kfd_ioctl_criu_args* arguments,
                        struct private_head* head) {
    u64 fixed = sizeof(*head) + (u64)arguments->num_devices * sizeof(struct private_device) +
                (u64)arguments->num_bos * bo_size();
    u32 checksum, i;
    u64 at = fixed;
    long result;

    if (arguments->priv_data_size < fixed || head->version != sim_private_version || head->magic != PRIVATE_MAGIC) {
        return -EINVAL;
    }
    /* criu_restore_process() of kfd_chardev.c (Linux 6.1) sets the mode first. */
    if (head->xnack && !sim_xnack) {
        return -EPERM;
    }
    result = restore_devices(process, arguments);
    if (result) {
        return result;
    }
    /* The driver has no checksum. It reads the data of GPUs only for its size. */
    checksum = head->checksum;
    head->checksum = 0;
    if (checksum != crc32(0, head, arguments->priv_data_size)) {
        pr_warn("amdgpu_sim: the private data of the restore differs from that of the checkpoint\n");
        return -EINVAL;
    }
    process->xnack = head->xnack;
    result = restore_bos(process, arguments,
                         (void*)head + sizeof(*head) + (size_t)arguments->num_devices * sizeof(struct private_device));
    if (result) {
        return result;
    }
    process->event_page_handle = head->event_page_handle;
    for (i = 0; i < arguments->num_objects; i++) {
        result = restore_object(process, (void*)head + at, arguments->priv_data_size - at);
        if (result < 0) {
            return result;
        }
        at += result;
    }
    return at == arguments->priv_data_size ? 0 : -EINVAL;
}

/* Creates all objects. Queues stay stopped until RESUME. */
static long restore(struct sim_process* process, struct kfd_ioctl_criu_args* arguments) {
    struct private_head* head;
    long result;

    if ((arguments->num_bos && !arguments->bos) || !arguments->devices || !arguments->priv_data ||
        !arguments->num_devices || arguments->priv_data_size < sizeof(*head) ||
        arguments->priv_data_size > PRIVATE_MAX) {
        return -EINVAL;
    }
    /*
     * Without buffers RESTORE was refused before Linux 6.18, some stable versions since 2025 and in AMD's driver:
     * criu_restore() of kfd_chardev.c.
     */
    if (!arguments->num_bos && (sim_interface < 618 || sim_dkms)) {
        return -EINVAL;
    }
    sim_queues_evict(process);
    process->awaits_resume = true;
    head = vmemdup_user(u64_to_user_ptr(arguments->priv_data), arguments->priv_data_size);
    if (IS_ERR(head)) {
        return PTR_ERR(head);
    }
    result = restore_all(process, arguments, head);
    kvfree(head);
    return result;
}

/* The restoring process calls this for the process with the given pid. */
static long resume(const struct kfd_ioctl_criu_args* arguments) {
    struct pid* pid = find_get_pid(arguments->pid);
    struct sim_process* target = pid ? sim_process_find(pid) : NULL;
    long result;

    put_pid(pid);
    if (!target) {
        return -ESRCH;
    }
    mutex_lock(&target->lock);
    /* amdgpu_amdkfd_criu_resume() of Linux 6.1 returns EINVAL for a process that doesn't await RESUME. */
    result = target->awaits_resume ? 0 : -EINVAL;
    /* criu_resume() of kfd_chardev.c (Linux 6.1) makes the ranges first. */
    result = result ?: sim_ranges_resume(target);
    if (!result) {
        target->awaits_resume = false;
        if (READ_ONCE(sim_resume_delay) >= 0) {
            sim_process_resume_later(target, READ_ONCE(sim_resume_delay));
        }
    }
    mutex_unlock(&target->lock);
    sim_process_put(target);
    return result;
}

long sim_kfd_criu(struct sim_process* process, struct kfd_ioctl_criu_args* arguments) {
    long result;

    if (arguments->op == KFD_CRIU_OP_RESUME) {
        return resume(arguments);
    }
    mutex_lock(&process->lock);
    switch (arguments->op) {
        case KFD_CRIU_OP_PROCESS_INFO:
            result = process_info(process, arguments);
            break;
        case KFD_CRIU_OP_CHECKPOINT:
            result = checkpoint(process, arguments);
            break;
        case KFD_CRIU_OP_UNPAUSE:
            result = unpause(process);
            break;
        case KFD_CRIU_OP_RESTORE:
            result = restore(process, arguments);
            break;
        default:
            result = -EINVAL;
    }
    mutex_unlock(&process->lock);
    return result;
}
