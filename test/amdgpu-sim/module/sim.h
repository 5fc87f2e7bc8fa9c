/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A simulated amdgpu and KFD driver: device nodes, ioctls and sysfs files without a GPU. Memory of the "GPU" is shared
 * memory of the kernel, and its engines are kernel threads. Documentation/amdgpu-simulator.md lists the differences to
 * hardware.
 */
#ifndef AMDGPU_SIM_H
#define AMDGPU_SIM_H

#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/drm_gem_shmem_helper.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

#define SIM_MAX_GPUS 8
#define SIM_RINGS 2 /* SDMA engines of each GPU for submissions, with a ring each */

struct dma_buf;
struct mm_struct;
struct sim_engine;

/* Properties of a simulated GPU, set by module parameters. */
struct sim_properties {
    u32 gpu_id;
    u32 device_id;
    u32 simd_count;
    u32 fw_version;
    u32 sdma_fw_version;
    u64 vram_size; /* bytes */
};

struct sim_gpu {
    struct drm_device drm;
    unsigned int index; /* position among the GPUs, from 0 */
    struct sim_properties properties;
    struct sim_engine* engines[SIM_RINGS];
    atomic_t contexts; /* number of open contexts */
    u32 resets;        /* resets of the GPU, each with loss of all video memory */
    int most_contexts;
    spinlock_t link_lock;
    u64 link_free;              /* time at which the link to the system has done all copies (ktime_get_ns()) */
    unsigned long sdma_used[2]; /* hardware queues of SDMA and XGMI engines that programs use */
    struct page* mmio;          /* page that MMIO_REMAP objects map */
    atomic64_t vram_used;       /* bytes */
    struct mutex kept_lock;
    struct list_head kept;   /* wiped memory of freed buffers (sim_keep_vram) */
    atomic64_t bytes_copied; /* by SDMA packets, including user queues */
    atomic64_t vm_faults;    /* accesses to addresses without a mapping for that kind of access */
    atomic64_t packets;      /* executed packets of user queues */
};

static inline struct sim_gpu* sim_gpu_of(struct drm_device* drm) {
    return container_of(drm, struct sim_gpu, drm);
}

/* main.c */
extern struct sim_gpu* sim_gpus[SIM_MAX_GPUS]; /* in the order of topology nodes */
extern unsigned int sim_gpu_count;
extern unsigned int sim_family; /* AMDGPU_FAMILY_* of all GPUs */
extern unsigned int sim_capability;
extern unsigned int sim_interface;
extern bool sim_change_handle;
extern bool sim_vram_pinned;
extern unsigned int sim_xccs;
extern bool sim_xgmi;
extern bool sim_vram_visible;
extern bool sim_plain_counts;
extern unsigned int sim_bandwidth;
extern bool sim_keep_vram;
extern bool sim_kernel_rings;
extern bool sim_dkms;
extern int sim_resume_delay;
extern int sim_resume_failures;
extern bool sim_evicted_counts;
extern unsigned int sim_hangs; /* so many of the next PROCESS_INFO find queues that don't stop */
extern unsigned int sim_private_version;
extern bool sim_list_contexts;
extern bool sim_free_copies;
extern bool sim_xnack;
void sim_reset_gpus(void);
extern unsigned int sim_split_ranges;
struct sim_gpu* sim_gpu_by_id(u32 gpu_id);
bool sim_gpu_allowed(const struct sim_gpu* gpu);

/* points.c: each ioctl passes a point, where it can be counted, delayed and made to fail. */
enum sim_point_group {
    SIM_POINT_KFD = 0,      /* + ioctl number, below 0x30 */
    SIM_POINT_CRIU = 0x30,  /* + operation */
    SIM_POINT_DRM = 0x40,   /* + number of the driver's ioctl, below 0x60 */
    SIM_POINT_CORE = 0xa0,  /* ioctls of DRM itself, in the order of the table in points.c */
    SIM_POINT_OTHER = 0xb0, /* points outside of ioctls, in the order of enum sim_other */
    SIM_POINTS = 0xb8
};
enum sim_other { SIM_OPEN_KFD, SIM_MMAP_KFD, SIM_OPEN_RENDER, SIM_MMAP_RENDER };
int sim_points_init(void);
void sim_points_exit(void);
int sim_point(unsigned int point);
int sim_point_core(unsigned int drm_ioctl_number);

/* buffer.c */
struct sim_bo {
    struct drm_gem_shmem_object base; /* must be first: the DRM helper frees this address */
    struct page** pages;              /* NULL for memory of a process */
    struct sim_gpu* charged;          /* GPU whose VRAM this occupies, or NULL */
    u64 domains, flags, alignment;
    u64 user_address; /* address in memory of a process */
    bool invisible;   /* video memory beyond the processor's window */
    struct mm_struct* user_mm;
    bool pinned;
    struct list_head movable; /* list of movable video memory; empty: the buffer doesn't move */
    u64 tiling, note_flags;   /* metadata of programs */
    u32 note_size, note[64];
};

