// SPDX-License-Identifier: GPL-2.0-only
/*
 * Points that every request passes. In debugfs (amdgpu_sim/):
 *   hits   "NAME COUNT" for each point passed since the last "clear"
 *   fault  write "NAME N ERRNO [COUNT]": the Nth pass from now on fails with that error, and so do the next COUNT - 1
 *   delay  write "NAME N MILLISECONDS": the Nth pass from now on takes that much longer, once
 *   clear  write anything: no faults, no delays, no hits, no peak
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kfd.h"

struct point {
    u32 hits;
    u32 fail_in;  /* passes until a failure; 0: none */
    u32 failures; /* remaining consecutive failures */
    int error;
    u32 delay_in;
    u32 delay_ms;
};

static struct point points[SIM_POINTS];
static DEFINE_SPINLOCK(points_lock);
static struct dentry* folder;

static const char* const names[SIM_POINTS] = {
    [SIM_POINT_KFD + 0x01] = "kfd.get_version",
    [SIM_POINT_KFD + 0x02] = "kfd.create_queue",
    [SIM_POINT_KFD + 0x03] = "kfd.destroy_queue",
    [SIM_POINT_KFD + 0x04] = "kfd.set_memory_policy",
    [SIM_POINT_KFD + 0x05] = "kfd.get_clock_counters",
    [SIM_POINT_KFD + 0x06] = "kfd.get_process_apertures",
    [SIM_POINT_KFD + 0x07] = "kfd.update_queue",
    [SIM_POINT_KFD + 0x08] = "kfd.create_event",
    [SIM_POINT_KFD + 0x09] = "kfd.destroy_event",
    [SIM_POINT_KFD + 0x0a] = "kfd.set_event",
    [SIM_POINT_KFD + 0x0b] = "kfd.reset_event",
    [SIM_POINT_KFD + 0x0c] = "kfd.wait_events",
    [SIM_POINT_KFD + 0x11] = "kfd.set_scratch_backing_va",
    [SIM_POINT_KFD + 0x13] = "kfd.set_trap_handler",
    [SIM_POINT_KFD + 0x14] = "kfd.get_process_apertures_new",
    [SIM_POINT_KFD + 0x15] = "kfd.acquire_vm",
    [SIM_POINT_KFD + 0x16] = "kfd.alloc_memory",
    [SIM_POINT_KFD + 0x17] = "kfd.free_memory",
    [SIM_POINT_KFD + 0x18] = "kfd.map_memory",
    [SIM_POINT_KFD + 0x19] = "kfd.unmap_memory",
    [SIM_POINT_KFD + 0x1c] = "kfd.get_dmabuf_info",
    [SIM_POINT_KFD + 0x1d] = "kfd.import_dmabuf",
    [SIM_POINT_KFD + 0x20] = "kfd.svm",
    [SIM_POINT_KFD + 0x21] = "kfd.set_xnack_mode",
    [SIM_POINT_KFD + 0x23] = "kfd.available_memory",
    [SIM_POINT_KFD + 0x24] = "kfd.export_dmabuf",
    [SIM_POINT_CRIU + KFD_CRIU_OP_PROCESS_INFO] = "kfd.criu.process_info",
    [SIM_POINT_CRIU + KFD_CRIU_OP_CHECKPOINT] = "kfd.criu.checkpoint",
    [SIM_POINT_CRIU + KFD_CRIU_OP_UNPAUSE] = "kfd.criu.unpause",
    [SIM_POINT_CRIU + KFD_CRIU_OP_RESTORE] = "kfd.criu.restore",
    [SIM_POINT_CRIU + KFD_CRIU_OP_RESUME] = "kfd.criu.resume",
    [SIM_POINT_DRM + 0x00] = "drm.gem_create",
    [SIM_POINT_DRM + 0x01] = "drm.gem_mmap",
    [SIM_POINT_DRM + 0x02] = "drm.ctx",
    [SIM_POINT_DRM + 0x03] = "drm.bo_list",
    [SIM_POINT_DRM + 0x04] = "drm.cs",
    [SIM_POINT_DRM + 0x05] = "drm.info",
    [SIM_POINT_DRM + 0x06] = "drm.gem_metadata",
    [SIM_POINT_DRM + 0x07] = "drm.gem_wait_idle",
    [SIM_POINT_DRM + 0x08] = "drm.gem_va",
    [SIM_POINT_DRM + 0x09] = "drm.wait_cs",
    [SIM_POINT_DRM + 0x10] = "drm.gem_op",
    [SIM_POINT_DRM + 0x11] = "drm.gem_userptr",
    [SIM_POINT_DRM + SIM_GEM_LIST_HANDLES] = "drm.gem_list_handles",
    [SIM_POINT_DRM + SIM_GEM_LIST_CONTEXTS] = "drm.gem_list_contexts",
    [SIM_POINT_CORE + 0] = "drm.gem_close",
    [SIM_POINT_CORE + 1] = "drm.prime_handle_to_fd",
    [SIM_POINT_CORE + 2] = "drm.prime_fd_to_handle",
    [SIM_POINT_CORE + 3] = "drm.gem_change_handle",
    [SIM_POINT_OTHER + SIM_OPEN_KFD] = "kfd.open",
    [SIM_POINT_OTHER + SIM_MMAP_KFD] = "kfd.mmap",
    [SIM_POINT_OTHER + SIM_OPEN_RENDER] = "drm.open",
    [SIM_POINT_OTHER + SIM_MMAP_RENDER] = "drm.mmap",
};

