// SPDX-License-Identifier: GPL-2.0-only
/* Buffers: GEM objects on shared memory of the kernel, imported dma-bufs, and memory of processes. */
#include <drm/drm_prime.h>
#include <drm/drm_vma_manager.h>
#include <linux/dma-buf.h>
#include <linux/file.h>
#include <linux/highmem.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <uapi/drm/amdgpu_drm.h>

#include "sim.h"

atomic_t sim_bo_count = ATOMIC_INIT(0);
static atomic64_t system_bytes = ATOMIC64_INIT(0);
static u64 system_peak;

/* Counts the bytes of buffers in system memory. */
static void account(s64 bytes) {
    u64 now = atomic64_add_return(bytes, &system_bytes);

    if (now > READ_ONCE(system_peak)) {
        WRITE_ONCE(system_peak, now); /* a concurrent update may be lost: good enough for a statistic */
    }
}

u64 sim_system_peak(void) {
    return READ_ONCE(system_peak);
}

void sim_system_peak_reset(void) {
    WRITE_ONCE(system_peak, atomic64_read(&system_bytes));
}

/*
 * On hardware a new buffer costs no time: video memory always exists, and the driver wipes it when a buffer is freed.
 * Here the processor must allocate and clear pages. With sim_keep_vram this driver keeps the memory of a freed buffer
 * for the next one of its size.
 */
struct kept_memory {
    struct list_head link;
    struct file* file;
    u64 size;
};

void sim_vram_init(struct sim_gpu* gpu) {
    mutex_init(&gpu->kept_lock);
    INIT_LIST_HEAD(&gpu->kept);
}

void sim_vram_release(struct sim_gpu* gpu) {
    struct kept_memory *memory, *next;

    list_for_each_entry_safe(memory, next, &gpu->kept, link) {
        fput(memory->file);
        kfree(memory);
    }
    INIT_LIST_HEAD(&gpu->kept);
}

static void keep_memory(struct sim_bo* bo) {
    struct sim_gpu* gpu = bo->charged;
    struct kept_memory* memory = kmalloc(sizeof(*memory), GFP_KERNEL);
    u64 i;

    if (!memory) {
        return;
    }
    for (i = 0; i < sim_gem(bo)->size >> PAGE_SHIFT; i++) {
        clear_highpage(bo->pages[i]);
    }
    memory->file = get_file(sim_gem(bo)->filp);
    memory->size = sim_gem(bo)->size;
    mutex_lock(&gpu->kept_lock);
    list_add(&memory->link, &gpu->kept);
    mutex_unlock(&gpu->kept_lock);
}

/* Must be called before any use of the buffer's memory. */
static void use_kept_memory(struct sim_gpu* gpu, struct sim_bo* bo) {
    struct kept_memory* memory;

    mutex_lock(&gpu->kept_lock);
    list_for_each_entry(memory, &gpu->kept, link) {
        if (memory->size == sim_gem(bo)->size) {
            list_del(&memory->link);
            swap(sim_gem(bo)->filp, memory->file);
            fput(memory->file);
            kfree(memory);
            break;
        }
    }
    mutex_unlock(&gpu->kept_lock);
}

static void bo_free(struct drm_gem_object* object) {
    struct sim_bo* bo = sim_bo_of(object);

    sim_bo_immovable(bo);
    if (bo->charged) {
        atomic64_sub(object->size, &bo->charged->vram_used);
    }
    if (bo->user_mm) {
        mmdrop(bo->user_mm);
    }
    if (object->import_attach) {
        kvfree(bo->pages);
    } else if (bo->pinned) {
        if (bo->charged && sim_keep_vram) {
            keep_memory(bo);
        }
        drm_gem_shmem_unpin(&bo->base);
        if (!bo->charged) {
            account(-(s64)object->size);
        }
    }
    atomic_dec(&sim_bo_count);
    drm_gem_shmem_free(&bo->base);
}

static atomic64_t migrations = ATOMIC64_INIT(0);