static inline struct sim_bo* sim_bo_of(struct drm_gem_object* object) {
    return container_of(to_drm_gem_shmem_obj(object), struct sim_bo, base);
}
static inline struct drm_gem_object* sim_gem(struct sim_bo* bo) {
    return &bo->base.base;
}
static inline void sim_bo_get(struct sim_bo* bo) {
    drm_gem_object_get(sim_gem(bo));
}
static inline void sim_bo_put(struct sim_bo* bo) {
    drm_gem_object_put(sim_gem(bo));
}

struct sim_bo* sim_bo_create(struct sim_gpu* gpu, u64 size, u64 domains, u64 flags);
struct sim_bo* sim_bo_create_user(struct sim_gpu* gpu, u64 address, u64 size, struct mm_struct* mm);
struct drm_gem_object* sim_bo_allocate(struct drm_device* drm, size_t size);
struct drm_gem_object* sim_bo_import(struct drm_device* drm, struct dma_buf_attachment* attachment,
                                     struct sg_table* table);
void sim_bo_init(void);
void sim_vram_init(struct sim_gpu* gpu);
void sim_vram_release(struct sim_gpu* gpu);
extern atomic_t sim_bo_count;
u64 sim_migrations(void);  /* moves of video memory into the processor's window */
u64 sim_system_peak(void); /* peak of bytes of buffers in system memory */
void sim_system_peak_reset(void);

/* buffer_move.c */
void sim_bo_movable(struct sim_bo* bo);
void sim_bo_immovable(struct sim_bo* bo);
void sim_bo_move_all(void);
void sim_hold_places(void);
void sim_release_places(void);
u64 sim_moves(void);

/*
 * The GPU's address range has a hole like the processor's. The driver drops the bits above it when it stores an address
 * (amdgpu_gmc.h and amdgpu_gem_va_ioctl() of Linux 6.18).
 */
#define SIM_HOLE_BEGIN 0x0000800000000000ull
#define SIM_HOLE_END 0xffff800000000000ull
#define SIM_HOLE_MASK 0x0000ffffffffffffull

/* address_space.c: mappings of GPU addresses, for one render file */
struct sim_mapping {
    struct list_head link;
    struct sim_bo* bo; /* holds a reference */
    u64 start, size, offset, flags;
};

struct sim_vm {
    struct kref references;
    struct sim_gpu* gpu;
    struct mutex lock; /* protects the list; taken before a process's mmap_lock, never after */
    struct list_head mappings;
};

struct sim_vm* sim_vm_create(struct sim_gpu* gpu);
void sim_vm_put(struct sim_vm* vm);
void sim_vm_clear_all(struct sim_vm* vm);
int sim_vm_map(struct sim_vm* vm, struct sim_bo* bo, u64 start, u64 size, u64 offset, u64 flags);
int sim_vm_replace(struct sim_vm* vm, struct sim_bo* bo, u64 start, u64 size, u64 offset, u64 flags);
int sim_vm_unmap(struct sim_vm* vm, struct sim_bo* bo, u64 start);
int sim_vm_clear(struct sim_vm* vm, u64 start, u64 size);
bool sim_vm_is_one_mapping(struct sim_vm* vm, u64 start, u64 size);

/* access.c: memory access of engines and queues */
struct sim_svm_view {
    struct mm_struct* mm;
    bool (*allowed)(void* context, u64 address, bool write, u64* end);
    void* context;
};

struct sim_view {
    struct sim_vm* vm;
    const struct sim_svm_view* svm; /* NULL: none */
    struct sim_bo** resident;       /* buffers of a submission's list; NULL: all */
    unsigned int resident_count;
    u64 fault_address; /* out: address of a failed access */
};

int sim_read(struct sim_view* view, u64 address, void* buffer, u64 size);
int sim_write(struct sim_view* view, u64 address, const void* buffer, u64 size);
int sim_copy(struct sim_view* view, u64 to, u64 from, u64 size);

/* packets.c: execution of packets of an SDMA engine or a compute queue */
#define SIM_INTERRUPT_NONE U32_MAX
struct sim_packet_result {
    u32 dwords;    /* length of the packet; 0: the packet is unknown */
    u32 interrupt; /* event id to raise, or SIM_INTERRUPT_NONE */
    u64 copied;    /* bytes */
    int error;
};
struct sim_packet_result sim_sdma_packet(struct sim_view* view, const u32* packet, u32 available);
struct sim_packet_result sim_pm4_packet(struct sim_view* view, const u32* packet, u32 available);
struct sim_packet_result sim_aql_packet(struct sim_view* view, u64 address, bool* waits);
#define SIM_PACKET_MAX_DWORDS 64u

