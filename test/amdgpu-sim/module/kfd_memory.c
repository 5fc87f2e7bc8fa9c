// SPDX-License-Identifier: GPL-2.0-only
/* Memory of KFD processes: allocations on one GPU, which any GPU can map. */
#include <drm/drm_drv.h>
#include <drm/drm_prime.h>
#include <linux/dma-buf.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <uapi/drm/amdgpu_drm.h>

#include "kfd.h"

#define KINDS                                                                                       \
    (KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | \
     KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP)

/* The headers of this kernel lack this structure. */
struct export_dmabuf_arguments {
    u64 handle;
    u32 flags, dmabuf_fd;
};

u64 sim_mmap_offset(u64 type, const struct sim_pdd* pdd) {
    return type << SIM_MMAP_TYPE_SHIFT | (u64)pdd->gpu->properties.gpu_id << SIM_MMAP_GPU_SHIFT;
}

/*
 * Returns the offset for a program. kfd_ioctl_create_queue() of kfd_chardev.c puts the program's GPU id into it. Before
 * Linux 7.3 such an offset can't be mapped after a restore on another GPU, so this driver spares it to programs there.
 */
u64 sim_user_mmap_offset(u64 offset, const struct sim_pdd* pdd) {
    const u64 mask = SIM_MMAP_GPU_MASK << SIM_MMAP_GPU_SHIFT;

    return sim_interface >= 703 ? (offset & ~mask) | (u64)pdd->user_gpu_id << SIM_MMAP_GPU_SHIFT : offset;
}

static struct drm_file* drm_file_of(const struct sim_pdd* pdd) {
    return pdd->drm_file->private_data;
}

static void unmap(struct sim_process* process, struct sim_allocation* allocation, unsigned int which) {
    if (!(allocation->mapped & BIT(which))) {
        return;
    }
    if (allocation->bo) {
        sim_vm_unmap(process->pdds[which].vm, allocation->bo, allocation->address);
    }
    allocation->mapped &= ~BIT(which);
}

/*
 * Since Linux 6.8 the driver holds a GEM handle of each buffer (drm_gem_handle_create() for adev->kfd.client in
 * amdgpu_amdkfd_gpuvm.c). Thus the DMA-BUF of a buffer stays the same while it exists. This driver only counts the
 * handle, as drm_gem_object_handle_get() and drm_gem_object_handle_put_unlocked() do.
 */
static void hold_handle(struct drm_gem_object* object) {
    mutex_lock(&object->dev->object_name_lock);
    if (object->handle_count++ == 0) {
        drm_gem_object_get(object);
    }
    mutex_unlock(&object->dev->object_name_lock);
}

static void release_handle(struct drm_gem_object* object) {
    struct dma_buf* buffer = NULL;
    bool last;

    mutex_lock(&object->dev->object_name_lock);
    last = --object->handle_count == 0;
    if (last) {
        swap(buffer, object->dma_buf);
    }
    mutex_unlock(&object->dev->object_name_lock);
    if (buffer) {
        dma_buf_put(buffer);
    }
    if (last) {
        drm_gem_object_put(object);
    }
}

static void allocation_free(struct sim_pdd* pdd, struct sim_allocation* allocation) {
    struct sim_process* process = sim_process_of(pdd);
    unsigned int i;

    for (i = 0; i < sim_gpu_count; i++) {
        unmap(process, allocation, i);
    }
    if (allocation->user_address) {
        sim_user_memory_gone(process, allocation);
    }
    if (allocation->ipc) {
        sim_ipc_put(allocation->ipc); /* before the buffer, which others find by the handle */
    }
    if (allocation->bo) {
        drm_vma_node_revoke(&sim_gem(allocation->bo)->vma_node, drm_file_of(pdd));
        release_handle(sim_gem(allocation->bo));
        sim_bo_put(allocation->bo);
    }
    kfree(allocation);
}

void sim_allocations_free(struct sim_pdd* pdd) {
    struct sim_allocation* allocation;
    int id;

    idr_for_each_entry(&pdd->allocations, allocation, id) {
        allocation_free(pdd, allocation);
    }
    idr_destroy(&pdd->allocations);
}

u64 sim_allocation_offset(const struct sim_allocation* allocation, const struct sim_pdd* pdd) {
    if (allocation->flags & KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL) {
        return sim_mmap_offset(SIM_MMAP_DOORBELL, pdd);
    }
    if (allocation->flags & KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP) {
        return sim_mmap_offset(SIM_MMAP_MMIO, pdd);
    }
    return drm_vma_node_offset_addr(&sim_gem(allocation->bo)->vma_node);
}

