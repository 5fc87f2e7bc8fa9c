// SPDX-License-Identifier: GPL-2.0-only
/* Events: programs create and set them, queues raise them, threads wait for them. */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kfd.h"

#define MAX_WAITED 4096u
#define TIMEOUT_NONE 0u
#define TIMEOUT_INFINITE 0xffffffffu

static bool is_signal(const struct sim_event* event) {
    return event->type == KFD_IOC_EVENT_SIGNAL;
}

static int add(struct sim_process* process, struct sim_event* event, int id) {
    int first = is_signal(event) ? 0 : 4096, last = is_signal(event) ? KFD_SIGNAL_EVENT_LIMIT : 8192;
    int result;

    /* The table has int ids, and ids of other events begin at 1 << 31. So the table holds these from 4096 on. */
    idr_preload(GFP_KERNEL);
    spin_lock(&process->event_lock);
    result = idr_alloc(&process->events, event, id < 0 ? first : id, id < 0 ? last : id + 1, GFP_NOWAIT);
    spin_unlock(&process->event_lock);
    idr_preload_end();
    if (result < 0) {
        return result;
    }
    event->id = is_signal(event) ? (u32)result : SIM_FIRST_OTHER_EVENT + result - 4096;
    return 0;
}

static int index_of(u32 id) {
    if (id < KFD_SIGNAL_EVENT_LIMIT) {
        return id;
    }
    return id >= SIM_FIRST_OTHER_EVENT && id - SIM_FIRST_OTHER_EVENT < 4096 ? (int)(id - SIM_FIRST_OTHER_EVENT + 4096)
                                                                            : -1;
}

static struct sim_event* find(struct sim_process* process, u32 id) {
    int index = index_of(id);

    return index < 0 ? NULL : idr_find(&process->events, index);
}

static long create(struct sim_process* process, struct kfd_ioctl_create_event_args* arguments) {
    struct sim_event* event;
    struct sim_pdd* pdd;
    int result;

    if (arguments->event_type > KFD_IOC_EVENT_MEMORY) {
        return -EINVAL;
    }
    if (arguments->event_page_offset) { /* memory of the program for the slots */
        if (process->event_page_handle || !sim_allocation_by_handle(process, arguments->event_page_offset, &pdd)) {
            return -EINVAL;
        }
        process->event_page_handle = arguments->event_page_offset;
    }
    event = kzalloc(sizeof(*event), GFP_KERNEL);
    if (!event) {
        return -ENOMEM;
    }
    event->type = arguments->event_type;
    event->auto_reset = arguments->auto_reset;
    event->node_id = arguments->node_id;
    result = add(process, event, -1);
    if (result) {
        kfree(event);
        return result;
    }
    arguments->event_id = event->id;
    arguments->event_trigger_data = is_signal(event) ? event->id : 0;
    arguments->event_slot_index = is_signal(event) ? event->id : 0;
    if (is_signal(event) && !process->event_page_handle) {
        arguments->event_page_offset = SIM_MMAP_EVENTS << SIM_MMAP_TYPE_SHIFT;
    }
    return 0;
}

int sim_event_restore(struct sim_process* process, const struct sim_event* from) {
    struct sim_event* event;
    int result, index = index_of(from->id);

    if (index < 0 || (index < (int)KFD_SIGNAL_EVENT_LIMIT) != is_signal(from)) {
        return -EINVAL;
    }
    event = kmemdup(from, sizeof(*from), GFP_KERNEL);
    if (!event) {
        return -ENOMEM;
    }
    result = add(process, event, index);
    if (result) {
        kfree(event);
    }
    return result;
}

static long destroy(struct sim_process* process, const struct kfd_ioctl_destroy_event_args* arguments) {
    struct sim_event* event;

    spin_lock(&process->event_lock);
    event = find(process, arguments->event_id);
    if (event) {
        idr_remove(&process->events, index_of(arguments->event_id));
    }
    spin_unlock(&process->event_lock);
    if (!event) {
        return -EINVAL;
    }
    kfree(event);
    wake_up_all(&process->event_wait);
    return 0;
}

static long set(struct sim_process* process, u32 id, bool signaled) {
    struct sim_event* event;
    long result = -EINVAL;

    spin_lock(&process->event_lock);
    event = find(process, id);
    if (event && is_signal(event)) {
        event->signaled = signaled;
        result = 0;
    }
    spin_unlock(&process->event_lock);
    if (!result && signaled) {
        wake_up_all(&process->event_wait);
    }
    return result;
}

/* Handles an interrupt of a packet. Without such an event it has no effect. */
void sim_event_raise(struct sim_process* process, u32 id) {
    set(process, id, true);
}

void sim_event_memory_fault(struct sim_process* process, u64 address, u32 user_gpu_id) {
    struct sim_event* event;
    int id;

    spin_lock(&process->event_lock);
    idr_for_each_entry(&process->events, event, id) {
        if (event->type == KFD_IOC_EVENT_MEMORY) {
            event->memory = (struct kfd_hsa_memory_exception_data){
                .failure.NotPresent = 1, .va = address & PAGE_MASK, .gpu_id = user_gpu_id};
            event->signaled = true;
        }
    }
    spin_unlock(&process->event_lock);
    wake_up_all(&process->event_wait);
}

struct waiter {
    struct kfd_event_data* data;
    bool* seen;
    u32 count;
    bool all;
};

