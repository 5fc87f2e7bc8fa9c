// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of the process that a GPU uses (USERPTR). When the kernel changes its mapping, it notifies the driver. The
 * driver stops the process' queues, looks up the pages and resumes the queues (amdgpu_amdkfd_evict_userptr() and
 * amdgpu_amdkfd_restore_userptr_worker() of amdgpu_amdkfd_gpuvm.c, Linux 6.1). From RESTORE to RESUME it does nothing
 * of that (block_mmu_notifications). At RESUME it looks up the pages for the first time.
 */
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>

#include "kfd.h"

static atomic64_t heard = ATOMIC64_INIT(0), blocked = ATOMIC64_INIT(0), missing = ATOMIC64_INIT(0);
/* Milliseconds until the driver looks up the pages (AMDGPU_USERPTR_RESTORE_DELAY_MS is 1). */
#define DELAY 1

u64 sim_notifications(void) {
    return atomic64_read(&heard);
}

u64 sim_notifications_blocked(void) {
    return atomic64_read(&blocked);
}

u64 sim_user_pages_missing(void) {
    return atomic64_read(&missing);
}

void sim_notifications_reset(void) {
    atomic64_set(&heard, 0);
    atomic64_set(&blocked, 0);
    atomic64_set(&missing, 0);
}

void sim_user_memory_added(struct sim_process* process, struct sim_allocation* allocation) {
    spin_lock(&process->user_lock);
    list_add(&allocation->user_link, &process->user_memory);
    spin_unlock(&process->user_lock);
}

void sim_user_memory_gone(struct sim_process* process, struct sim_allocation* allocation) {
    spin_lock(&process->user_lock);
    list_del(&allocation->user_link);
    spin_unlock(&process->user_lock);
}

/*
 * Runs outside of the notifier: the code that changes memory holds locks that the driver takes inside of the process'
 * lock.
 */
void sim_look_up_again(struct work_struct* work) {
    struct sim_process* process = container_of(work, struct sim_process, user_changed);

    mutex_lock(&process->lock);
    sim_queues_evict(process);
    mutex_unlock(&process->lock);
    msleep(DELAY);
    mutex_lock(&process->lock);
    sim_queues_resume(process);
    mutex_unlock(&process->lock);
    sim_process_put(process);
}

int sim_memory_changes(struct mmu_notifier* notifier, const struct mmu_notifier_range* range) {
    struct sim_process* process = container_of(notifier, struct sim_process, notifier);
    const struct sim_allocation* allocation;
    bool used = false;

    spin_lock(&process->user_lock);
    list_for_each_entry(allocation, &process->user_memory, user_link) {
        used = used ||
               (range->start < allocation->user_address + allocation->size && allocation->user_address < range->end);
    }
    spin_unlock(&process->user_lock);
    if (!used || READ_ONCE(process->ending)) {
        return 0;
    }
    if (READ_ONCE(process->awaits_resume)) {
        atomic64_inc(&blocked);
        return 0;
    }
    atomic64_inc(&heard);
    sim_process_look_up_again(process);
    return 0;
}

/*
 * Looks up the pages. The real driver ignores absent pages, as memory that is never touched. This driver counts them.
 */
void sim_look_up_user_memory(struct sim_process* process) {
    const struct sim_allocation* allocation;
    const struct vm_area_struct* area;
    unsigned int i;
    int id;

    if (!mmget_not_zero(process->mm)) {
        return;
    }
    mmap_read_lock(process->mm);
    for (i = 0; i < sim_gpu_count; i++) {
        idr_for_each_entry(&process->pdds[i].allocations, allocation, id) {
            u64 at = allocation->user_address;

            while (at && at < allocation->user_address + allocation->size) {
                area = vma_lookup(process->mm, at);
                if (!area) {
                    atomic64_inc(&missing);
                    break;
                }
                at = area->vm_end;
            }
        }
    }
    mmap_read_unlock(process->mm);
    mmput_async(process->mm);
}
