// SPDX-License-Identifier: GPL-2.0-only
/* The module: its parameters, and a platform device for each GPU. */
#include <drm/drm_drv.h>
#include <drm/drm_ioctl.h>
#include <linux/device_cgroup.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <uapi/drm/amdgpu_drm.h>

#include "sim.h"

static unsigned int gpus = 2;
module_param(gpus, uint, 0444);
MODULE_PARM_DESC(gpus, "number of GPUs, 1 to 8");
static bool swapped;
module_param(swapped, bool, 0444);
MODULE_PARM_DESC(swapped,
                 "GPUs in the opposite order: other render nodes and topology nodes for the same ids and properties");
static unsigned int gpu_id[SIM_MAX_GPUS] = {0x5a01, 0x7b02, 0x2c03, 0x9d04, 0xae05, 0x3f06, 0x6107, 0xc208};
module_param_array(gpu_id, uint, NULL, 0444);
MODULE_PARM_DESC(gpu_id, "ids in the topology, 1 to 65535");
static unsigned int device_id[SIM_MAX_GPUS] = {[0 ... SIM_MAX_GPUS - 1] = 0x7408};
module_param_array(device_id, uint, NULL, 0444);
static unsigned int simd_count[SIM_MAX_GPUS] = {[0 ... SIM_MAX_GPUS - 1] = 416};
module_param_array(simd_count, uint, NULL, 0444);
static unsigned int vram_mb[SIM_MAX_GPUS] = {[0 ... SIM_MAX_GPUS - 1] = 4096};
module_param_array(vram_mb, uint, NULL, 0444);
MODULE_PARM_DESC(vram_mb, "size of the video memory in MiB; allocations beyond it fail");
static unsigned int fw_version[SIM_MAX_GPUS] = {[0 ... SIM_MAX_GPUS - 1] = 68};
module_param_array(fw_version, uint, NULL, 0444);
static unsigned int sdma_fw_version[SIM_MAX_GPUS] = {[0 ... SIM_MAX_GPUS - 1] = 8};
module_param_array(sdma_fw_version, uint, NULL, 0444);

unsigned int sim_capability = 0x2c78a280;
module_param_named(capability, sim_capability, uint, 0444);
MODULE_PARM_DESC(capability, "capability word of all GPUs in the topology");

unsigned int sim_family = AMDGPU_FAMILY_AI;
module_param_named(family, sim_family, uint, 0444);
MODULE_PARM_DESC(family, "AMDGPU_FAMILY_ number that programs are told; 141 (AI, GFX9)");
unsigned int sim_interface = 618;
module_param_named(interface, sim_interface, uint, 0444);
MODULE_PARM_DESC(interface, "which Linux's interface this is: 601, 604, 608, 617, 618, 619 or 703, for 6.1 and so on");
bool sim_change_handle;
module_param_named(change_handle, sim_change_handle, bool, 0444);
MODULE_PARM_DESC(change_handle, "GEM_CHANGE_HANDLE works, as in the first versions of Linux 6.18 only");
bool sim_vram_pinned;
module_param_named(vram_pinned, sim_vram_pinned, bool, 0644);
MODULE_PARM_DESC(vram_pinned, "video memory can't be moved to where the processor reaches it: SIGBUS");
unsigned int sim_xccs = 1;
module_param_named(xccs, sim_xccs, uint, 0444);
MODULE_PARM_DESC(xccs, "dies of each GPU that work for one compute queue, 1 to 8");
unsigned int sim_split_ranges;
bool sim_xgmi;
module_param_named(xgmi, sim_xgmi, bool, 0444);
MODULE_PARM_DESC(xgmi, "GPUs are linked to each other by XGMI");
bool sim_vram_visible = true;
module_param_named(vram_visible, sim_vram_visible, bool, 0444);
MODULE_PARM_DESC(vram_visible, "processors may map video memory (a large BAR)");
bool sim_plain_counts;
module_param_named(sdma_plain_counts, sim_plain_counts, bool, 0444);
MODULE_PARM_DESC(sdma_plain_counts, "copy packets count bytes on every family, not bytes - 1 from GFX9 on");
unsigned int sim_bandwidth;
module_param_named(bandwidth, sim_bandwidth, uint, 0644);
MODULE_PARM_DESC(bandwidth, "of each GPU's link in MiB/s, 0: as fast as it goes");
/*
 * AMD's driver has a module version, and other records of buffers in private data. The driver of Linux has none.
 */
