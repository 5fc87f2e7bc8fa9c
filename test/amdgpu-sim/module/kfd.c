// SPDX-License-Identifier: GPL-2.0-only
/* The device /dev/kfd: permissions of descriptors, and the dispatch of requests. */
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kfd.h"

#define MAX_ARGUMENTS 4096u
#define CREATE_PROCESS 0x25 /* the headers of this kernel lack this ioctl */

static int major;
static struct class* class;
static struct device* device;

static int kfd_open(struct inode* inode, struct file* file) {
    int result = sim_point(SIM_POINT_OTHER + SIM_OPEN_KFD);
    struct sim_process* process;

    if (result) {
        return result;
    }
    process = sim_process_open();
    if (IS_ERR(process)) {
        return PTR_ERR(process);
    }
    file->private_data = process;
    return 0;
}

static int kfd_release(struct inode* inode, struct file* file) {
    sim_process_put(file->private_data);
    return 0;
}

static long version(struct kfd_ioctl_get_version_args* arguments) {
    /* KFD_IOCTL_MINOR_VERSION of these Linux versions. */
    u32 minor = sim_interface >= 703   ? 23
                : sim_interface >= 619 ? 19
                : sim_interface >= 617 ? 18
                : sim_interface >= 608 ? 14
                                       : 11;

    *arguments = (struct kfd_ioctl_get_version_args){KFD_IOCTL_MAJOR_VERSION, minor};
    return 0;
}

static void fill_aperture(struct kfd_process_device_apertures* aperture, const struct sim_pdd* pdd) {
    *aperture = (struct kfd_process_device_apertures){
        .lds_base = 0x1000000000000ull,
        .lds_limit = 0x10000ffffffffull,
        .scratch_base = 0x2000000000000ull,
        .scratch_limit = 0x20000ffffffffull,
        .gpuvm_base = 0x200000,
        .gpuvm_limit = 0x7fffffffffffull,
        .gpu_id = pdd->user_gpu_id,
    };
}

static long apertures(struct sim_process* process, struct kfd_ioctl_get_process_apertures_args* arguments) {
    unsigned int i, count = 0;

    memset(arguments, 0, sizeof(*arguments));
    for (i = 0; i < sim_gpu_count && count < NUM_OF_SUPPORTED_GPUS; i++) {
        if (process->pdds[i].present) {
            fill_aperture(&arguments->process_apertures[count++], &process->pdds[i]);
        }
    }
    arguments->num_of_nodes = count;
    return 0;
}

/* Returns only the number if the caller has room for none. */
static long apertures_new(struct sim_process* process, struct kfd_ioctl_get_process_apertures_new_args* arguments) {
    struct kfd_process_device_apertures all[SIM_MAX_GPUS];
    u32 count = 0;
    unsigned int i;

    if (!arguments->num_of_nodes) {
        arguments->num_of_nodes = sim_pdd_count(process);
        return 0;
    }
    for (i = 0; i < sim_gpu_count && count < arguments->num_of_nodes; i++) {
        if (process->pdds[i].present) {
            fill_aperture(&all[count++], &process->pdds[i]);
        }
    }
    arguments->num_of_nodes = count;
    return copy_to_user(u64_to_user_ptr(arguments->kfd_process_device_apertures_ptr), all, count * sizeof(*all))
               ? -EFAULT
               : 0;
}

static long clock_counters(struct kfd_ioctl_get_clock_counters_args* arguments) {
    u64 now = ktime_get_boottime_ns();

    arguments->gpu_clock_counter = now / 10;
    arguments->cpu_clock_counter = ktime_get_raw_ns();
    arguments->system_clock_counter = now;
    arguments->system_clock_freq = NSEC_PER_SEC;
    return 0;
}

static long acquire_vm(struct sim_process* process, const struct kfd_ioctl_acquire_vm_args* arguments) {
    struct sim_pdd* pdd;
    long result;

    mutex_lock(&process->lock);
    pdd = sim_pdd_by_id(process, arguments->gpu_id);
    result = pdd ? sim_pdd_acquire(pdd, arguments->drm_fd) : -EINVAL;
    mutex_unlock(&process->lock);
    return result;
}