static struct sim_bo* make_bo(struct sim_pdd* pdd, const struct kfd_ioctl_alloc_memory_of_gpu_args* arguments) {
    u32 kind = arguments->flags & KINDS;
    struct sim_bo* bo;
    u64 flags = 0;
    int result;

    if (kind == KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) {
        bo = sim_bo_create_user(pdd->gpu, arguments->mmap_offset, arguments->size, sim_process_of(pdd)->mm);
    } else if (kind == KFD_IOC_ALLOC_MEM_FLAGS_VRAM) {
        if (!(arguments->flags & KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC)) {
            flags |= AMDGPU_GEM_CREATE_NO_CPU_ACCESS;
        }
        bo = sim_bo_create(pdd->gpu, arguments->size, AMDGPU_GEM_DOMAIN_VRAM, flags);
    } else {
        bo = sim_bo_create(pdd->gpu, arguments->size, AMDGPU_GEM_DOMAIN_GTT, flags);
    }
    if (IS_ERR(bo)) {
        return bo;
    }
    result = drm_gem_create_mmap_offset(sim_gem(bo));
    result = result ?: drm_vma_node_allow(&sim_gem(bo)->vma_node, drm_file_of(pdd));
    if (result) {
        sim_bo_put(bo);
        return ERR_PTR(result);
    }
    return bo;
}

/*
 * Allocates memory, with the number `id` unless that is 0. Sets handle and mmap_offset. The caller holds the process'
 * lock.
 */
int sim_allocate(struct sim_pdd* pdd, struct kfd_ioctl_alloc_memory_of_gpu_args* arguments, int id) {
    u32 kind = arguments->flags & KINDS;
    struct sim_allocation* allocation;

    if (!arguments->size || offset_in_page(arguments->size) || offset_in_page(arguments->va_addr) ||
        hweight32(kind) != 1) {
        return -EINVAL;
    }
    if ((kind == KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL && arguments->size != SIM_DOORBELL_BYTES) ||
        (kind == KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP && arguments->size != PAGE_SIZE)) {
        return -EINVAL;
    }
    /* kfd_ioctl_alloc_memory_of_gpu() of Linux 6.1 checks this; a restore does not. */
    if (!id && !sim_vram_visible && (arguments->flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM) &&
        (arguments->flags & KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC)) {
        return -EINVAL;
    }
    if (!pdd->vm) {
        return -ENODEV;
    }
    allocation = kzalloc(sizeof(*allocation), GFP_KERNEL);
    if (!allocation) {
        return -ENOMEM;
    }
    allocation->address = arguments->va_addr;
    allocation->size = arguments->size;
    allocation->flags = arguments->flags;
    if (kind & (KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_USERPTR)) {
        allocation->bo = make_bo(pdd, arguments);
        if (IS_ERR(allocation->bo)) {
            int result = PTR_ERR(allocation->bo);

            kfree(allocation);
            return result;
        }
        allocation->user_address = allocation->bo->user_address;
        if (allocation->user_address) {
            sim_user_memory_added(sim_process_of(pdd), allocation);
        }
        hold_handle(sim_gem(allocation->bo));
    }
    id = idr_alloc(&pdd->allocations, allocation, id ?: 1, id ? id + 1 : 0, GFP_KERNEL);
    if (id < 0) {
        allocation_free(pdd, allocation);
        return id;
    }
    arguments->handle = (u64)pdd->user_gpu_id << 32 | id;
    arguments->mmap_offset = sim_allocation_offset(allocation, pdd);
    return 0;
}

struct sim_allocation* sim_allocation_by_handle(struct sim_process* process, u64 handle, struct sim_pdd** found) {
    struct sim_pdd* pdd = sim_pdd_by_id(process, handle >> 32);

    *found = pdd;
    return pdd ? idr_find(&pdd->allocations, lower_32_bits(handle)) : NULL;
}

int sim_allocation_map(struct sim_allocation* allocation, struct sim_pdd* pdd) {
    u64 flags = AMDGPU_VM_PAGE_READABLE;
    int result;

    if (!pdd->vm) {
        return -ENODEV;
    }
    if (allocation->mapped & BIT(pdd->gpu->index)) {
        return 0;
    }
    if (allocation->flags & KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE) {
        flags |= AMDGPU_VM_PAGE_WRITEABLE;
    }
    if (allocation->flags & KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE) {
        flags |= AMDGPU_VM_PAGE_EXECUTABLE;
    }
    if (allocation->bo) {
        result = sim_vm_map(pdd->vm, allocation->bo, allocation->address, allocation->size, 0, flags);
        if (result) {
            return result;
        }
    }
    allocation->mapped |= BIT(pdd->gpu->index);
    return 0;
}

