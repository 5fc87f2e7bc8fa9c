/* SPDX-License-Identifier: GPL-2.0-only */
/* Objects behind /dev/kfd. They belong to an address space (mm), not to a descriptor: see kfd_process.c. */
#ifndef AMDGPU_SIM_KFD_H
#define AMDGPU_SIM_KFD_H

#include <linux/idr.h>
#include <linux/mmu_notifier.h>
#include <linux/workqueue.h>
#include <uapi/linux/kfd_ioctl.h>

#include "sim.h"

/* Bits of mmap offsets of /dev/kfd that hold the memory kind and the GPU. */
#define SIM_MMAP_TYPE_SHIFT 62
#define SIM_MMAP_MMIO 0ull
#define SIM_MMAP_EVENTS 2ull
#define SIM_MMAP_DOORBELL 3ull
#define SIM_MMAP_GPU_SHIFT 46
#define SIM_MMAP_GPU_MASK 0xffffull

#define SIM_DOORBELL_BYTES 8192u /* size for one process on one GPU */
#define SIM_DOORBELLS (SIM_DOORBELL_BYTES / 8)
#define SIM_EVENT_PAGE_BYTES (KFD_SIGNAL_EVENT_LIMIT * 8)
#define SIM_FIRST_OTHER_EVENT 0x80000000u /* first id of events that aren't signals */
#define SIM_MAX_QUEUES 1024
#define SIM_MAX_XCCS 8 /* dies of a GPU; each has a part of a compute queue's state */

struct sim_process;

/* State of a process on one GPU. */
struct sim_pdd {
    struct sim_gpu* gpu;
    bool present;    /* the device cgroup allowed the GPU when the process first opened /dev/kfd */
    u32 user_gpu_id; /* GPU id that the process uses; differs from the GPU's id after a restore elsewhere */
    struct file* drm_file;
    struct sim_vm* vm;
    struct idr allocations;
    void* doorbells;
    DECLARE_BITMAP(doorbells_used, SIM_DOORBELLS);
    struct kobject* stats; /* folder in sysfs */
    struct kobj_attribute evicted_file;
    u64 evicted_since;  /* jiffies, 0 without an address space at that time */
    atomic64_t evicted; /* jiffies for which the queues stood still, updated when they start */
};

struct sim_allocation {
    struct sim_bo* bo; /* NULL for doorbells and MMIO */
    u64 address, size, user_address;
    u32 flags;
    u32 mapped;                 /* one bit for each GPU */
    struct sim_ipc* ipc;        /* AMD's driver: handle by which processes share the memory, or NULL */
    bool imported;              /* by that handle */
    struct list_head user_link; /* list of memory of the process */
};

struct sim_queue {
    struct sim_process* process;
    struct sim_pdd* pdd;
    struct task_struct* worker;
    struct mutex lock; /* held while a packet is executed */
    struct kfd_ioctl_create_queue_args arguments;
    u32 doorbell;
    u32 evictions; /* the queue runs if 0 */
    bool faulted;
    u64 read, write;        /* since the queue's creation, in bytes, dwords or packets by kind of queue */
    u64 rung;               /* last value of the doorbell */
    int sdma;               /* hardware queue of an SDMA queue; negative: none */
    struct kobject* folder; /* folder in sysfs */
    struct kobj_attribute gpu_file;
    u64 xcc_state[SIM_MAX_XCCS];
};

struct sim_event {
    u32 id, type, auto_reset, node_id;
    bool signaled;
    struct kfd_hsa_memory_exception_data memory;
};

struct sim_range {
    struct list_head link;
    u64 start, last; /* page numbers */
    u32 preferred, prefetch, flags, granularity;
    u32 access, in_place; /* bits for GPUs */
};

struct sim_process {
    struct list_head link;
    struct kref references;
    struct mmu_notifier notifier;
    struct mm_struct* mm;
    struct task_struct* leader;
    struct work_struct release;
    struct mutex lock;
    bool ending;
    bool paused;
    bool xnack;
    bool awaits_resume; /* restored, before RESUME */
    u32 evictions;
    bool out_of_room; /* its memory is evicted from video memory, see sim_evict_all() */
    bool secondary;   /* context of one descriptor, beside the process of its address space */
    struct sim_pdd pdds[SIM_MAX_GPUS];
    struct idr queues;
    spinlock_t event_lock;
    wait_queue_head_t event_wait;
    struct idr events;
    u64 event_page_handle; /* buffer of the program with the event slots; 0: the kernel has them */
    u64* event_page;
    struct mutex range_lock;
    struct list_head ranges;
    struct list_head restored_ranges; /* from RESTORE to RESUME */
    spinlock_t user_lock;             /* taken in notifiers, so no other lock is taken inside */
    struct list_head user_memory;
    struct work_struct user_changed;
    struct delayed_work resume;
    struct kobject* folder;       /* folder in sysfs */
    struct kobject* queue_folder; /* its subfolder with the queues */
};

