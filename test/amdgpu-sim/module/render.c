// SPDX-License-Identifier: GPL-2.0-only
/* The render node: its open function, and the ioctls for buffers and GPU mappings. */
#include <drm/drm_drv.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_prime.h>
#include <drm/drm_syncobj.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include <uapi/drm/amdgpu_drm.h>

#include "sim.h"

/* Flags that amdgpu_gem_create_ioctl() of Linux 6.18 accepts. Other flags are internal to the driver. */
#define KNOWN_CREATE_FLAGS                                                                                      \
    (AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED | AMDGPU_GEM_CREATE_NO_CPU_ACCESS | AMDGPU_GEM_CREATE_CPU_GTT_USWC | \
     AMDGPU_GEM_CREATE_VRAM_CLEARED | AMDGPU_GEM_CREATE_VM_ALWAYS_VALID | AMDGPU_GEM_CREATE_EXPLICIT_SYNC |     \
     AMDGPU_GEM_CREATE_ENCRYPTED | 1ull << 12 /* DISCARDABLE */ | 1ull << 16 /* GFX12_DCC */)

static struct sim_bo* lookup(struct drm_file* file, u32 handle) {
    struct drm_gem_object* object = drm_gem_object_lookup(file, handle);

    return object ? sim_bo_of(object) : NULL;
}

static int gem_create(struct drm_device* drm, void* data, struct drm_file* file) {
    union drm_amdgpu_gem_create* arguments = data;
    struct drm_amdgpu_gem_create_in in = arguments->in;
    struct sim_bo* bo;
    u32 handle;
    int result;

    if ((in.domain_flags & ~KNOWN_CREATE_FLAGS) || !in.domains || (in.domains & ~(u64)AMDGPU_GEM_DOMAIN_MASK)) {
        return -EINVAL;
    }
    bo = sim_bo_create(sim_gpu_of(drm), in.bo_size, in.domains, in.domain_flags);
    if (IS_ERR(bo)) {
        return PTR_ERR(bo);
    }
    bo->alignment = PAGE_ALIGN(in.alignment);
    result = drm_gem_handle_create(file, sim_gem(bo), &handle);
    sim_bo_put(bo);
    if (result) {
        return result;
    }
    memset(arguments, 0, sizeof(*arguments));
    arguments->out.handle = handle;
    return 0;
}

/* Returns 0 if one mapping of the caller has the whole range: amdgpu_ttm_tt_get_user_pages() of Linux 6.1. */
static int has_mapping(const struct drm_amdgpu_gem_userptr* arguments) {
    const struct vm_area_struct* vma;
    int result = 0;

    mmap_read_lock(current->mm);
    vma = vma_lookup(current->mm, arguments->addr);
    if (!vma || arguments->size > vma->vm_end - arguments->addr) {
        result = -EFAULT;
    } else if ((arguments->flags & AMDGPU_GEM_USERPTR_ANONONLY) && vma->vm_file) {
        result = -EPERM;
    }
    mmap_read_unlock(current->mm);
    return result;
}

/* The rules are those of amdgpu_gem_userptr_ioctl() of amdgpu_gem.c (Linux 6.1 to 7.3). */
static int gem_userptr(struct drm_device* drm, void* data, struct drm_file* file) {
    const u32 known = AMDGPU_GEM_USERPTR_READONLY | AMDGPU_GEM_USERPTR_ANONONLY | AMDGPU_GEM_USERPTR_VALIDATE |
                      AMDGPU_GEM_USERPTR_REGISTER;
    struct drm_amdgpu_gem_userptr* arguments = data;
    struct sim_bo* bo;
    int result;

    if (offset_in_page(arguments->addr | arguments->size) || (arguments->flags & ~known)) {
        return -EINVAL;
    }
    if (!(arguments->flags & (AMDGPU_GEM_USERPTR_READONLY | AMDGPU_GEM_USERPTR_REGISTER))) {
        return -EACCES;
    }
    if (!access_ok(u64_to_user_ptr(arguments->addr), arguments->size)) {
        return -EFAULT;
    }
    if (arguments->flags & AMDGPU_GEM_USERPTR_VALIDATE) {
        result = has_mapping(arguments);
        if (result) {
            return result;
        }
    }
    bo = sim_bo_create_user(sim_gpu_of(drm), arguments->addr, arguments->size, current->mm);
    if (IS_ERR(bo)) {
        return PTR_ERR(bo);
    }
    result = drm_gem_handle_create(file, sim_gem(bo), &arguments->handle);
    sim_bo_put(bo);
    return result;
}