bool sim_dkms;
module_param_named(dkms, sim_dkms, bool, 0444);
MODULE_PARM_DESC(dkms, "AMD's driver (DKMS) instead of that of Linux");

static ssize_t version_show(struct module_attribute* attribute, struct module_kobject* module, char* buffer) {
    return sysfs_emit(buffer, "6.16.13\n");
}
static struct module_attribute version_file = __ATTR(version, 0444, version_show, NULL);

int sim_resume_delay;
module_param_named(resume_delay, sim_resume_delay, int, 0644);
MODULE_PARM_DESC(resume_delay, "milliseconds from RESUME to the start of queues; -1: they never start");
int sim_resume_failures;
module_param_named(resume_failures, sim_resume_failures, int, 0644);
MODULE_PARM_DESC(resume_failures, "so many of the next attempts to start queues after RESUME fail, and are repeated");
bool sim_evicted_counts = true;
module_param_named(evicted_counts, sim_evicted_counts, bool, 0644);
MODULE_PARM_DESC(evicted_counts, "evicted_ms counts the time for which queues stand still");
unsigned int sim_hangs;
bool sim_free_copies;
module_param_named(free_copies, sim_free_copies, bool, 0644);
MODULE_PARM_DESC(free_copies, "submitted copies move no bytes and only take the link's time, for measurements");
bool sim_list_contexts;
module_param_named(list_contexts, sim_list_contexts, bool, 0444);
MODULE_PARM_DESC(list_contexts, "GEM_LIST_CONTEXTS works, and lists of buffers tell memory of processes");
unsigned int sim_private_version = 1;
module_param_named(private_version, sim_private_version, uint, 0644);
MODULE_PARM_DESC(private_version, "KFD_CRIU_PRIV_VERSION; RESTORE refuses any other");
bool sim_xnack = true;
module_param_named(xnack, sim_xnack, bool, 0644);
MODULE_PARM_DESC(xnack, "GPUs repeat accesses after a page fault (XNACK) if a process wants that");
bool sim_kernel_rings = true;
module_param_named(kernel_rings, sim_kernel_rings, bool, 0444);
MODULE_PARM_DESC(kernel_rings, "programs may submit to the rings of the SDMA engines; not with amdgpu.user_queue=2");
bool sim_keep_vram;
module_param_named(keep_vram, sim_keep_vram, bool, 0644);
MODULE_PARM_DESC(keep_vram, "memory of freed buffers is wiped and kept for the next of their size, for measurements");

struct sim_gpu* sim_gpus[SIM_MAX_GPUS];
unsigned int sim_gpu_count;
static struct platform_device* devices[SIM_MAX_GPUS];

struct sim_gpu* sim_gpu_by_id(u32 id) {
    unsigned int i;

    for (i = 0; i < sim_gpu_count; i++) {
        if (sim_gpus[i]->properties.gpu_id == id) {
            return sim_gpus[i];
        }
    }
    return NULL;
}

/*
 * Returns true if the device rules of the calling task's cgroup allow the GPU. kfd_devcgroup_check_permission() of
 * kfd_priv.h (Linux 6.1) requires reading and writing of the render node.
 */
bool sim_gpu_allowed(const struct sim_gpu* gpu) {
    return !devcgroup_check_permission(DEVCG_DEV_CHAR, DRM_MAJOR, gpu->drm.render->index,
                                       DEVCG_ACC_READ | DEVCG_ACC_WRITE);
}

static void destroy_engines(struct sim_gpu* gpu, unsigned int count) {
    while (count--) {
        sim_engine_destroy(gpu->engines[count]);
    }
}