/* Returns a dma-buf of the allocation. Before Linux 6.8 each call made a new one (criu_get_prime_handle()). */
struct dma_buf* sim_allocation_export(struct sim_allocation* allocation, int flags) {
    struct drm_gem_object* object = sim_gem(allocation->bo);
    struct dma_buf* buffer;

    if (sim_interface < 608) {
        return drm_gem_prime_export(object, O_RDWR | O_CLOEXEC);
    }
    mutex_lock(&object->dev->object_name_lock);
    buffer = object->dma_buf; /* exists after an export */
    if (!buffer) {
        buffer = drm_gem_prime_export(object, O_RDWR | O_CLOEXEC);
        object->dma_buf = IS_ERR(buffer) ? NULL : buffer;
    }
    if (!IS_ERR(buffer)) {
        get_dma_buf(buffer);
    }
    mutex_unlock(&object->dev->object_name_lock);
    return buffer;
}

static long allocate(struct sim_process* process, struct kfd_ioctl_alloc_memory_of_gpu_args* arguments) {
    struct sim_pdd* pdd = sim_pdd_by_id(process, arguments->gpu_id);

    long result = pdd ? sim_allocate(pdd, arguments, 0) : -EINVAL;

    if (!result && arguments->flags & (KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP)) {
        arguments->mmap_offset = sim_user_mmap_offset(arguments->mmap_offset, pdd);
    }
    return result;
}

static long free_memory(struct sim_process* process, const struct kfd_ioctl_free_memory_of_gpu_args* arguments) {
    struct sim_pdd* pdd;
    struct sim_allocation* allocation = sim_allocation_by_handle(process, arguments->handle, &pdd);

    if (process->event_page_handle && arguments->handle == process->event_page_handle) {
        return -EBUSY;
    }
    if (!allocation) {
        return -EINVAL;
    }
    /* amdgpu_amdkfd_gpuvm_free_memory_of_gpu() of Linux 6.1 checks this. */
    if (allocation->mapped) {
        return -EBUSY;
    }
    idr_remove(&pdd->allocations, lower_32_bits(arguments->handle));
    allocation_free(pdd, allocation);
    return 0;
}

/* Counts the finished GPUs, so that an interrupted call continues there. */
static long change_mapping(struct sim_process* process, struct kfd_ioctl_map_memory_to_gpu_args* arguments, bool map) {
    struct sim_pdd *owner, *pdd;
    struct sim_allocation* allocation = sim_allocation_by_handle(process, arguments->handle, &owner);
    const u32 __user* ids = u64_to_user_ptr(arguments->device_ids_array_ptr);

    if (!allocation || !arguments->n_devices || arguments->n_success > arguments->n_devices) {
        return -EINVAL;
    }
    for (; arguments->n_success < arguments->n_devices; arguments->n_success++) {
        long result;
        u32 id;

        if (get_user(id, ids + arguments->n_success)) {
            return -EFAULT;
        }
        pdd = sim_pdd_by_id(process, id);
        if (!pdd) {
            return -EINVAL;
        }
        if (map) {
            result = sim_allocation_map(allocation, pdd);
            if (result) {
                return result;
            }
        } else {
            /*
             * amdgpu_amdkfd_gpuvm_unmap_memory_from_gpu() of Linux 6.1 returns this for memory without a mapping there.
             */
            if (!(allocation->mapped & BIT(pdd->gpu->index))) {
                return -EINVAL;
            }
            unmap(process, allocation, pdd->gpu->index);
        }
    }
    return 0;
}

static long dmabuf_info(struct kfd_ioctl_get_dmabuf_info_args* arguments) {
    struct dma_buf* buffer = dma_buf_get(arguments->dmabuf_fd);
    struct drm_gem_object* object;
    long result = -EINVAL;

    if (IS_ERR(buffer)) {
        return PTR_ERR(buffer);
    }
    if (buffer->owner == THIS_MODULE) {
        object = buffer->priv;
        arguments->size = object->size;
        arguments->gpu_id = sim_gpu_of(object->dev)->properties.gpu_id;
        arguments->flags = sim_bo_of(object)->domains & AMDGPU_GEM_DOMAIN_VRAM ? KFD_IOC_ALLOC_MEM_FLAGS_VRAM
                                                                               : KFD_IOC_ALLOC_MEM_FLAGS_GTT;
        arguments->metadata_size = 0;
        result = 0;
    }
    dma_buf_put(buffer);
    return result;
}

/*
 * Makes an allocation of a buffer that exists, with the number `id` unless that is 0. Returns its number or an error.
 * Uses up the caller's reference to the buffer.
 */
