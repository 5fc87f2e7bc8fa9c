// SPDX-License-Identifier: GPL-2.0-only
/*
 * User queues. A thread for each queue polls the doorbell and executes the packets of the ring. It executes one packet
 * at a time, and none while the queue is evicted. As in hardware, the read position is kept here, and not only in
 * memory of the program.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/slab.h>

#include "kfd.h"

#define BATCH 64 /* packets between two checks for a stop */

/* Hardware queues of each kind: engines times queues of each, as in the topology. */
static const unsigned int sdma_queues[2] = {2 * 8, 3 * 8};

static int sdma_kind(u32 queue_type) {
    return queue_type == KFD_IOC_QUEUE_TYPE_SDMA ? 0 : queue_type == KFD_IOC_QUEUE_TYPE_SDMA_XGMI ? 1 : -1;
}

/*
 * allocate_sdma_queue() of kfd_device_queue_manager.c (Linux 6.1): a new queue takes the first free hardware queue of
 * the GPU, and a restored one takes its former one.
 */
static int take_sdma(struct sim_queue* queue, int wanted) {
    int kind = sdma_kind(queue->arguments.queue_type);
    unsigned int id;

    queue->sdma = -1;
    if (kind < 0) {
        return 0;
    }
    if (wanted >= 0) {
        if (wanted >= (int)sdma_queues[kind] || test_and_set_bit(wanted, &queue->pdd->gpu->sdma_used[kind])) {
            return -EBUSY;
        }
        queue->sdma = wanted;
        return 0;
    }
    do {
        id = find_first_zero_bit(&queue->pdd->gpu->sdma_used[kind], sdma_queues[kind]);
        if (id >= sdma_queues[kind]) {
            return -ENOMEM;
        }
    } while (test_and_set_bit(id, &queue->pdd->gpu->sdma_used[kind]));
    queue->sdma = id;
    return 0;
}

static void give_sdma_back(struct sim_queue* queue) {
    if (queue->sdma >= 0) {
        clear_bit(queue->sdma, &queue->pdd->gpu->sdma_used[sdma_kind(queue->arguments.queue_type)]);
    }
    queue->sdma = -1;
}

/*
 * Frees the hardware queues when the address space ends, before the notifiers run
 * (kfd_process_dequeue_from_all_devices() of Linux 6.1).
 */
void sim_queues_give_back(struct sim_process* process) {
    struct sim_queue* queue;
    int id;

    idr_for_each_entry(&process->queues, queue, id) {
        give_sdma_back(queue);
        kobject_put(queue->folder);
        queue->folder = NULL;
    }
}

/* Ends all queues of a process, as a reset of their GPU does. They stay in its lists. */
void sim_queues_lose(struct sim_process* process) {
    struct sim_queue* queue;
    int id;

    idr_for_each_entry(&process->queues, queue, id) {
        mutex_lock(&queue->lock);
        queue->faulted = true;
        mutex_unlock(&queue->lock);
    }
}

/* /sys/class/kfd/kfd/proc/PID/queues/QUEUE/gpuid: kfd_procfs_add_queue() of kfd_process.c (Linux 6.1). */
static ssize_t gpu_show(struct kobject* kobject, struct kobj_attribute* attribute, char* buffer) {
    const struct sim_queue* queue = container_of(attribute, struct sim_queue, gpu_file);

    return sysfs_emit(buffer, "%d", queue->pdd->gpu->properties.gpu_id);
}

static void make_folder(struct sim_queue* queue) {
    char name[16];

    if (!queue->process->queue_folder) {
        return;
    }
    scnprintf(name, sizeof(name), "%u", queue->arguments.queue_id);
    queue->folder = kobject_create_and_add(name, queue->process->queue_folder);
    sysfs_attr_init(&queue->gpu_file.attr);
    queue->gpu_file.attr.name = "gpuid";
    queue->gpu_file.attr.mode = 0444;
    queue->gpu_file.show = gpu_show;
    if (queue->folder && sysfs_create_file(queue->folder, &queue->gpu_file.attr)) {
        pr_debug("amdgpu_sim: a queue has no gpuid\n");
    }
}

