// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handles of AMD's driver by which processes share memory, as hipIpc did before DMA-BUFs: 128 random bits for a buffer
 * (kfd_ipc.c of AMD's driver, DKMS 6.x). The driver of Linux lacks them.
 */
#include <drm/drm_gem.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "kfd.h"

static LIST_HEAD(handles);
static DEFINE_MUTEX(handles_lock);
static atomic_t users = ATOMIC_INIT(0);

/* Structures of kfd_ioctl.h of AMD's driver. */
struct ipc_export_arguments {
    u64 handle;
    u32 share_handle[4], gpu_id, flags;
};
struct ipc_import_arguments {
    u64 handle, va_addr, mmap_offset;
    u32 share_handle[4], gpu_id, flags;
};

unsigned int sim_ipc_allocations(void) {
    return atomic_read(&users);
}

static void ipc_free(struct kref* references) {
    struct sim_ipc* ipc = container_of(references, struct sim_ipc, references);

    list_del(&ipc->link);
    kfree(ipc);
}

void sim_ipc_put(struct sim_ipc* ipc) {
    atomic_dec(&users);
    mutex_lock(&handles_lock);
    kref_put(&ipc->references, ipc_free);
    mutex_unlock(&handles_lock);
}

static struct sim_ipc* find(const u32* handle) {
    struct sim_ipc* ipc;

    list_for_each_entry(ipc, &handles, link) {
        if (memcmp(ipc->handle, handle, sizeof(ipc->handle)) == 0) {
            return ipc;
        }
    }
    return NULL;
}

/* Gives an allocation a handle; a random one for NULL. The caller holds handles_lock. */
static int add(struct sim_allocation* allocation, const u32* handle, u32 flags) {
    struct sim_ipc* ipc = kzalloc(sizeof(*ipc), GFP_KERNEL);

    if (!ipc) {
        return -ENOMEM;
    }
    kref_init(&ipc->references);
    ipc->bo = allocation->bo;
    ipc->flags = flags;
    if (handle) {
        memcpy(ipc->handle, handle, sizeof(ipc->handle));
    } else {
        get_random_bytes(ipc->handle, sizeof(ipc->handle));
    }
    list_add(&ipc->link, &handles);
    allocation->ipc = ipc;
    atomic_inc(&users);
    return 0;
}

/* Imports the buffer of a handle. Returns the number of the new allocation; EINVAL for an unknown handle. */
static int import(struct sim_pdd* pdd, u64 address, int id, const u32* handle, u32* flags) {
    struct sim_allocation* allocation;
    struct sim_ipc* ipc;

    mutex_lock(&handles_lock);
    ipc = find(handle);
    if (!ipc) {
        mutex_unlock(&handles_lock);
        return -EINVAL;
    }
    sim_bo_get(ipc->bo);
    id = sim_allocation_import(pdd, sim_gem(ipc->bo), address, id);
    if (id > 0) {
        allocation = idr_find(&pdd->allocations, id);
        allocation->ipc = ipc;
        allocation->imported = true;
        kref_get(&ipc->references);
        atomic_inc(&users);
        *flags = ipc->flags;
    }
    mutex_unlock(&handles_lock);
    return id;
}

/*
 * Makes an allocation at RESTORE that had a handle at CHECKPOINT. The first process that shares it makes the
 * buffer, and all others import it: criu_restore_memory_of_gpu_ipc() of kfd_chardev.c (AMD's driver, DKMS 6.x).
 */
int sim_ipc_join(struct sim_pdd* pdd, struct kfd_ioctl_alloc_memory_of_gpu_args* arguments, int id, const u32* handle,
                 u32 flags, bool imported) {
    struct sim_allocation* allocation;
    u32 unused;
    int result = import(pdd, arguments->va_addr, id, handle, &unused);

    if (result == -EINVAL) {
        result = sim_allocate(pdd, arguments, id);
        if (!result) {
            mutex_lock(&handles_lock);
            result = add(idr_find(&pdd->allocations, id), handle, flags);
            mutex_unlock(&handles_lock);
        }
    }
    if (result < 0) {
        return result;
    }
    allocation = idr_find(&pdd->allocations, id);
    allocation->imported = imported;
    arguments->mmap_offset = sim_allocation_offset(allocation, pdd);
    return 0;
}

static long export_ioctl(struct sim_process* process, struct ipc_export_arguments* arguments) {
    struct sim_pdd* pdd;
    struct sim_allocation* allocation = sim_allocation_by_handle(process, arguments->handle, &pdd);
    long result = 0;

    if (!allocation || !allocation->bo || allocation->bo->user_mm) {
        return -EINVAL;
    }
    mutex_lock(&handles_lock);
    if (!allocation->ipc) {
        result = add(allocation, NULL, arguments->flags);
    }
    if (!result) {
        memcpy(arguments->share_handle, allocation->ipc->handle, sizeof(arguments->share_handle));
    }
    mutex_unlock(&handles_lock);
    return result;
}

static long import_ioctl(struct sim_process* process, struct ipc_import_arguments* arguments) {
    struct sim_pdd* pdd = sim_pdd_by_id(process, arguments->gpu_id);
    int id = pdd && pdd->vm ? import(pdd, arguments->va_addr, 0, arguments->share_handle, &arguments->flags) : -EINVAL;

    if (id < 0) {
        return id;
    }
    arguments->handle = (u64)pdd->user_gpu_id << 32 | id;
    arguments->mmap_offset = sim_allocation_offset(idr_find(&pdd->allocations, id), pdd);
    return 0;
}

long sim_kfd_ipc_ioctl(struct sim_process* process, unsigned int number, void* data) {
    long result;

    mutex_lock(&process->lock);
    result = number == SIM_IPC_EXPORT ? export_ioctl(process, data) : import_ioctl(process, data);
    mutex_unlock(&process->lock);
    return result;
}