enum look { LOOK_WAIT, LOOK_DONE, LOOK_GONE };

/* Takes the signaled events. Only one waiter takes an event with auto reset. */
static enum look look(struct sim_process* process, struct waiter* waiter) {
    u32 i, seen = 0;
    enum look result;

    spin_lock(&process->event_lock);
    result = LOOK_WAIT;
    for (i = 0; i < waiter->count; i++) {
        struct sim_event* event = find(process, waiter->data[i].event_id);

        if (!event) {
            result = LOOK_GONE;
            break;
        }
        if (!waiter->seen[i] && event->signaled) {
            waiter->seen[i] = true;
            if (event->type == KFD_IOC_EVENT_MEMORY) {
                waiter->data[i].memory_exception_data = event->memory;
            }
            if (event->auto_reset) {
                event->signaled = false;
            }
        }
        seen += waiter->seen[i];
    }
    spin_unlock(&process->event_lock);
    if (result == LOOK_WAIT && seen && (!waiter->all || seen == waiter->count)) {
        result = LOOK_DONE;
    }
    return result;
}

/* Sets taken events again when a signal interrupts a wait: the wait is restarted. */
static void put_back(struct sim_process* process, const struct waiter* waiter) {
    u32 i;

    spin_lock(&process->event_lock);
    for (i = 0; i < waiter->count; i++) {
        struct sim_event* event = find(process, waiter->data[i].event_id);

        if (waiter->seen[i] && event && event->auto_reset) {
            event->signaled = true;
        }
    }
    spin_unlock(&process->event_lock);
    wake_up_all(&process->event_wait);
}

static long sleep_until_seen(struct sim_process* process, struct waiter* waiter,
                             struct kfd_ioctl_wait_events_args* arguments) {
    long left =
        arguments->timeout == TIMEOUT_INFINITE ? MAX_SCHEDULE_TIMEOUT : (long)msecs_to_jiffies(arguments->timeout) + 1;
    DEFINE_WAIT_FUNC(entry, woken_wake_function);
    long result = 0;
    enum look state;

    if (arguments->timeout == TIMEOUT_NONE) {
        left = 0;
    }
    add_wait_queue(&process->event_wait, &entry);
    for (;;) {
        state = look(process, waiter);
        if (state == LOOK_DONE) {
            arguments->wait_result = KFD_IOC_WAIT_RESULT_COMPLETE;
            break;
        }
        if (state == LOOK_GONE) {
            arguments->wait_result = KFD_IOC_WAIT_RESULT_FAIL;
            result = -EIO;
            break;
        }
        if (!left) {
            arguments->wait_result = KFD_IOC_WAIT_RESULT_TIMEOUT;
            break;
        }
        if (signal_pending(current)) {
            put_back(process, waiter);
            if (arguments->timeout != TIMEOUT_INFINITE) { /* a restarted call waits only for the rest of the time */
                arguments->timeout = jiffies_to_msecs(left);
            }
            result = -ERESTARTSYS;
            break;
        }
        left = wait_woken(&entry, TASK_INTERRUPTIBLE, left);
    }
    remove_wait_queue(&process->event_wait, &entry);
    return result;
}

static long wait(struct sim_process* process, struct kfd_ioctl_wait_events_args* arguments) {
    struct waiter waiter = {.count = arguments->num_events, .all = arguments->wait_for_all};
    size_t bytes = (size_t)waiter.count * sizeof(*waiter.data);
    u32 i;
    long result = 0;

    if (!waiter.count || waiter.count > MAX_WAITED) {
        return -EINVAL;
    }
    waiter.data = vmemdup_user(u64_to_user_ptr(arguments->events_ptr), bytes);
    if (IS_ERR(waiter.data)) {
        return PTR_ERR(waiter.data);
    }
    waiter.seen = kvcalloc(waiter.count, sizeof(*waiter.seen), GFP_KERNEL);
    if (!waiter.seen) {
        kvfree(waiter.data);
        return -ENOMEM;
    }
    spin_lock(&process->event_lock);
    for (i = 0; i < waiter.count; i++) {
        if (!find(process, waiter.data[i].event_id)) {
            result = -EINVAL;
        }
    }
    spin_unlock(&process->event_lock);
    result = result ?: sleep_until_seen(process, &waiter, arguments);
    if (!result && copy_to_user(u64_to_user_ptr(arguments->events_ptr), waiter.data, bytes)) {
        result = -EFAULT;
    }
    kvfree(waiter.seen);
    kvfree(waiter.data);
    return result;
}

long sim_kfd_event_ioctl(struct sim_process* process, unsigned int number, void* data) {
    const struct kfd_ioctl_set_event_args* named = data;
    long result;

    switch (number) {
        case 0x08:
            mutex_lock(&process->lock);
            result = create(process, data);
            mutex_unlock(&process->lock);
            return result;
        case 0x09:
            return destroy(process, data);
        case 0x0a:
        case 0x0b:
            return set(process, named->event_id, number == 0x0a);
        case 0x0c:
            return wait(process, data);
        default:
            return -EINVAL;
    }
}

void sim_events_free(struct sim_process* process) {
    struct sim_event* event;
    int id;

    idr_for_each_entry(&process->events, event, id) {
        kfree(event);
    }
    idr_destroy(&process->events);
}