/* engine.c: the SDMA engines behind command submission */
struct sim_context {
    struct kref references;
    spinlock_t lock;
    wait_queue_head_t wait;
    struct sim_gpu* gpu;
    /* Sequence numbers. Each ring has its own (amdgpu_ctx_entity of amdgpu_ctx.h, Linux 6.1). */
    u64 submitted[SIM_RINGS], completed[SIM_RINGS];
    u64 failed[SIM_RINGS]; /* first failed sequence number; 0: none */
    int error;
    u32 resets; /* of the GPU when the context was created */
    s32 priority;
};

struct sim_job {
    struct list_head link;
    struct sim_vm* vm;
    struct sim_context* context;
    struct sim_bo** resident;
    unsigned int resident_count;
    u64 sequence, address;
    u32 bytes, ring;
};

struct sim_engine* sim_engine_create(struct sim_gpu* gpu, unsigned int ring);
u64 sim_engine_done(const struct sim_engine* engine);
void sim_engine_destroy(struct sim_engine* engine);
void sim_engine_submit(struct sim_engine* engine, struct sim_job* job);
void sim_job_free(struct sim_job* job);
struct sim_context* sim_context_create(struct sim_gpu* gpu);
void sim_context_put(struct sim_context* context);
void sim_account_copy(struct sim_gpu* gpu, u64 bytes);
void sim_gpu_reset_counts(struct sim_gpu* gpu);

/* render.c, submit.c, handles.c */
struct sim_file {
    struct sim_vm* vm;
    struct mutex lock;
    struct idr contexts, lists;
};
extern struct drm_driver sim_driver;
int sim_bo_list(struct drm_device* drm, void* data, struct drm_file* file);
int sim_ctx(struct drm_device* drm, void* data, struct drm_file* file);
int sim_cs(struct drm_device* drm, void* data, struct drm_file* file);
int sim_wait_cs(struct drm_device* drm, void* data, struct drm_file* file);
int sim_gem_wait_idle(struct drm_device* drm, void* data, struct drm_file* file);
void sim_submit_close(struct sim_file* file);
int sim_gem_list_contexts(struct drm_device* drm, void* data, struct drm_file* file);
int sim_gem_list_handles(struct drm_device* drm, void* data, struct drm_file* file);
int sim_gem_op(struct drm_device* drm, void* data, struct drm_file* file);
int sim_gem_change_handle(struct drm_file* file, unsigned long argument);
#define SIM_GEM_LIST_HANDLES 0x19
#define SIM_GEM_LIST_CONTEXTS 0x20
#define SIM_IOCTL_GEM_LIST_CONTEXTS DRM_IOWR(DRM_COMMAND_BASE + SIM_GEM_LIST_CONTEXTS, struct sim_list_contexts)
#define SIM_GEM_CHANGE_HANDLE 0xd2
#define SIM_IOCTL_GEM_LIST_HANDLES DRM_IOWR(DRM_COMMAND_BASE + SIM_GEM_LIST_HANDLES, struct sim_list_handles)
#define SIM_IOCTL_GEM_OP DRM_IOWR(DRM_COMMAND_BASE + DRM_AMDGPU_GEM_OP, struct sim_gem_op_arguments)

/* Structures that the headers of this kernel lack. */
struct sim_list_handles {
    u64 entries;
    u32 num_entries, padding;
};
struct sim_list_handles_entry {
    u32 gem_handle, flags;
    u64 size, preferred_domains, alloc_flags, alignment;
};
/* As in the series "amdgpu: checkpoint and restore of render nodes" of June 2026 (amd-gfx), which Linux lacks. */
struct sim_list_contexts {
    u64 contexts;
    u32 num_contexts, padding;
};
struct sim_list_contexts_entry {
    u32 handle, flags;
    s32 init_priority, override_priority;
    u32 pstate_flags, padding;
};
struct sim_gem_op_arguments {
    u32 handle, op;
    u64 value;
    u32 num_entries, padding;
};

/* topology.c */
#define SIM_GFX_VERSION 90010
#define SIM_SIMD_PER_CU 4
#define SIM_EOP_BYTES 4096u
/* Sizes of the area where a die saves the waves of a compute queue. */
struct sim_save_area {
    u32 control_stack, all, debugger;
};
struct sim_save_area sim_save_area_of(const struct sim_gpu* gpu);
int sim_topology_init(struct kobject* parent);
void sim_topology_exit(void);

/* kfd.c */
int sim_kfd_init(void);
void sim_kfd_exit(void);

#endif