/*
 * Each die has a part of a compute queue's state (MQD). Before Linux 6.17 a checkpoint contained the state of the first
 * die only (checkpoint_mqd() of kfd_mqd_manager_v9.c), and the other dies began with an empty state.
 */
static void work_on_dies(struct sim_queue* queue) {
    unsigned int xcc;

    for (xcc = 0; xcc < sim_xccs; xcc++) {
        queue->xcc_state[xcc]++;
    }
}

static bool dies_agree(const struct sim_queue* queue) {
    unsigned int xcc;

    for (xcc = 1; xcc < sim_xccs; xcc++) {
        if (queue->xcc_state[xcc] != queue->xcc_state[0]) {
            return false;
        }
    }
    return true;
}

struct sim_queue_state sim_queue_save(const struct sim_queue* queue) {
    struct sim_queue_state state = {
        .doorbell = queue->doorbell, .sdma = queue->sdma, .read = queue->read, .write = queue->write};
    unsigned int xcc;

    for (xcc = 0; xcc < (sim_interface >= 617 ? sim_xccs : 1); xcc++) {
        state.xcc_state[xcc] = queue->xcc_state[xcc];
    }
    return state;
}

/* Returns the size of the unit of a queue's read and write indexes. */
static u32 unit(const struct sim_queue* queue) {
    switch (queue->arguments.queue_type) {
        case KFD_IOC_QUEUE_TYPE_COMPUTE:
            return 4;
        case KFD_IOC_QUEUE_TYPE_COMPUTE_AQL:
            return 64;
        default:
            return 1; /* SDMA counts bytes */
    }
}

static bool active(const struct sim_queue* queue) {
    return !queue->evictions && !queue->faulted && queue->arguments.ring_size && queue->arguments.ring_base_address &&
           queue->arguments.queue_percentage;
}

/* Reads the doorbell. Its value counts up, and an old value has no effect. */
static void look_at_doorbell(struct sim_queue* queue, struct sim_view* view) {
    u64 value = READ_ONCE(((u64*)queue->pdd->doorbells)[queue->doorbell]);

    if (value == queue->rung) {
        return;
    }
    queue->rung = value;
    smp_rmb(); /* later reads must see what the program wrote before the doorbell */
    if (queue->arguments.queue_type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL) {
        /* The doorbell only signals that there are packets; the index is in memory. */
        if (!view || sim_read(view, queue->arguments.write_pointer_address, &value, sizeof(value))) {
            queue->rung = U64_MAX;
            return;
        }
    }
    if (value > queue->write) {
        queue->write = value;
    }
}

static void fault(struct sim_queue* queue, const struct sim_view* view, int error) {
    queue->faulted = true;
    pr_warn("amdgpu_sim: queue %u of process %d stopped at index %llu: error %d, address 0x%llx\n",
            queue->arguments.queue_id, task_tgid_nr(queue->process->leader), queue->read, error, view->fault_address);
    if (error == -EFAULT) {
        sim_event_memory_fault(queue->process, view->fault_address, queue->pdd->user_gpu_id);
    }
}

/* Reads a part of the ring, which wraps around at its end. */
static int read_ring(struct sim_queue* queue, struct sim_view* view, void* buffer, u32 bytes) {
    u64 at = queue->read * unit(queue) % queue->arguments.ring_size, base = queue->arguments.ring_base_address;
    u32 first = min_t(u64, bytes, queue->arguments.ring_size - at);

    return sim_read(view, base + at, buffer, first) ?: sim_read(view, base, buffer + first, bytes - first);
}