static int gem_mmap(struct drm_device* drm, void* data, struct drm_file* file) {
    union drm_amdgpu_gem_mmap* arguments = data;
    struct sim_bo* bo = lookup(file, arguments->in.handle);
    int result;

    if (!bo) {
        return -ENOENT;
    }
    result =
        bo->user_mm || (bo->flags & AMDGPU_GEM_CREATE_NO_CPU_ACCESS) ? -EPERM : drm_gem_create_mmap_offset(sim_gem(bo));
    if (!result) {
        arguments->out.addr_ptr = drm_vma_node_offset_addr(&sim_gem(bo)->vma_node);
    }
    sim_bo_put(bo);
    return result;
}

static int gem_va(struct drm_device* drm, void* data, struct drm_file* file) {
    const struct drm_amdgpu_gem_va* arguments = data;
    const u32 known = AMDGPU_VM_DELAY_UPDATE | AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE |
                      AMDGPU_VM_PAGE_EXECUTABLE | AMDGPU_VM_MTYPE_MASK | AMDGPU_VM_PAGE_NOALLOC;
    struct sim_file* own = file->driver_priv;
    u32 flags = arguments->flags & ~AMDGPU_VM_DELAY_UPDATE;
    u64 address = arguments->va_address & SIM_HOLE_MASK;
    struct sim_bo* bo;
    int result;

    if (arguments->va_address >= SIM_HOLE_BEGIN && arguments->va_address < SIM_HOLE_END) {
        return -EINVAL;
    }

    if (arguments->flags & ~known) {
        return -EINVAL;
    }
    if (arguments->operation == AMDGPU_VA_OP_CLEAR) {
        return sim_vm_clear(own->vm, address, arguments->map_size);
    }
    bo = lookup(file, arguments->handle);
    if (!bo) {
        return -ENOENT;
    }
    switch (arguments->operation) {
        case AMDGPU_VA_OP_MAP:
            result = sim_vm_map(own->vm, bo, address, arguments->map_size, arguments->offset_in_bo, flags);
            break;
        case AMDGPU_VA_OP_REPLACE:
            result = sim_vm_replace(own->vm, bo, address, arguments->map_size, arguments->offset_in_bo, flags);
            break;
        case AMDGPU_VA_OP_UNMAP:
            result = sim_vm_unmap(own->vm, bo, address);
            break;
        default:
            result = -EINVAL;
    }
    sim_bo_put(bo);
    return result;
}

/* amdgpu_gem_metadata_ioctl() of Linux 6.1: the driver stores the metadata, and uses little of it. */
static int gem_metadata(struct drm_device* drm, void* data, struct drm_file* file) {
    struct drm_amdgpu_gem_metadata* arguments = data;
    struct sim_bo* bo = lookup(file, arguments->handle);
    int result = 0;

    if (!bo) {
        return -ENOENT;
    }
    switch (arguments->op) {
        case AMDGPU_GEM_METADATA_OP_GET_METADATA:
            arguments->data.tiling_info = bo->tiling;
            arguments->data.flags = bo->note_flags;
            arguments->data.data_size_bytes = bo->note_size;
            memcpy(arguments->data.data, bo->note, sizeof(bo->note));
            break;
        case AMDGPU_GEM_METADATA_OP_SET_METADATA:
            if (arguments->data.data_size_bytes > sizeof(bo->note)) {
                result = -EINVAL;
                break;
            }
            bo->tiling = arguments->data.tiling_info;
            bo->note_flags = arguments->data.flags;
            bo->note_size = arguments->data.data_size_bytes;
            memcpy(bo->note, arguments->data.data, bo->note_size);
            break;
        default:
            result = -EINVAL;
    }
    sim_bo_put(bo);
    return result;
}

static int answer(const struct drm_amdgpu_info* arguments, const void* data, size_t size) {
    return copy_to_user(u64_to_user_ptr(arguments->return_pointer), data, min_t(size_t, size, arguments->return_size))
               ? -EFAULT
               : 0;
}