int sim_allocation_import(struct sim_pdd* pdd, struct drm_gem_object* object, u64 address, int id) {
    struct sim_allocation* allocation = kzalloc(sizeof(*allocation), GFP_KERNEL);

    if (!allocation) {
        drm_gem_object_put(object);
        return -ENOMEM;
    }
    allocation->bo = sim_bo_of(object);
    hold_handle(object);
    allocation->address = address;
    allocation->size = object->size;
    allocation->flags = (allocation->bo->domains & AMDGPU_GEM_DOMAIN_VRAM ? KFD_IOC_ALLOC_MEM_FLAGS_VRAM
                                                                          : KFD_IOC_ALLOC_MEM_FLAGS_GTT) |
                        KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE | KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE;
    if (drm_gem_create_mmap_offset(object) || drm_vma_node_allow(&object->vma_node, drm_file_of(pdd))) {
        release_handle(object);
        drm_gem_object_put(object);
        kfree(allocation);
        return -ENOMEM;
    }
    id = idr_alloc(&pdd->allocations, allocation, id ?: 1, id ? id + 1 : 0, GFP_KERNEL);
    if (id < 0) {
        allocation_free(pdd, allocation);
    }
    return id;
}

/* Imports a dma-buf of the same GPU only, as hardware of these kernels does. */
static long import(struct sim_process* process, struct kfd_ioctl_import_dmabuf_args* arguments) {
    struct sim_pdd* pdd = sim_pdd_by_id(process, arguments->gpu_id);
    struct drm_gem_object* object;
    struct dma_buf* buffer;
    int id;

    if (!pdd || !pdd->vm || offset_in_page(arguments->va_addr)) {
        return -EINVAL;
    }
    buffer = dma_buf_get(arguments->dmabuf_fd);
    if (IS_ERR(buffer)) {
        return PTR_ERR(buffer);
    }
    object = drm_gem_prime_import(&pdd->gpu->drm, buffer);
    dma_buf_put(buffer);
    if (IS_ERR(object)) {
        return PTR_ERR(object);
    }
    if (object->import_attach) {
        drm_gem_object_put(object);
        return -EINVAL;
    }
    id = sim_allocation_import(pdd, object, arguments->va_addr, 0);
    if (id < 0) {
        return id;
    }
    arguments->handle = (u64)pdd->user_gpu_id << 32 | id;
    return 0;
}

/* The handle contains the GPU's real id: kfd_ioctl_export_dmabuf() of Linux 6.4 and 6.18. */
static long export(struct sim_process* process, struct export_dmabuf_arguments* arguments) {
    const struct sim_gpu* gpu = sim_gpu_by_id(arguments->handle >> 32);
    struct sim_allocation* allocation =
        gpu ? idr_find(&process->pdds[gpu->index].allocations, lower_32_bits(arguments->handle)) : NULL;
    struct dma_buf* buffer;
    int fd;

    /* Linux 6.4 added this ioctl. */
    if (!allocation || !allocation->bo || allocation->bo->user_mm || sim_interface < 604) {
        return -EINVAL;
    }
    buffer = sim_allocation_export(allocation, arguments->flags);
    if (IS_ERR(buffer)) {
        return PTR_ERR(buffer);
    }
    fd = dma_buf_fd(buffer, arguments->flags & (O_CLOEXEC | O_ACCMODE));
    if (fd < 0) {
        dma_buf_put(buffer);
        return fd;
    }
    arguments->dmabuf_fd = fd;
    return 0;
}

static long available(struct sim_process* process, struct kfd_ioctl_get_available_memory_args* arguments) {
    const struct sim_pdd* pdd = sim_pdd_by_id(process, arguments->gpu_id);

    if (!pdd) {
        return -EINVAL;
    }
    arguments->available = pdd->gpu->properties.vram_size - atomic64_read(&pdd->gpu->vram_used);
    return 0;
}

long sim_kfd_memory_ioctl(struct sim_process* process, unsigned int number, void* data) {
    long result = -EINVAL;

    mutex_lock(&process->lock);
    switch (number) {
        case 0x16:
            result = allocate(process, data);
            break;
        case 0x17:
            result = free_memory(process, data);
            break;
        case 0x18:
        case 0x19:
            result = change_mapping(process, data, number == 0x18);
            break;
        case 0x1c:
            result = dmabuf_info(data);
            break;
        case 0x1d:
            result = import(process, data);
            break;
        case 0x23:
            result = available(process, data);
            break;
        case 0x24:
            result = export(process, data);
            break;
        default:
            break;
    }
    mutex_unlock(&process->lock);
    return result;
}