/* Executes one packet, and advances the read index. Returns false if there is no packet. */
static bool step(struct sim_queue* queue, struct sim_view* view) {
    u32 words[SIM_PACKET_MAX_DWORDS], available;
    struct sim_packet_result packet;
    bool waits = false;
    int error;

    if (queue->read >= queue->write) {
        return false;
    }
    if (queue->arguments.queue_type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL) {
        u64 at = queue->read * 64 % queue->arguments.ring_size;

        packet = sim_aql_packet(view, queue->arguments.ring_base_address + at, &waits);
    } else {
        available = min_t(u64, (queue->write - queue->read) * unit(queue), sizeof(words));
        error = read_ring(queue, view, words, available);
        if (error) {
            fault(queue, view, error);
            return false;
        }
        packet = queue->arguments.queue_type == KFD_IOC_QUEUE_TYPE_COMPUTE
                     ? sim_pm4_packet(view, words, available / 4)
                     : sim_sdma_packet(view, words, available / 4);
    }
    if (waits) {
        return false;
    }
    if (sdma_kind(queue->arguments.queue_type) < 0) {
        if (!dies_agree(queue)) {
            fault(queue, view, -EFAULT);
            return false;
        }
        work_on_dies(queue);
    }
    if (!packet.dwords || packet.error) {
        fault(queue, view, packet.error ?: -EINVAL);
        return false;
    }
    queue->read += packet.dwords * 4 / unit(queue);
    atomic64_inc(&queue->pdd->gpu->packets);
    error = sim_write(view, queue->arguments.read_pointer_address, &queue->read, sizeof(queue->read));
    if (error) {
        fault(queue, view, error);
        return false;
    }
    if (packet.interrupt != SIM_INTERRUPT_NONE) {
        sim_event_raise(queue->process, packet.interrupt);
    }
    if (packet.copied) {
        sim_account_copy(queue->pdd->gpu, packet.copied);
    }
    return true;
}

static int work(void* data) {
    struct sim_queue* queue = data;
    const struct sim_svm_view svm = {.mm = queue->process->mm, .allowed = sim_svm_allowed, .context = queue->pdd};
    struct sim_view view = {.vm = queue->pdd->vm, .svm = &svm};

    while (!kthread_should_stop()) {
        bool worked = false;
        int i;

        mutex_lock(&queue->lock);
        if (active(queue)) {
            look_at_doorbell(queue, &view);
            for (i = 0; i < BATCH && step(queue, &view); i++) {
                worked = true;
            }
        }
        mutex_unlock(&queue->lock);
        if (worked) {
            cond_resched();
        } else {
            usleep_range(300, 800);
        }
    }
    return 0;
}

static int check(const struct sim_process* process, const struct kfd_ioctl_create_queue_args* arguments) {
    if (arguments->queue_percentage > KFD_MAX_QUEUE_PERCENTAGE || arguments->queue_priority > KFD_MAX_QUEUE_PRIORITY ||
        arguments->queue_type > KFD_IOC_QUEUE_TYPE_SDMA_XGMI) {
        return -EINVAL;
    }
    if (arguments->ring_size && !is_power_of_2(arguments->ring_size)) {
        return -EINVAL;
    }
    if (!arguments->read_pointer_address || !arguments->write_pointer_address) {
        return -EFAULT;
    }
    return 0;
}

/* Creates a queue, with the given `id` and `doorbell` unless they are negative. The caller holds the process' lock. */
static struct sim_queue* make(struct sim_process* process, struct kfd_ioctl_create_queue_args* arguments, int id,
                              int doorbell, int sdma) {
    struct sim_pdd* pdd = sim_pdd_by_id(process, arguments->gpu_id);
    struct sim_queue* queue;
    int result = check(process, arguments);

    if (result) {
        return ERR_PTR(result);
    }
    if (!pdd || !pdd->vm) {
        return ERR_PTR(-EINVAL);
    }
    queue = kzalloc(sizeof(*queue), GFP_KERNEL);
    if (!queue) {
        return ERR_PTR(-ENOMEM);
    }
    if (doorbell < 0) {
        doorbell = find_first_zero_bit(pdd->doorbells_used, SIM_DOORBELLS);
    }
    if (doorbell >= (int)SIM_DOORBELLS || test_and_set_bit(doorbell, pdd->doorbells_used)) {
        kfree(queue);
        return ERR_PTR(-ENOSPC);
    }
    queue->pdd = pdd;
    queue->arguments = *arguments;
    result = take_sdma(queue, sdma);
    if (result) {
        clear_bit(doorbell, pdd->doorbells_used);
        kfree(queue);
        return ERR_PTR(result);
    }
    id = idr_alloc(&process->queues, queue, max(id, 0), id < 0 ? SIM_MAX_QUEUES : id + 1, GFP_KERNEL);
    if (id < 0) {
        give_sdma_back(queue);
        clear_bit(doorbell, pdd->doorbells_used);
        kfree(queue);
        return ERR_PTR(id);
    }
    arguments->queue_id = id;
    arguments->doorbell_offset = sim_user_mmap_offset(sim_mmap_offset(SIM_MMAP_DOORBELL, pdd), pdd) | (u64)doorbell * 8;
    mutex_init(&queue->lock);
    queue->process = process;
    queue->arguments = *arguments;
    queue->doorbell = doorbell;
    queue->evictions = process->evictions;
    make_folder(queue);
    /* A value of an earlier queue must not hide the same value of this one. */
    WRITE_ONCE(((u64*)pdd->doorbells)[doorbell], 0);
    return queue;
}