/* Returns 0, or the error that the caller must return. May sleep. */
int sim_point(unsigned int number) {
    struct point* point;
    u32 delay = 0;
    int error = 0;

    if (number >= SIM_POINTS) {
        return 0;
    }
    point = &points[number];
    spin_lock(&points_lock);
    point->hits++;
    if (point->fail_in && --point->fail_in == 0) {
        error = point->error;
        point->fail_in = --point->failures ? 1 : 0;
    }
    if (point->delay_in && --point->delay_in == 0) {
        delay = point->delay_ms;
    }
    spin_unlock(&points_lock);
    if (delay) {
        msleep_interruptible(delay);
    }
    if (error) {
        pr_info("amdgpu_sim: injected error %d at %s\n", error, names[number] ?: "a point without name");
    }
    return error;
}

/* Passes the point of an ioctl of DRM itself, if it has one. */
int sim_point_core(unsigned int drm_ioctl_number) {
    static const u8 numbers[] = {0x09, 0x2d, 0x2e, SIM_GEM_CHANGE_HANDLE};
    unsigned int i;

    for (i = 0; i < ARRAY_SIZE(numbers); i++) {
        if (numbers[i] == drm_ioctl_number) {
            return sim_point(SIM_POINT_CORE + i);
        }
    }
    return 0;
}

static int hits_show(struct seq_file* file, void* unused) {
    unsigned int i;

    for (i = 0; i < SIM_POINTS; i++) {
        if (READ_ONCE(points[i].hits) && names[i]) {
            seq_printf(file, "%s %u\n", names[i], READ_ONCE(points[i].hits));
        }
    }
    return 0;
}
DEFINE_SHOW_ATTRIBUTE(hits);

/* Parses "NAME NUMBER NUMBER [NUMBER]", the format of fault and delay. */
static int parse(const char __user* text, size_t size, struct point** point, u32* nth, u32* value, u32* count) {
    char line[96], name[64];
    unsigned int i;

    if (size >= sizeof(line)) {
        return -EINVAL;
    }
    if (copy_from_user(line, text, size)) {
        return -EFAULT;
    }
    line[size] = 0;
    *count = 1;
    if (sscanf(line, "%63s %u %u %u", name, nth, value, count) < 3 || !*nth || !*value || !*count) {
        return -EINVAL;
    }
    for (i = 0; i < SIM_POINTS; i++) {
        if (names[i] && strcmp(names[i], name) == 0) {
            *point = &points[i];
            return 0;
        }
    }
    return -ENOENT;
}

static ssize_t fault_write(struct file* file, const char __user* text, size_t size, loff_t* position) {
    struct point* point;
    u32 nth, error, count;
    int result = parse(text, size, &point, &nth, &error, &count);

    if (result) {
        return result;
    }
    if (error > MAX_ERRNO) {
        return -EINVAL;
    }
    spin_lock(&points_lock);
    point->error = -(int)error;
    point->fail_in = nth;
    point->failures = count;
    spin_unlock(&points_lock);
    return size;
}