static int create_engines(struct sim_gpu* gpu) {
    unsigned int ring;

    for (ring = 0; ring < SIM_RINGS; ring++) {
        gpu->engines[ring] = sim_engine_create(gpu, ring);
        if (IS_ERR(gpu->engines[ring])) {
            destroy_engines(gpu, ring);
            return PTR_ERR(gpu->engines[ring]);
        }
    }
    return 0;
}

static int probe(struct platform_device* device) {
    unsigned int place = device->id, which = swapped ? gpus - 1 - place : place;
    struct sim_gpu* gpu;
    int result = dma_coerce_mask_and_coherent(&device->dev, DMA_BIT_MASK(64));

    if (result) {
        return result;
    }
    gpu = devm_drm_dev_alloc(&device->dev, &sim_driver, struct sim_gpu, drm);
    if (IS_ERR(gpu)) {
        return PTR_ERR(gpu);
    }
    gpu->index = place;
    gpu->properties = (struct sim_properties){
        .gpu_id = gpu_id[which],
        .device_id = device_id[which],
        .simd_count = simd_count[which],
        .fw_version = fw_version[which],
        .sdma_fw_version = sdma_fw_version[which],
        .vram_size = (u64)vram_mb[which] << 20,
    };
    sim_vram_init(gpu);
    gpu->mmio = alloc_page(GFP_KERNEL | __GFP_ZERO);
    if (!gpu->mmio) {
        return -ENOMEM;
    }
    spin_lock_init(&gpu->link_lock);
    result = create_engines(gpu);
    if (result) {
        goto no_engine;
    }
    result = drm_dev_register(&gpu->drm, 0);
    if (result) {
        goto not_registered;
    }
    platform_set_drvdata(device, gpu);
    sim_gpus[place] = gpu;
    return 0;

not_registered:
    destroy_engines(gpu, SIM_RINGS);
no_engine:
    __free_page(gpu->mmio);
    return result;
}

static int remove(struct platform_device* device) {
    struct sim_gpu* gpu = platform_get_drvdata(device);

    drm_dev_unregister(&gpu->drm);
    destroy_engines(gpu, SIM_RINGS);
    sim_vram_release(gpu);
    __free_page(gpu->mmio);
    return 0;
}

static struct platform_driver driver = {.probe = probe, .remove = remove, .driver = {.name = "amdgpu"}};

static void remove_devices(void) {
    unsigned int i;

    for (i = 0; i < gpus; i++) {
        if (devices[i]) {
            platform_device_unregister(devices[i]);
        }
    }
    platform_driver_unregister(&driver);
}

static int __init start(void) {
    unsigned int i;
    int result;

    if (gpus < 1 || gpus > SIM_MAX_GPUS || sim_xccs < 1 || sim_xccs > 8) {
        return -EINVAL;
    }
    sim_bo_init();
    result = platform_driver_register(&driver);
    if (result) {
        return result;
    }
    for (i = 0; i < gpus; i++) {
        struct platform_device* device = platform_device_register_simple("amdgpu", i, NULL, 0);

        if (IS_ERR(device)) {
            result = PTR_ERR(device);
            goto failed;
        }
        devices[i] = device;
        if (!sim_gpus[i]) {
            result = -ENODEV;
            goto failed;
        }
    }
    sim_gpu_count = gpus;
    if (sim_dkms) {
        result = sysfs_create_file(&THIS_MODULE->mkobj.kobj, &version_file.attr);
        if (result) {
            goto failed;
        }
    }
    result = sim_points_init();
    if (result) {
        goto failed;
    }
    result = sim_kfd_init();
    if (result) {
        goto no_kfd;
    }
    pr_info("amdgpu_sim: %u simulated GPUs; no hardware is behind them\n", gpus);
    return 0;

no_kfd:
    sim_points_exit();
failed:
    remove_devices();
    return result;
}

static void __exit stop(void) {
    if (sim_dkms) {
        sysfs_remove_file(&THIS_MODULE->mkobj.kobj, &version_file.attr);
    }
    sim_kfd_exit();
    sim_points_exit();
    remove_devices();
}

module_init(start);
module_exit(stop);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Simulated amdgpu and KFD driver for tests");
MODULE_IMPORT_NS(DMA_BUF);