/* kfd_process.c */
int sim_processes_init(void);
void sim_processes_exit(void);
struct sim_process* sim_process_open(void);
struct sim_process* sim_process_find(struct pid* tgid);
void sim_process_put(struct sim_process* process);
struct sim_pdd* sim_pdd_by_id(struct sim_process* process, u32 user_gpu_id);
int sim_pdd_acquire(struct sim_pdd* pdd, int drm_fd);
unsigned int sim_process_count(void);
struct sim_process* sim_process_second(void);
void sim_evict_all(unsigned int milliseconds);
unsigned int sim_pdd_count(const struct sim_process* process);
void sim_process_look_up_again(struct sim_process* process);
void sim_process_resume_later(struct sim_process* process, unsigned int milliseconds);
extern struct kobject* sim_proc_folder;

/* kfd_notifier.c */
int sim_memory_changes(struct mmu_notifier* notifier, const struct mmu_notifier_range* range);
void sim_look_up_again(struct work_struct* work);
void sim_user_memory_added(struct sim_process* process, struct sim_allocation* allocation);
void sim_user_memory_gone(struct sim_process* process, struct sim_allocation* allocation);
void sim_look_up_user_memory(struct sim_process* process);
u64 sim_notifications(void);         /* number of changes of memory that GPUs use */
u64 sim_notifications_blocked(void); /* the same between RESTORE and RESUME */
u64 sim_user_pages_missing(void);    /* ranges that were not mapped at RESUME */
void sim_notifications_reset(void);

/* kfd_memory.c */
u64 sim_mmap_offset(u64 type, const struct sim_pdd* pdd);
u64 sim_user_mmap_offset(u64 offset, const struct sim_pdd* pdd);
int sim_allocate(struct sim_pdd* pdd, struct kfd_ioctl_alloc_memory_of_gpu_args* arguments, int id);
struct sim_allocation* sim_allocation_by_handle(struct sim_process* process, u64 handle, struct sim_pdd** pdd);
int sim_allocation_map(struct sim_allocation* allocation, struct sim_pdd* pdd);
int sim_allocation_import(struct sim_pdd* pdd, struct drm_gem_object* object, u64 address, int id);
u64 sim_allocation_offset(const struct sim_allocation* allocation, const struct sim_pdd* pdd);
struct dma_buf* sim_allocation_export(struct sim_allocation* allocation, int flags);
void sim_allocations_free(struct sim_pdd* pdd);
long sim_kfd_memory_ioctl(struct sim_process* process, unsigned int number, void* data);

/* kfd_ipc.c: handles by which processes share memory, in AMD's driver only */
#define SIM_IPC_IMPORT 0x80
#define SIM_IPC_EXPORT 0x81
struct sim_ipc {
    struct list_head link;
    struct kref references; /* of allocations with this handle */
    struct sim_bo* bo;      /* lives as long as one of these allocations */
    u32 handle[4], flags;
};
long sim_kfd_ipc_ioctl(struct sim_process* process, unsigned int number, void* data);
int sim_ipc_join(struct sim_pdd* pdd, struct kfd_ioctl_alloc_memory_of_gpu_args* arguments, int id, const u32* handle,
                 u32 flags, bool imported);
void sim_ipc_put(struct sim_ipc* ipc);
unsigned int sim_ipc_allocations(void); /* number of allocations with such a handle */

/* kfd_queue.c */
long sim_kfd_queue_ioctl(struct sim_process* process, unsigned int number, void* data);
/* State of a queue in a checkpoint. */
struct sim_queue_state {
    u32 doorbell;
    s32 sdma;
    u64 read, write;
    u64 xcc_state[SIM_MAX_XCCS];
};
int sim_queue_restore(struct sim_process* process, const struct kfd_ioctl_create_queue_args* arguments,
                      const struct sim_queue_state* state);
struct sim_queue_state sim_queue_save(const struct sim_queue* queue);
void sim_queues_give_back(struct sim_process* process);
void sim_queues_lose(struct sim_process* process);
void sim_queues_evict(struct sim_process* process);
void sim_queues_resume(struct sim_process* process);
void sim_queues_free(struct sim_process* process);

/* kfd_event.c */
long sim_kfd_event_ioctl(struct sim_process* process, unsigned int number, void* data);
void sim_event_raise(struct sim_process* process, u32 id);
void sim_event_memory_fault(struct sim_process* process, u64 address, u32 user_gpu_id);
int sim_event_restore(struct sim_process* process, const struct sim_event* event);
void sim_events_free(struct sim_process* process);

/* kfd_svm.c */
long sim_kfd_svm_ioctl(struct sim_process* process, struct kfd_ioctl_svm_args* arguments);
bool sim_svm_always_mapped(struct sim_pdd* pdd, u64 address, u64 size);
bool sim_svm_allowed(void* pdd, u64 address, bool write, u64* end);
int sim_range_split_any(struct sim_process* process);
int sim_ranges_resume(struct sim_process* process);
void sim_ranges_free(struct sim_process* process);
struct sim_process* sim_process_of(struct sim_pdd* pdd);

/* kfd_criu.c */
long sim_kfd_criu(struct sim_process* process, struct kfd_ioctl_criu_args* arguments);

#endif