static void unmake(struct sim_queue* queue) {
    kobject_put(queue->folder);
    give_sdma_back(queue);
    clear_bit(queue->doorbell, queue->pdd->doorbells_used);
    mutex_destroy(&queue->lock);
    kfree(queue);
}

static int set_going(struct sim_queue* queue) {
    queue->worker = kthread_run(work, queue, "sim-queue-%u", queue->arguments.queue_id);
    if (IS_ERR(queue->worker)) {
        int error = PTR_ERR(queue->worker);

        idr_remove(&queue->process->queues, queue->arguments.queue_id);
        unmake(queue);
        return error;
    }
    return 0;
}

int sim_queue_restore(struct sim_process* process, const struct kfd_ioctl_create_queue_args* arguments,
                      const struct sim_queue_state* state) {
    struct kfd_ioctl_create_queue_args own = *arguments;
    struct sim_queue* queue;

    if (own.queue_id >= SIM_MAX_QUEUES || state->doorbell >= SIM_DOORBELLS) {
        return -EINVAL;
    }
    queue = make(process, &own, own.queue_id, state->doorbell, state->sdma);
    if (IS_ERR(queue)) {
        return PTR_ERR(queue);
    }
    queue->read = state->read;
    queue->write = state->write;
    /*
     * Hardware reads the index from memory when it gets a queue (CP_HQD_PQ_WPTR_POLL of kfd_mqd_manager_v9.c): it has
     * missed doorbell writes before that.
     */
    queue->rung = U64_MAX;
    memcpy(queue->xcc_state, state->xcc_state, sizeof(queue->xcc_state));
    return set_going(queue);
}

/*
 * Since Linux 6.12 a new queue needs ring and both indexes in mappings of exactly their sizes. A compute queue also
 * needs a control stack of the GPU's size, an area for its waves that is large enough, and both as a mapping or as
 * memory that stays mapped: kfd_queue_acquire_buffers() of kfd_queue.c. A restore isn't checked.
 */
static int check_buffers(struct sim_pdd* pdd, const struct kfd_ioctl_create_queue_args* arguments) {
    u64 read = round_down(arguments->read_pointer_address, PAGE_SIZE), area;
    u64 write = round_down(arguments->write_pointer_address, PAGE_SIZE);
    struct sim_save_area needed = sim_save_area_of(pdd->gpu);

    if (!sim_vm_is_one_mapping(pdd->vm, write, PAGE_SIZE) || !sim_vm_is_one_mapping(pdd->vm, read, PAGE_SIZE) ||
        !sim_vm_is_one_mapping(pdd->vm, arguments->ring_base_address, arguments->ring_size)) {
        return -EINVAL;
    }
    if (arguments->queue_type != KFD_IOC_QUEUE_TYPE_COMPUTE &&
        arguments->queue_type != KFD_IOC_QUEUE_TYPE_COMPUTE_AQL) {
        return 0;
    }
    if (arguments->eop_buffer_address &&
        (arguments->eop_buffer_size != SIM_EOP_BYTES ||
         !sim_vm_is_one_mapping(pdd->vm, arguments->eop_buffer_address, SIM_EOP_BYTES))) {
        return -EINVAL;
    }
    if (arguments->ctl_stack_size != needed.control_stack || arguments->ctx_save_restore_size < needed.all) {
        return -EINVAL;
    }
    area = PAGE_ALIGN((u64)(arguments->ctx_save_restore_size + needed.debugger) * sim_xccs);
    return sim_vm_is_one_mapping(pdd->vm, arguments->ctx_save_restore_address, area) ||
                   sim_svm_always_mapped(pdd, arguments->ctx_save_restore_address, area)
               ? 0
               : -EINVAL;
}