static int info(struct drm_device* drm, void* data, struct drm_file* file) {
    const struct drm_amdgpu_info* arguments = data;
    const struct sim_gpu* gpu = sim_gpu_of(drm);
    u64 used = atomic64_read(&gpu->vram_used), vram = gpu->properties.vram_size;

    switch (arguments->query) {
        case AMDGPU_INFO_ACCEL_WORKING: {
            u32 yes = 1;

            return answer(arguments, &yes, sizeof(yes));
        }
        case AMDGPU_INFO_DEV_INFO: {
            struct drm_amdgpu_info_device device = {
                .device_id = gpu->properties.device_id,
                .family = sim_family,
                .num_shader_engines = 8,
                .num_shader_arrays_per_engine = 1,
                .gpu_counter_freq = 100000,
                .cu_active_number = gpu->properties.simd_count / 4,
                .virtual_address_offset = 2 << 20,
                .virtual_address_max = 1ull << 47,
                .virtual_address_alignment = PAGE_SIZE,
                .pte_fragment_size = 2 << 20,
                .gart_page_size = PAGE_SIZE,
                .wave_front_size = 64,
                .high_va_offset = 0xffff800000000000ull,
                .high_va_max = 0xffffffffffe00000ull,
            };

            return answer(arguments, &device, sizeof(device));
        }
        case AMDGPU_INFO_READ_MMR_REG: { /* tiling registers: the simulator has none */
            u32 zero[128] = {};

            if (arguments->read_mmr_reg.count > ARRAY_SIZE(zero)) {
                return -EINVAL;
            }
            return answer(arguments, zero, arguments->read_mmr_reg.count * sizeof(u32));
        }
        case AMDGPU_INFO_VRAM_GTT: {
            struct drm_amdgpu_info_vram_gtt sizes = {
                .vram_size = vram, .vram_cpu_accessible_size = vram, .gtt_size = vram};

            return answer(arguments, &sizes, sizeof(sizes));
        }
        case AMDGPU_INFO_VRAM_USAGE:
            return answer(arguments, &used, sizeof(used));
        case AMDGPU_INFO_MEMORY: {
            struct drm_amdgpu_heap_info heap = {
                .total_heap_size = vram, .usable_heap_size = vram, .heap_usage = used, .max_allocation = vram};
            struct drm_amdgpu_memory_info memory = {
                .vram = heap,
                .cpu_accessible_vram = heap,
                .gtt = {.total_heap_size = vram, .usable_heap_size = vram, .max_allocation = vram}};

            return answer(arguments, &memory, sizeof(memory));
        }
        case AMDGPU_INFO_HW_IP_COUNT: {
            u32 count = arguments->query_hw_ip.type == AMDGPU_HW_IP_DMA && sim_kernel_rings;

            return answer(arguments, &count, sizeof(count));
        }
        case AMDGPU_INFO_HW_IP_INFO: {
            struct drm_amdgpu_info_hw_ip ip = {};

            /* Rings that programs may not use aren't counted (amdgpu_hw_ip_info() of amdgpu_kms.c, Linux 6.16). */
            if (arguments->query_hw_ip.type == AMDGPU_HW_IP_DMA && sim_kernel_rings) {
                ip = (struct drm_amdgpu_info_hw_ip){.hw_ip_version_major = 4,
                                                    .available_rings = BIT(SIM_RINGS) - 1,
                                                    .ib_start_alignment = 256,
                                                    .ib_size_alignment = 4};
            }
            return answer(arguments, &ip, sizeof(ip));
        }
        default:
            pr_debug("amdgpu_sim: query 0x%x has no answer\n", arguments->query);
            return -EINVAL;
    }
}