static long xnack_mode(struct sim_process* process, struct kfd_ioctl_set_xnack_mode_args* arguments) {
    long result = 0;

    mutex_lock(&process->lock);
    if (arguments->xnack_enabled < 0) {
        arguments->xnack_enabled = process->xnack;
    } else if (!idr_is_empty(&process->queues)) {
        result = -EBUSY;
    } else if (arguments->xnack_enabled && !sim_xnack) {
        result = -EPERM; /* kfd_ioctl_set_xnack_mode() of kfd_chardev.c, Linux 6.1 */
    } else {
        process->xnack = arguments->xnack_enabled;
    }
    mutex_unlock(&process->lock);
    return result;
}

static long dispatch(struct sim_process* process, unsigned int number, void* data) {
    switch (number) {
        case 0x01:
            return version(data);
        case 0x02:
        case 0x03:
        case 0x07:
            return sim_kfd_queue_ioctl(process, number, data);
        case 0x05:
            return clock_counters(data);
        case 0x06:
            return apertures(process, data);
        case 0x08:
        case 0x09:
        case 0x0a:
        case 0x0b:
        case 0x0c:
            return sim_kfd_event_ioctl(process, number, data);
        case 0x04: /* memory policy, scratch and trap handler steer shaders, which don't exist here */
        case 0x11:
        case 0x13:
            return 0;
        case 0x14:
            return apertures_new(process, data);
        case 0x15:
            return acquire_vm(process, data);
        case 0x16:
        case 0x17:
        case 0x18:
        case 0x19:
        case 0x1c:
        case 0x1d:
        case 0x23:
        case 0x24:
            return sim_kfd_memory_ioctl(process, number, data);
        case 0x20:
            return sim_kfd_svm_ioctl(process, data);
        case 0x21:
            return xnack_mode(process, data);
        case 0x22:
            return sim_kfd_criu(process, data);
        case SIM_IPC_IMPORT:
        case SIM_IPC_EXPORT:
            return sim_kfd_ipc_ioctl(process, number, data);
        default:
            pr_debug("amdgpu_sim: KFD ioctl 0x%02x is not simulated\n", number);
            return -EINVAL;
    }
}

/*
 * A descriptor serves the process that opened it. A child that has inherited or received it must open its own. The
 * tracer of that process may call checkpoint operations, too.
 */
static long may_use(const struct sim_process* process, unsigned int number) {
    bool traced;

    rcu_read_lock();
    traced = number == _IOC_NR(AMDKFD_IOC_CRIU_OP) && ptrace_parent(process->leader) == current;
    rcu_read_unlock();
    if (process->leader != current->group_leader && !traced) {
        return -EBADF;
    }
    if (number == _IOC_NR(AMDKFD_IOC_CRIU_OP) && !capable(CAP_CHECKPOINT_RESTORE) && !capable(CAP_SYS_ADMIN)) {
        return -EACCES;
    }
    return 0;
}

/* Gives the descriptor a context of its own, once: kfd_ioctl_create_process() of Linux 6.19. */
static long second_process(struct file* file) {
    struct sim_process *process = file->private_data, *second;

    if (process->secondary) {
        return -EINVAL;
    }
    second = sim_process_second();
    if (IS_ERR(second)) {
        return PTR_ERR(second);
    }
    file->private_data = second;
    sim_process_put(process);
    return 0;
}

static long kfd_ioctl(struct file* file, unsigned int command, unsigned long argument) {
    struct sim_process* process = file->private_data;
    unsigned int number = _IOC_NR(command), size = _IOC_SIZE(command),
                 point = number < SIM_POINT_CRIU ? SIM_POINT_KFD + number : SIM_POINTS;
    void* data;
    long result;

    if (_IOC_TYPE(command) != AMDKFD_IOCTL_BASE || number < AMDKFD_COMMAND_START ||
        (number > (sim_interface >= 619 ? CREATE_PROCESS : 0x24) &&
         !(sim_dkms && (number == SIM_IPC_IMPORT || number == SIM_IPC_EXPORT)))) {
        return -ENOTTY;
    }
    if (size > MAX_ARGUMENTS) {
        return -EINVAL;
    }
    result = may_use(process, number);
    if (result) {
        return result;
    }
    data = kzalloc(max(size, 256u), GFP_KERNEL);
    if (!data) {
        return -ENOMEM;
    }
    if ((_IOC_DIR(command) & _IOC_WRITE) && copy_from_user(data, (void __user*)argument, size)) {
        kfree(data);
        return -EFAULT;
    }
    if (number == _IOC_NR(AMDKFD_IOC_CRIU_OP)) {
        const struct kfd_ioctl_criu_args* criu = data;

        point = criu->op <= KFD_CRIU_OP_RESUME ? SIM_POINT_CRIU + criu->op : SIM_POINTS;
    }
    if (number == _IOC_NR(AMDKFD_IOC_SVM) && size >= sizeof(struct kfd_ioctl_svm_args)) {
        const struct kfd_ioctl_svm_args* svm = data;

        if (struct_size(svm, attrs, svm->nattr) > size) {
            kfree(data);
            return -EINVAL;
        }
    }
    if (number == CREATE_PROCESS) {
        result = second_process(file);
    } else {
        result = sim_point(point) ?: dispatch(process, number, data);
    }
    if ((_IOC_DIR(command) & _IOC_READ) && copy_to_user((void __user*)argument, data, size)) {
        result = -EFAULT;
    }
    kfree(data);
    return result;
}