static ssize_t delay_write(struct file* file, const char __user* text, size_t size, loff_t* position) {
    struct point* point;
    u32 nth, delay, count;
    int result = parse(text, size, &point, &nth, &delay, &count);

    if (result) {
        return result;
    }
    spin_lock(&points_lock);
    point->delay_ms = delay;
    point->delay_in = nth;
    spin_unlock(&points_lock);
    return size;
}

static ssize_t clear_write(struct file* file, const char __user* text, size_t size, loff_t* position) {
    unsigned int i;

    spin_lock(&points_lock);
    memset(points, 0, sizeof(points));
    spin_unlock(&points_lock);
    sim_system_peak_reset();
    sim_notifications_reset();
    for (i = 0; i < sim_gpu_count; i++) {
        sim_gpu_reset_counts(sim_gpus[i]);
    }
    return size;
}

static ssize_t evict_write(struct file* file, const char __user* text, size_t size, loff_t* position) {
    unsigned int milliseconds;
    int result = kstrtouint_from_user(text, size, 0, &milliseconds);

    if (result) {
        return result;
    }
    sim_evict_all(milliseconds);
    return size;
}

static ssize_t reset_write(struct file* file, const char __user* text, size_t size, loff_t* position) {
    sim_reset_gpus();
    return size;
}

static int state_show(struct seq_file* file, void* unused) {
    unsigned int i;

    seq_printf(file,
               "processes %u\nbuffers %d\nsystem_peak %llu\nmigrations %llu\nmoves %llu\nnotifications %llu\n"
               "blocked %llu\nmissing %llu\nipc %u\n",
               sim_process_count(), atomic_read(&sim_bo_count), sim_system_peak(), sim_migrations(), sim_moves(),
               sim_notifications(), sim_notifications_blocked(), sim_user_pages_missing(), sim_ipc_allocations());
    for (i = 0; i < sim_gpu_count; i++) {
        struct sim_gpu* gpu = sim_gpus[i];

        seq_printf(
            file,
            "gpu %u id %u vram_used %llu bytes_copied %llu packets %llu vm_faults %llu contexts %d rings %llu %llu\n",
            i, gpu->properties.gpu_id, (u64)atomic64_read(&gpu->vram_used), (u64)atomic64_read(&gpu->bytes_copied),
            (u64)atomic64_read(&gpu->packets), (u64)atomic64_read(&gpu->vm_faults), READ_ONCE(gpu->most_contexts),
            sim_engine_done(gpu->engines[0]), sim_engine_done(gpu->engines[1]));
    }
    return 0;
}
DEFINE_SHOW_ATTRIBUTE(state);

static const struct file_operations fault_operations = {.owner = THIS_MODULE, .write = fault_write};
static const struct file_operations delay_operations = {.owner = THIS_MODULE, .write = delay_write};
static const struct file_operations evict_operations = {.owner = THIS_MODULE, .write = evict_write};
static const struct file_operations reset_operations = {.owner = THIS_MODULE, .write = reset_write};
static const struct file_operations clear_operations = {.owner = THIS_MODULE, .write = clear_write};

int sim_points_init(void) {
    folder = debugfs_create_dir("amdgpu_sim", NULL);
    if (IS_ERR(folder)) {
        return PTR_ERR(folder);
    }
    debugfs_create_file("hits", 0400, folder, NULL, &hits_fops);
    debugfs_create_file("state", 0400, folder, NULL, &state_fops);
    debugfs_create_file("fault", 0200, folder, NULL, &fault_operations);
    debugfs_create_file("delay", 0200, folder, NULL, &delay_operations);
    debugfs_create_file("clear", 0200, folder, NULL, &clear_operations);
    debugfs_create_file("evict", 0200, folder, NULL, &evict_operations);
    debugfs_create_file("reset", 0200, folder, NULL, &reset_operations);
    debugfs_create_u32("hang", 0600, folder, &sim_hangs);
    debugfs_create_u32("split_ranges", 0600, folder, &sim_split_ranges);
    debugfs_create_u32("bandwidth", 0600, folder, &sim_bandwidth);
    return 0;
}

void sim_points_exit(void) {
    debugfs_remove_recursive(folder);
}