static long create(struct sim_process* process, struct kfd_ioctl_create_queue_args* arguments) {
    struct sim_pdd* pdd = sim_pdd_by_id(process, arguments->gpu_id);
    int result = check(process, arguments);
    struct sim_queue* queue;

    if (!result && sim_interface >= 617 && pdd && pdd->vm) {
        result = check_buffers(pdd, arguments);
    }
    if (result) {
        return result;
    }
    queue = make(process, arguments, -1, -1, -1);
    return IS_ERR(queue) ? PTR_ERR(queue) : set_going(queue);
}

static long destroy(struct sim_process* process, const struct kfd_ioctl_destroy_queue_args* arguments) {
    struct sim_queue* queue = idr_remove(&process->queues, arguments->queue_id);

    if (!queue) {
        return -EINVAL;
    }
    kthread_stop(queue->worker);
    unmake(queue);
    return 0;
}

static long update(struct sim_process* process, const struct kfd_ioctl_update_queue_args* arguments) {
    struct sim_queue* queue = idr_find(&process->queues, arguments->queue_id);

    if (!queue || arguments->queue_percentage > KFD_MAX_QUEUE_PERCENTAGE ||
        arguments->queue_priority > KFD_MAX_QUEUE_PRIORITY ||
        (arguments->ring_size && !is_power_of_2(arguments->ring_size))) {
        return -EINVAL;
    }
    mutex_lock(&queue->lock);
    queue->arguments.ring_base_address = arguments->ring_base_address;
    queue->arguments.ring_size = arguments->ring_size;
    queue->arguments.queue_percentage = arguments->queue_percentage;
    queue->arguments.queue_priority = arguments->queue_priority;
    mutex_unlock(&queue->lock);
    return 0;
}

long sim_kfd_queue_ioctl(struct sim_process* process, unsigned int number, void* data) {
    long result;

    mutex_lock(&process->lock);
    result = number == 0x02 ? create(process, data) : number == 0x03 ? destroy(process, data) : update(process, data);
    mutex_unlock(&process->lock);
    return result;
}

/* Stops all queues. Returns when no packet is executed. Evictions are counted, and each needs a resumption. */
void sim_queues_evict(struct sim_process* process) {
    struct sim_queue* queue;
    int id;

    if (process->evictions++ == 0) {
        unsigned int i;

        for (i = 0; i < sim_gpu_count; i++) {
            process->pdds[i].evicted_since = process->pdds[i].vm ? get_jiffies_64() : 0;
        }
    }
    idr_for_each_entry(&process->queues, queue, id) {
        mutex_lock(&queue->lock);
        if (queue->arguments.queue_type != KFD_IOC_QUEUE_TYPE_COMPUTE_AQL) {
            look_at_doorbell(queue, NULL);
        } else if (READ_ONCE(((u64*)queue->pdd->doorbells)[queue->doorbell]) != queue->rung) {
            queue->rung = U64_MAX;
        }
        queue->evictions++;
        mutex_unlock(&queue->lock);
    }
}

void sim_queues_resume(struct sim_process* process) {
    struct sim_queue* queue;
    int id;

    if (!process->evictions) {
        return;
    }
    if (--process->evictions == 0) {
        unsigned int i;

        /* restore_process_queues_cpsch() of kfd_device_queue_manager.c (Linux 6.1) */
        for (i = 0; i < sim_gpu_count; i++) {
            if (process->pdds[i].vm && sim_evicted_counts) {
                atomic64_add(get_jiffies_64() - process->pdds[i].evicted_since, &process->pdds[i].evicted);
            }
        }
    }
    idr_for_each_entry(&process->queues, queue, id) {
        mutex_lock(&queue->lock);
        queue->evictions--;
        mutex_unlock(&queue->lock);
    }
}

void sim_queues_free(struct sim_process* process) {
    struct sim_queue* queue;
    int id;

    idr_for_each_entry(&process->queues, queue, id) {
        kthread_stop(queue->worker);
        unmake(queue);
    }
    idr_destroy(&process->queues);
}