static int map_pages(struct vm_area_struct* vma, void* memory, unsigned long size) {
    if (vma->vm_end - vma->vm_start != size) {
        return -EINVAL;
    }
    vma->vm_flags |= VM_IO | VM_DONTCOPY | VM_DONTEXPAND | VM_NORESERVE | VM_DONTDUMP | VM_PFNMAP;
    return remap_pfn_range(vma, vma->vm_start, page_to_pfn(virt_to_page(memory)), size, vma->vm_page_prot);
}

/*
 * The offset contains the GPU's real id, also after a restore where the program uses another id. From Linux 7.3 on it
 * contains the id that the program uses: kfd_mmap() of kfd_chardev.c, commit 2c381b75fae8. CHECKPOINT and RESTORE
 * still return the real one.
 */
static int kfd_mmap(struct file* file, struct vm_area_struct* vma) {
    struct sim_process* process = file->private_data;
    u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
    u32 id = offset >> SIM_MMAP_GPU_SHIFT & SIM_MMAP_GPU_MASK;
    struct sim_pdd* pdd = sim_interface >= 703 && id ? sim_pdd_by_id(process, id) : NULL;
    struct sim_gpu* gpu = sim_interface >= 703 ? (pdd ? pdd->gpu : NULL) : sim_gpu_by_id(id);
    int result = sim_point(SIM_POINT_OTHER + SIM_MMAP_KFD);

    if (result) {
        return result;
    }
    if (gpu && !process->pdds[gpu->index].present) {
        gpu = NULL;
    }
    if (process->mm != current->mm) {
        return -EBADF;
    }
    switch (offset >> SIM_MMAP_TYPE_SHIFT) {
        case SIM_MMAP_DOORBELL:
            return gpu ? map_pages(vma, process->pdds[gpu->index].doorbells, SIM_DOORBELL_BYTES) : -ENODEV;
        case SIM_MMAP_MMIO:
            return gpu ? map_pages(vma, page_address(gpu->mmio), PAGE_SIZE) : -ENODEV;
        case SIM_MMAP_EVENTS:
            return map_pages(vma, process->event_page, SIM_EVENT_PAGE_BYTES);
        default:
            return -EINVAL;
    }
}

static const struct file_operations operations = {
    .owner = THIS_MODULE,
    .open = kfd_open,
    .release = kfd_release,
    .unlocked_ioctl = kfd_ioctl,
    .mmap = kfd_mmap,
};

int sim_kfd_init(void) {
    int result = sim_processes_init();

    if (result) {
        return result;
    }
    major = register_chrdev(0, "kfd", &operations);
    if (major < 0) {
        result = major;
        goto no_device;
    }
    class = class_create(THIS_MODULE, "kfd");
    if (IS_ERR(class)) {
        result = PTR_ERR(class);
        goto no_class;
    }
    device = device_create(class, NULL, MKDEV(major, 0), NULL, "kfd");
    if (IS_ERR(device)) {
        result = PTR_ERR(device);
        goto no_node;
    }
    result = -ENOMEM;
    sim_proc_folder = kobject_create_and_add("proc", &device->kobj);
    if (sim_proc_folder) {
        result = sim_topology_init(&device->kobj);
    }
    if (!result) {
        return 0;
    }
    kobject_put(sim_proc_folder);
    device_destroy(class, MKDEV(major, 0));
no_node:
    class_destroy(class);
no_class:
    unregister_chrdev(major, "kfd");
no_device:
    sim_processes_exit();
    return result;
}

void sim_kfd_exit(void) {
    sim_topology_exit();
    kobject_put(sim_proc_folder);
    device_destroy(class, MKDEV(major, 0));
    class_destroy(class);
    unregister_chrdev(major, "kfd");
    sim_processes_exit();
}
