// SPDX-License-Identifier: GPL-2.0-only
/*
 * SDMA engines of a GPU. Each is a thread that executes the indirect buffers of its ring, one after the other. Engines
 * run in parallel, and share the link to system memory.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/slab.h>

#include "sim.h"

struct sim_engine {
    struct sim_gpu* gpu;
    u64 done; /* executed submissions */
    struct task_struct* thread;
    spinlock_t lock;
    struct list_head jobs;
    wait_queue_head_t wait;
};

static void context_free(struct kref* references) {
    struct sim_context* context = container_of(references, struct sim_context, references);

    atomic_dec(&context->gpu->contexts);
    kfree(context);
}

void sim_context_put(struct sim_context* context) {
    kref_put(&context->references, context_free);
}

struct sim_context* sim_context_create(struct sim_gpu* gpu) {
    struct sim_context* context = kzalloc(sizeof(*context), GFP_KERNEL);
    int count;

    if (context) {
        kref_init(&context->references);
        spin_lock_init(&context->lock);
        init_waitqueue_head(&context->wait);
        context->gpu = gpu;
        context->resets = READ_ONCE(gpu->resets);
        count = atomic_inc_return(&gpu->contexts);
        if (count > READ_ONCE(gpu->most_contexts)) {
            WRITE_ONCE(gpu->most_contexts, count);
        }
    }
    return context;
}

/*
 * Simulates a reset of all GPUs. Contexts that exist are of no more use: their submissions end with ECANCELED
 * (amdgpu_job_run() of amdgpu_job.c compares vram_lost_counter, Linux 6.1).
 */
void sim_reset_gpus(void) {
    unsigned int i;

    for (i = 0; i < sim_gpu_count; i++) {
        WRITE_ONCE(sim_gpus[i]->resets, sim_gpus[i]->resets + 1);
    }
}

void sim_gpu_reset_counts(struct sim_gpu* gpu) {
    unsigned int ring;

    WRITE_ONCE(gpu->most_contexts, atomic_read(&gpu->contexts));
    for (ring = 0; ring < SIM_RINGS; ring++) {
        WRITE_ONCE(gpu->engines[ring]->done, 0);
    }
}

void sim_job_free(struct sim_job* job) {
    unsigned int i;

    for (i = 0; i < job->resident_count; i++) {
        sim_bo_put(job->resident[i]);
    }
    kvfree(job->resident);
    sim_vm_put(job->vm);
    sim_context_put(job->context);
    kfree(job);
}

/*
 * Delays a copy according to the set bandwidth. All engines and queues of a GPU share its link, so their copies queue
 * up. An idle link may catch up a little, because a sleep takes longer than requested.
 */
void sim_account_copy(struct sim_gpu* gpu, u64 bytes) {
    const u64 most = 20 * NSEC_PER_MSEC;
    u32 bandwidth = READ_ONCE(sim_bandwidth);
    u64 now, end;

    atomic64_add(bytes, &gpu->bytes_copied);
    if (!bandwidth) {
        return;
    }
    now = ktime_get_ns();
    spin_lock(&gpu->link_lock);
    gpu->link_free = max(gpu->link_free, now - most) + div64_u64(bytes * 1000000000ull >> 20, bandwidth);
    end = gpu->link_free;
    spin_unlock(&gpu->link_lock);
    if (end > now + NSEC_PER_MSEC) {
        u64 microseconds = div_u64(end - now, 1000);

        usleep_range(microseconds, microseconds + 100);
    }
}

static int execute(struct sim_engine* engine, struct sim_job* job) {
    struct sim_view view = {.vm = job->vm, .resident = job->resident, .resident_count = job->resident_count};
    u32 count = job->bytes / 4, at = 0;
    u32* words = kvmalloc(job->bytes, GFP_KERNEL);
    int result = words ? sim_read(&view, job->address, words, job->bytes) : -ENOMEM;

    while (!result && at < count) {
        struct sim_packet_result packet = sim_sdma_packet(&view, words + at, count - at);

        if (!packet.dwords) {
            pr_warn("amdgpu_sim: dword %u of a submission, 0x%08x, begins no packet that is known\n", at, words[at]);
            result = -EINVAL;
            break;
        }
        result = packet.error;
        at += packet.dwords;
        if (packet.copied) {
            sim_account_copy(engine->gpu, packet.copied);
        }
    }
    if (result == -EFAULT) {
        pr_warn("amdgpu_sim: GPU %u: a submission's access to 0x%llx failed\n", engine->gpu->index, view.fault_address);
    }
    kvfree(words);
    return result;
}

static struct sim_job* next_job(struct sim_engine* engine) {
    struct sim_job* job;

    spin_lock(&engine->lock);
    job = list_first_entry_or_null(&engine->jobs, struct sim_job, link);
    if (job) {
        list_del(&job->link);
    }
    spin_unlock(&engine->lock);
    return job;
}

static int work(void* data) {
    struct sim_engine* engine = data;

    while (!kthread_should_stop()) {
        struct sim_job* job;
        int result;

        wait_event_interruptible(engine->wait, kthread_should_stop() || !list_empty(&engine->jobs));
        job = next_job(engine);
        if (!job) {
            continue;
        }
        result = execute(engine, job);
        WRITE_ONCE(engine->done, engine->done + 1);
        spin_lock(&job->context->lock);
        if (result && !job->context->failed[job->ring]) {
            job->context->failed[job->ring] = job->sequence;
            job->context->error = result == -ENOMEM ? -ENOMEM : -ECANCELED;
        }
        job->context->completed[job->ring] = job->sequence;
        spin_unlock(&job->context->lock);
        wake_up_all(&job->context->wait);
        sim_job_free(job);
    }
    return 0;
}

struct sim_engine* sim_engine_create(struct sim_gpu* gpu, unsigned int ring) {
    struct sim_engine* engine = kzalloc(sizeof(*engine), GFP_KERNEL);

    if (!engine) {
        return ERR_PTR(-ENOMEM);
    }
    engine->gpu = gpu;
    spin_lock_init(&engine->lock);
    INIT_LIST_HEAD(&engine->jobs);
    init_waitqueue_head(&engine->wait);
    engine->thread = kthread_run(work, engine, "sim-sdma-%u.%u", gpu->index, ring);
    if (IS_ERR(engine->thread)) {
        int error = PTR_ERR(engine->thread);

        kfree(engine);
        return ERR_PTR(error);
    }
    return engine;
}

void sim_engine_destroy(struct sim_engine* engine) {
    struct sim_job* job;

    kthread_stop(engine->thread);
    while ((job = next_job(engine))) {
        sim_job_free(job);
    }
    kfree(engine);
}

void sim_engine_submit(struct sim_engine* engine, struct sim_job* job) {
    spin_lock(&engine->lock);
    list_add_tail(&job->link, &engine->jobs);
    spin_unlock(&engine->lock);
    wake_up(&engine->wait);
}

u64 sim_engine_done(const struct sim_engine* engine) {
    return READ_ONCE(engine->done);
}
