// SPDX-License-Identifier: GPL-2.0-only
/*
 * KFD processes: one for each address space that has opened /dev/kfd, as long as that address space exists. Closing the
 * descriptor ends nothing. Another descriptor refers to the same process. A forked child has none.
 */
#include <drm/drm_drv.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "kfd.h"

static LIST_HEAD(processes);
static DEFINE_MUTEX(processes_lock);
static struct workqueue_struct* releases;
struct kobject* sim_proc_folder;

/*
 * /sys/class/kfd/kfd/proc/PID/stats_GPU/evicted_ms: kfd_create_process_sysfs() and kfd_procfs_add_sysfs_stats() of
 * kfd_process.c (Linux 6.1).
 */
static ssize_t evicted_show(struct kobject* kobject, struct kobj_attribute* attribute, char* buffer) {
    struct sim_pdd* pdd = container_of(attribute, struct sim_pdd, evicted_file);

    return sysfs_emit(buffer, "%llu\n", jiffies64_to_msecs(atomic64_read(&pdd->evicted)));
}

static void remove_folder(struct sim_process* process) {
    unsigned int i;

    for (i = 0; i < sim_gpu_count; i++) {
        kobject_put(process->pdds[i].stats);
        process->pdds[i].stats = NULL;
    }
    kobject_put(process->queue_folder);
    process->queue_folder = NULL;
    kobject_put(process->folder);
    process->folder = NULL;
}

/* The caller holds processes_lock. Does without the files if they can't be made. */
static void make_folder(struct sim_process* process) {
    struct sim_process* other;
    char name[32];
    unsigned int i;

    list_for_each_entry(other, &processes, link) {
        if (other->leader->pid == process->leader->pid) {
            remove_folder(other); /* it has ended, and its release is about to run */
        }
    }
    scnprintf(name, sizeof(name), "%d", process->leader->pid);
    process->folder = kobject_create_and_add(name, sim_proc_folder);
    process->queue_folder = process->folder ? kobject_create_and_add("queues", process->folder) : NULL;
    for (i = 0; process->folder && i < sim_gpu_count; i++) {
        struct sim_pdd* pdd = &process->pdds[i];

        if (!pdd->present) {
            continue;
        }
        scnprintf(name, sizeof(name), "stats_%u", pdd->gpu->properties.gpu_id);
        pdd->stats = kobject_create_and_add(name, process->folder);
        sysfs_attr_init(&pdd->evicted_file.attr);
        pdd->evicted_file.attr.name = "evicted_ms";
        pdd->evicted_file.attr.mode = 0444;
        pdd->evicted_file.show = evicted_show;
        if (pdd->stats && sysfs_create_file(pdd->stats, &pdd->evicted_file.attr)) {
            pr_debug("amdgpu_sim: a process has no evicted_ms\n");
        }
    }
}

unsigned int sim_process_count(void) {
    unsigned int count = 0;
    struct list_head* at;

    mutex_lock(&processes_lock);
    list_for_each(at, &processes) {
        count++;
    }
    mutex_unlock(&processes_lock);
    return count;
}

static void process_free(struct kref* references) {
    struct sim_process* process = container_of(references, struct sim_process, references);
    unsigned int i;

    for (i = 0; i < sim_gpu_count; i++) {
        if (process->pdds[i].doorbells) {
            free_pages((unsigned long)process->pdds[i].doorbells, get_order(SIM_DOORBELL_BYTES));
        }
    }
    if (process->event_page) {
        free_pages((unsigned long)process->event_page, get_order(SIM_EVENT_PAGE_BYTES));
    }
    if (process->leader) {
        put_task_struct(process->leader);
    }
    kfree(process);
}

void sim_process_put(struct sim_process* process) {
    kref_put(&process->references, process_free);
}

/*
 * Frees the state of a process after its address space has ended. A work item does it: the last user of the address
 * space may be a queue's thread.
 */
static void release(struct work_struct* work) {
    struct sim_process* process = container_of(work, struct sim_process, release);
    unsigned int i;

    mutex_lock(&process->lock);
    sim_queues_free(process);
    sim_events_free(process);
    sim_ranges_free(process);
    for (i = 0; i < sim_gpu_count; i++) {
        struct sim_pdd* pdd = &process->pdds[i];

        sim_allocations_free(pdd);
    }
    for (i = 0; i < sim_gpu_count; i++) {
        struct sim_pdd* pdd = &process->pdds[i];

        if (pdd->vm) {
            sim_vm_put(pdd->vm);
            pdd->vm = NULL;
        }
        if (pdd->drm_file) {
            fput(pdd->drm_file);
            pdd->drm_file = NULL;
        }
    }
    mutex_unlock(&process->lock);
    mmu_notifier_unregister(&process->notifier, process->mm);
    if (cancel_delayed_work_sync(&process->resume)) {
        sim_process_put(process);
    }
    mutex_lock(&processes_lock);
    remove_folder(process);
    list_del(&process->link);
    mutex_unlock(&processes_lock);
    sim_process_put(process);
    module_put(THIS_MODULE); /* sim_processes_exit() waits for this work to return */
}