u64 sim_migrations(void) {
    return atomic64_read(&migrations);
}

/*
 * On a page fault the driver moves video memory beyond the processor's window into that window or to system memory. If
 * the memory is pinned, it can't (amdgpu_bo_fault_reserve_notify() of amdgpu_object.c, Linux 6.1).
 * The page follows from the mapping's offset, also in the second part of a split mapping
 * (ttm_bo_vm_fault_reserved() of ttm_bo_vm.c, Linux 6.1). The DRM helper would count from the start of the part.
 */
static vm_fault_t bo_fault(struct vm_fault* vmf) {
    struct sim_bo* bo = sim_bo_of(vmf->vma->vm_private_data);
    u64 page = vmf->pgoff - drm_vma_node_start(&sim_gem(bo)->vma_node);
    vm_fault_t result;

    if (READ_ONCE(sim_vram_pinned) && bo->charged) {
        return VM_FAULT_SIGBUS;
    }
    if (xchg(&bo->invisible, false)) {
        atomic64_inc(&migrations);
    }
    if (page >= sim_gem(bo)->size >> PAGE_SHIFT) {
        return VM_FAULT_SIGBUS;
    }
    mutex_lock(&bo->base.pages_lock);
    result = vmf_insert_pfn(vmf->vma, vmf->address, page_to_pfn(bo->pages[page]));
    mutex_unlock(&bo->base.pages_lock);
    return result;
}

static struct vm_operations_struct sim_bo_vm_ops;

void sim_bo_init(void) {
    sim_bo_vm_ops = drm_gem_shmem_vm_ops;
    sim_bo_vm_ops.fault = bo_fault;
}

static int bo_mmap(struct drm_gem_object* object, struct vm_area_struct* vma) {
    struct sim_bo* bo = sim_bo_of(object);
    int result = sim_point(SIM_POINT_OTHER + SIM_MMAP_RENDER);

    if (result) {
        return result;
    }
    if (bo->user_mm || (bo->flags & AMDGPU_GEM_CREATE_NO_CPU_ACCESS)) {
        return -EPERM;
    }
    result = drm_gem_shmem_object_mmap(object, vma);
    if (!result && !object->import_attach) {
        /* The kernel reads no such mapping, as with video memory. ttm_bo_mmap_obj() of Linux 6.1 sets these flags. */
        vma->vm_flags |= VM_IO | VM_DONTEXPAND | VM_DONTDUMP;
        vma->vm_ops = &sim_bo_vm_ops;
    }
    return result;
}

/*
 * amdgpu_gem_prime_export() of Linux 6.1 refuses memory of a process, and buffers that are valid in one address space
 * only.
 */
static struct dma_buf* bo_export(struct drm_gem_object* object, int flags) {
    struct sim_bo* bo = sim_bo_of(object);

    return bo->user_mm || (bo->flags & AMDGPU_GEM_CREATE_VM_ALWAYS_VALID) ? ERR_PTR(-EPERM)
                                                                          : drm_gem_prime_export(object, flags);
}

static const struct drm_gem_object_funcs bo_functions = {
    .export = bo_export,
    .free = bo_free,
    .print_info = drm_gem_shmem_object_print_info,
    .pin = drm_gem_shmem_object_pin,
    .unpin = drm_gem_shmem_object_unpin,
    .get_sg_table = drm_gem_shmem_object_get_sg_table,
    .vmap = drm_gem_shmem_object_vmap,
    .vunmap = drm_gem_shmem_object_vunmap,
    .mmap = bo_mmap,
    .vm_ops = &drm_gem_shmem_vm_ops,
};

/* Callback by which the DRM helper allocates objects of this driver. */
struct drm_gem_object* sim_bo_allocate(struct drm_device* drm, size_t size) {
    struct sim_bo* bo = kzalloc(sizeof(*bo), GFP_KERNEL);

    if (!bo) {
        return ERR_PTR(-ENOMEM);
    }
    sim_gem(bo)->funcs = &bo_functions;
    INIT_LIST_HEAD(&bo->movable);
    atomic_inc(&sim_bo_count);
    return sim_gem(bo);
}