#define ENTRY(name, function) \
    [DRM_##name] = {.cmd = DRM_IOCTL_##name, .func = function, .flags = DRM_RENDER_ALLOW | DRM_AUTH}
static const struct drm_ioctl_desc ioctls[] = {
    ENTRY(AMDGPU_GEM_CREATE, gem_create),
    ENTRY(AMDGPU_GEM_MMAP, gem_mmap),
    ENTRY(AMDGPU_CTX, sim_ctx),
    ENTRY(AMDGPU_BO_LIST, sim_bo_list),
    ENTRY(AMDGPU_CS, sim_cs),
    ENTRY(AMDGPU_INFO, info),
    ENTRY(AMDGPU_GEM_METADATA, gem_metadata),
    ENTRY(AMDGPU_GEM_WAIT_IDLE, sim_gem_wait_idle),
    ENTRY(AMDGPU_GEM_VA, gem_va),
    ENTRY(AMDGPU_WAIT_CS, sim_wait_cs),
    ENTRY(AMDGPU_GEM_USERPTR, gem_userptr),
    /*
     * This kernel's headers lack these ioctls or have smaller ones. DRM fills the fields that an older program omits.
     */
    [DRM_AMDGPU_GEM_OP] = {.cmd = SIM_IOCTL_GEM_OP, .func = sim_gem_op, .flags = DRM_RENDER_ALLOW | DRM_AUTH},
    [SIM_GEM_LIST_HANDLES] = {.cmd = SIM_IOCTL_GEM_LIST_HANDLES,
                              .func = sim_gem_list_handles,
                              .flags = DRM_RENDER_ALLOW | DRM_AUTH},
    [SIM_GEM_LIST_CONTEXTS] = {.cmd = SIM_IOCTL_GEM_LIST_CONTEXTS,
                               .func = sim_gem_list_contexts,
                               .flags = DRM_RENDER_ALLOW | DRM_AUTH},
};

static long render_ioctl(struct file* file, unsigned int command, unsigned long argument) {
    unsigned int number = _IOC_NR(command);
    int result;

    if (_IOC_TYPE(command) == DRM_IOCTL_BASE) {
        result = number >= DRM_COMMAND_BASE && number < DRM_COMMAND_END
                     ? sim_point(SIM_POINT_DRM + number - DRM_COMMAND_BASE)
                     : sim_point_core(number);
        if (result) {
            return result;
        }
        if (number == SIM_GEM_CHANGE_HANDLE && sim_change_handle &&
            sim_interface >= 618) { /* DRM of this kernel lacks it */
            return sim_gem_change_handle(file->private_data, argument);
        }
    }
    return drm_ioctl(file, command, argument);
}

static int render_open(struct drm_device* drm, struct drm_file* file) {
    struct sim_file* own;
    int result = sim_point(SIM_POINT_OTHER + SIM_OPEN_RENDER);

    if (result) {
        return result;
    }
    own = kzalloc(sizeof(*own), GFP_KERNEL);
    if (!own) {
        return -ENOMEM;
    }
    own->vm = sim_vm_create(sim_gpu_of(drm));
    if (!own->vm) {
        kfree(own);
        return -ENOMEM;
    }
    mutex_init(&own->lock);
    idr_init_base(&own->contexts, 1);
    idr_init_base(&own->lists, 1);
    file->driver_priv = own;
    return 0;
}

static void render_close(struct drm_device* drm, struct drm_file* file) {
    struct sim_file* own = file->driver_priv;

    sim_submit_close(own);
    sim_vm_clear_all(own->vm);
    sim_vm_put(own->vm);
    mutex_destroy(&own->lock);
    kfree(own);
}

static const struct file_operations operations = {
    .owner = THIS_MODULE,
    .open = drm_open,
    .release = drm_release,
    .unlocked_ioctl = render_ioctl,
    .poll = drm_poll,
    .read = drm_read,
    .llseek = noop_llseek,
    .mmap = drm_gem_mmap,
};

struct drm_driver sim_driver = {
    .driver_features = DRIVER_GEM | DRIVER_RENDER | DRIVER_SYNCOBJ | DRIVER_SYNCOBJ_TIMELINE,
    .name = "amdgpu",
    .desc = "simulated, no hardware",
    .date = "20150101",
    .major = 3,
    .minor = 64,
    .fops = &operations,
    .ioctls = ioctls,
    .num_ioctls = ARRAY_SIZE(ioctls),
    .open = render_open,
    .postclose = render_close,
    .gem_create_object = sim_bo_allocate,
    .prime_handle_to_fd = drm_gem_prime_handle_to_fd,
    .prime_fd_to_handle = drm_gem_prime_fd_to_handle,
    .gem_prime_import_sg_table = sim_bo_import,
    .gem_prime_mmap = drm_gem_prime_mmap,
};