static void address_space_ends(struct mmu_notifier* notifier, struct mm_struct* mm) {
    struct sim_process* process = container_of(notifier, struct sim_process, notifier);

    if (!xchg(&process->ending, true)) {
        mutex_lock(&process->lock);
        sim_queues_give_back(process);
        mutex_unlock(&process->lock);
        queue_work(releases, &process->release);
    }
}

static const struct mmu_notifier_ops notifier_operations = {.release = address_space_ends,
                                                            .invalidate_range_start = sim_memory_changes};

/*
 * RESUME only schedules work, which looks up memory of the process and starts the queues:
 * amdgpu_amdkfd_criu_resume() of amdgpu_amdkfd_gpuvm.c (Linux 6.1).
 */
static void resume(struct work_struct* work) {
    struct sim_process* process = container_of(to_delayed_work(work), struct sim_process, resume);

    mutex_lock(&process->lock);
    if (!READ_ONCE(process->ending)) {
        /*
         * Without memory for the pages the work repeats itself (amdgpu_amdkfd_restore_userptr_worker() of
         * amdgpu_amdkfd_gpuvm.c, Linux 6.1).
         */
        if (READ_ONCE(sim_resume_failures) > 0) {
            WRITE_ONCE(sim_resume_failures, sim_resume_failures - 1);
            sim_process_resume_later(process, 1);
        } else {
            sim_look_up_user_memory(process);
            sim_queues_resume(process);
        }
    }
    mutex_unlock(&process->lock);
    sim_process_put(process);
}

void sim_process_resume_later(struct sim_process* process, unsigned int milliseconds) {
    kref_get(&process->references);
    if (!queue_delayed_work(system_wq, &process->resume, msecs_to_jiffies(milliseconds))) {
        sim_process_put(process);
    }
}

static struct sim_process* process_create(void) {
    struct sim_process* process = kzalloc(sizeof(*process), GFP_KERNEL);
    unsigned int i;
    int result = -ENOMEM;

    if (!process) {
        return ERR_PTR(-ENOMEM);
    }
    kref_init(&process->references);
    mutex_init(&process->lock);
    mutex_init(&process->range_lock);
    INIT_LIST_HEAD(&process->ranges);
    INIT_LIST_HEAD(&process->restored_ranges);
    INIT_WORK(&process->release, release);
    INIT_DELAYED_WORK(&process->resume, resume);
    INIT_WORK(&process->user_changed, sim_look_up_again);
    INIT_LIST_HEAD(&process->user_memory);
    spin_lock_init(&process->user_lock);
    spin_lock_init(&process->event_lock);
    init_waitqueue_head(&process->event_wait);
    idr_init(&process->queues);
    idr_init(&process->events);
    process->mm = current->mm;
    process->leader = current->group_leader;
    get_task_struct(process->leader);
    for (i = 0; i < sim_gpu_count; i++) {
        struct sim_pdd* pdd = &process->pdds[i];

        pdd->gpu = sim_gpus[i];
        /*
         * kfd_init_apertures() of kfd_flat_memory.c (Linux 6.1): the process never gets GPUs that are not allowed now.
         */
        pdd->present = sim_gpu_allowed(pdd->gpu);
        pdd->user_gpu_id = pdd->gpu->properties.gpu_id;
        idr_init_base(&pdd->allocations, 1);
        pdd->doorbells = (void*)__get_free_pages(GFP_KERNEL | __GFP_ZERO, get_order(SIM_DOORBELL_BYTES));
        if (!pdd->doorbells) {
            goto failed;
        }
    }
    process->event_page = (void*)__get_free_pages(GFP_KERNEL, get_order(SIM_EVENT_PAGE_BYTES));
    if (!process->event_page) {
        goto failed;
    }
    memset(process->event_page, 0xff, SIM_EVENT_PAGE_BYTES); /* no slot is signaled */
    process->notifier.ops = &notifier_operations;
    result = mmu_notifier_register(&process->notifier, process->mm);
    if (result) {
        goto failed;
    }
    __module_get(THIS_MODULE);
    list_add(&process->link, &processes);
    return process;

failed:
    sim_process_put(process);
    return ERR_PTR(result);
}

/* Returns the caller's process with a reference. Creates it if needed. */
struct sim_process* sim_process_open(void) {
    struct sim_process* process;