static struct sim_bo* create(struct sim_gpu* gpu, u64 size) {
    struct drm_gem_shmem_object* object;

    if (!size || size > (64ull << 30)) {
        return ERR_PTR(-EINVAL);
    }
    object = drm_gem_shmem_create(&gpu->drm, PAGE_ALIGN(size));
    return IS_ERR(object) ? ERR_CAST(object) : sim_bo_of(&object->base);
}

/* Creates memory of the GPU, or of the system for it. It is zeroed and resident at once. */
struct sim_bo* sim_bo_create(struct sim_gpu* gpu, u64 size, u64 domains, u64 flags) {
    struct sim_bo* bo;
    int result;

    if (domains & AMDGPU_GEM_DOMAIN_VRAM) {
        if (atomic64_add_return(PAGE_ALIGN(size), &gpu->vram_used) > (s64)gpu->properties.vram_size) {
            atomic64_sub(PAGE_ALIGN(size), &gpu->vram_used);
            return ERR_PTR(-ENOMEM);
        }
    }
    bo = create(gpu, size);
    if (IS_ERR(bo)) {
        if (domains & AMDGPU_GEM_DOMAIN_VRAM) {
            atomic64_sub(PAGE_ALIGN(size), &gpu->vram_used);
        }
        return bo;
    }
    bo->domains = domains;
    bo->flags = flags;
    bo->invisible = domains & AMDGPU_GEM_DOMAIN_VRAM && !sim_vram_visible;
    bo->charged = domains & AMDGPU_GEM_DOMAIN_VRAM ? gpu : NULL;
    if (bo->charged) {
        use_kept_memory(gpu, bo);
    }
    result = drm_gem_shmem_pin(&bo->base);
    if (result) {
        sim_bo_put(bo);
        return ERR_PTR(result);
    }
    bo->pinned = true;
    if (!bo->charged) {
        account(sim_gem(bo)->size);
    }
    bo->pages = bo->base.pages;
    if (bo->charged) {
        sim_bo_movable(bo);
    }
    return bo;
}

/*
 * Creates a buffer of process memory. No page is pinned: an engine uses the process' page tables for each access. So it
 * always sees the same memory as the process, as hardware does with notifiers.
 */
struct sim_bo* sim_bo_create_user(struct sim_gpu* gpu, u64 address, u64 size, struct mm_struct* mm) {
    struct sim_bo* bo;

    if (!address || offset_in_page(address) || offset_in_page(size)) {
        return ERR_PTR(-EINVAL);
    }
    bo = create(gpu, size);
    if (IS_ERR(bo)) {
        return bo;
    }
    mmgrab(mm);
    bo->user_mm = mm;
    bo->user_address = address;
    bo->domains = AMDGPU_GEM_DOMAIN_CPU;
    return bo;
}

/* Imports a dma-buf of another GPU. */
struct drm_gem_object* sim_bo_import(struct drm_device* drm, struct dma_buf_attachment* attachment,
                                     struct sg_table* table) {
    struct drm_gem_object* object = drm_gem_shmem_prime_import_sg_table(drm, attachment, table);
    struct sim_bo* bo;
    unsigned long count;

    if (IS_ERR(object)) {
        return object;
    }
    bo = sim_bo_of(object);
    sim_bo_immovable(sim_bo_of(attachment->dmabuf->priv));
    count = object->size >> PAGE_SHIFT;
    bo->domains = AMDGPU_GEM_DOMAIN_GTT;
    bo->pages = kvcalloc(count, sizeof(*bo->pages), GFP_KERNEL);
    if (!bo->pages) {
        /* The caller still owns the table, so the object must not free it. */
        bo->base.sgt = NULL;
        sim_bo_put(bo);
        return ERR_PTR(-ENOMEM);
    }
    drm_prime_sg_to_page_array(table, bo->pages, count);
    return object;
}