    mutex_lock(&processes_lock);
    list_for_each_entry(process, &processes, link) {
        if (process->mm == current->mm && !process->secondary && !READ_ONCE(process->ending)) {
            goto found;
        }
    }
    process = process_create();
    if (!IS_ERR(process)) {
        list_del(&process->link);
        make_folder(process);
        list_add(&process->link, &processes);
    }
found:
    if (!IS_ERR(process)) {
        kref_get(&process->references);
    }
    mutex_unlock(&processes_lock);
    return process;
}

/*
 * Creates a second context of the caller: kfd_ioctl_create_process() of Linux 6.19. It ends with the address space, not
 * with the descriptor.
 */
struct sim_process* sim_process_second(void) {
    struct sim_process* process;

    mutex_lock(&processes_lock);
    process = process_create();
    if (!IS_ERR(process)) {
        process->secondary = true;
        kref_get(&process->references);
    }
    mutex_unlock(&processes_lock);
    return process;
}

static void there_is_room(struct work_struct* work) {
    struct sim_process* process;

    mutex_lock(&processes_lock);
    list_for_each_entry(process, &processes, link) {
        mutex_lock(&process->lock);
        if (process->out_of_room) {
            process->out_of_room = false;
            sim_queues_resume(process);
        }
        mutex_unlock(&process->lock);
    }
    mutex_unlock(&processes_lock);
}
static DECLARE_DELAYED_WORK(room, there_is_room);

/* Schedules one lookup for all changes until it runs. */
void sim_process_look_up_again(struct sim_process* process) {
    kref_get(&process->references);
    if (!queue_work(releases, &process->user_changed)) {
        kref_put(&process->references, process_free);
    }
}

/*
 * Simulates a need for video memory: all queues stop for so long, in addition to other stops, and buffers move
 * (evict_process_worker() and restore_process_worker() of kfd_process.c, Linux 6.1).
 */
void sim_evict_all(unsigned int milliseconds) {
    struct sim_process* process;

    mutex_lock(&processes_lock);
    list_for_each_entry(process, &processes, link) {
        mutex_lock(&process->lock);
        if (!process->out_of_room) {
            process->out_of_room = true;
            sim_queues_evict(process);
        }
        mutex_unlock(&process->lock);
    }
    mutex_unlock(&processes_lock);
    sim_bo_move_all();
    mod_delayed_work(releases, &room, msecs_to_jiffies(milliseconds));
}

/* Returns the process of a thread group with a reference, or NULL. */
struct sim_process* sim_process_find(struct pid* tgid) {
    struct sim_process *process, *found = NULL;

    mutex_lock(&processes_lock);
    list_for_each_entry(process, &processes, link) {
        if (task_tgid(process->leader) == tgid && !process->secondary && !READ_ONCE(process->ending)) {
            kref_get(&process->references);
            found = process;
            break;
        }
    }
    mutex_unlock(&processes_lock);
    return found;
}

/* Returns the number of the process' GPUs. */
unsigned int sim_pdd_count(const struct sim_process* process) {
    unsigned int i, count = 0;

    for (i = 0; i < sim_gpu_count; i++) {
        count += process->pdds[i].present;
    }
    return count;
}

struct sim_pdd* sim_pdd_by_id(struct sim_process* process, u32 user_gpu_id) {
    unsigned int i;

    for (i = 0; i < sim_gpu_count; i++) {
        if (process->pdds[i].present && process->pdds[i].user_gpu_id == user_gpu_id) {
            return &process->pdds[i];
        }
    }
    return NULL;
}

/* Binds the address space of an open render node to the process on this GPU. */
int sim_pdd_acquire(struct sim_pdd* pdd, int drm_fd) {
    struct file* file = fget(drm_fd);
    struct drm_file* drm_file;
    int result = -EINVAL;

    if (!file) {
        return -EINVAL;
    }
    if (file->f_op != sim_driver.fops) {
        goto failed;
    }
    drm_file = file->private_data;
    if (drm_file->minor->dev != &pdd->gpu->drm) {
        goto failed;
    }
    if (pdd->drm_file) {
        result = pdd->drm_file == file ? 0 : -EBUSY;
        goto failed;
    }
    pdd->drm_file = file;
    pdd->vm = ((struct sim_file*)drm_file->driver_priv)->vm;
    kref_get(&pdd->vm->references);
    return 0;

failed:
    fput(file);
    return result;
}

int sim_processes_init(void) {
    releases = alloc_workqueue("sim-kfd-release", 0, 0);
    return releases ? 0 : -ENOMEM;
}

void sim_processes_exit(void) {
    cancel_delayed_work_sync(&room);
    destroy_workqueue(releases);
}
