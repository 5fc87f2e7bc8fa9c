// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/class/kfd/kfd/topology: one node for the processors and one for each GPU, with memory banks and links. An extra
 * file "simulated" distinguishes it from hardware.
 */
#include <drm/drm_file.h>
#include <linux/kobject.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "sim.h"

struct text_file {
    struct attribute attribute;
    char* text;
    struct text_file* next;
};

struct folder {
    struct kobject kobject;
    const struct sim_gpu* gpu; /* GPU of these files, or NULL */
    struct list_head link;
    struct text_file* files;
};

enum { LINK_PCIE = 2, LINK_XGMI = 11, HEAP_SYSTEM = 0, HEAP_PUBLIC = 1, HEAP_PRIVATE = 2 };

static LIST_HEAD(folders); /* children before their parents */

static ssize_t show(struct kobject* kobject, struct attribute* attribute, char* buffer) {
    const struct folder* folder = container_of(kobject, struct folder, kobject);

    /* node_show(), mem_show() and iolink_show() of kfd_topology.c (Linux 6.1) */
    if (folder->gpu && !sim_gpu_allowed(folder->gpu)) {
        return -EPERM;
    }
    return sysfs_emit(buffer, "%s", container_of(attribute, struct text_file, attribute)->text);
}

static void folder_release(struct kobject* kobject) {
    struct folder* folder = container_of(kobject, struct folder, kobject);

    while (folder->files) {
        struct text_file* file = folder->files;

        folder->files = file->next;
        kfree(file->attribute.name);
        kfree(file->text);
        kfree(file);
    }
    kfree(folder);
}

static const struct sysfs_ops folder_operations = {.show = show};
static const struct kobj_type folder_type = {.sysfs_ops = &folder_operations, .release = folder_release};

static struct folder* make_folder(struct kobject* parent, const char* name) {
    struct folder* folder = kzalloc(sizeof(*folder), GFP_KERNEL);

    if (!folder) {
        return NULL;
    }
    if (kobject_init_and_add(&folder->kobject, (struct kobj_type*)&folder_type, parent, "%s", name)) {
        kobject_put(&folder->kobject);
        return NULL;
    }
    list_add(&folder->link, &folders);
    if (parent->ktype == &folder_type) {
        folder->gpu = container_of(parent, struct folder, kobject)->gpu;
    }
    return folder;
}

static struct folder* make_numbered(struct folder* parent, unsigned int number) {
    char name[12];

    scnprintf(name, sizeof(name), "%u", number);
    return parent ? make_folder(&parent->kobject, name) : NULL;
}

/* Returns false without memory, or if `folder` is NULL. */
static __printf(3, 4) bool make_file(struct folder* folder, const char* name, const char* format, ...) {
    struct text_file* file = folder ? kzalloc(sizeof(*file), GFP_KERNEL) : NULL;
    va_list arguments;

    if (!file) {
        return false;
    }
    va_start(arguments, format);
    file->text = kvasprintf(GFP_KERNEL, format, arguments);
    va_end(arguments);
    sysfs_attr_init(&file->attribute);
    file->attribute.name = kstrdup(name, GFP_KERNEL);
    file->attribute.mode = 0444;
    file->next = folder->files;
    folder->files = file;
    return file->text && file->attribute.name && !sysfs_create_file(&folder->kobject, &file->attribute);
}

static bool make_link(struct folder* links, unsigned int number, unsigned int type, unsigned int from,
                      unsigned int to) {
    return make_file(make_numbered(links, number), "properties",
                     "type %u\nversion_major 0\nversion_minor 0\nnode_from %u\nnode_to %u\nweight %u\n"
                     "min_latency 0\nmax_latency 0\nmin_bandwidth 312\nmax_bandwidth 64000\n"
                     "recommended_transfer_size 0\nflags 1\n",
                     type, from, to, type == LINK_XGMI ? 15 : 20);
}

#define ARRAYS 8u

/*
 * Computes the sizes as kfd_queue_ctx_save_restore_size() of kfd_queue.c (Linux 6.12) does for this GFX version: for
 * each compute unit 512 KiB of vector registers, 16 KiB of scalar ones, 64 KiB of local memory and 4 KiB of others.
 */
struct sim_save_area sim_save_area_of(const struct sim_gpu* gpu) {
    u32 units = gpu->properties.simd_count / SIM_SIMD_PER_CU / sim_xccs, waves = min(units * 40, ARRAYS * 512);
    struct sim_save_area area = {.control_stack = PAGE_ALIGN(40 + waves * 8 + 8), .debugger = waves * 32};

    area.all = area.control_stack + units * ((512 + 16 + 64 + 4) << 10);
    return area;
}

static bool make_properties(struct folder* node, unsigned int number, const struct sim_gpu* gpu, unsigned int links) {
    const struct sim_properties none = {}, *of = gpu ? &gpu->properties : &none;

    return make_file(node, "gpu_id", "%u\n", of->gpu_id) && make_file(node, "name", gpu ? "simulated\n" : "\n") &&
           make_file(
               node, "properties",
               "cpu_cores_count %u\nsimd_count %u\nmem_banks_count 1\ncaches_count %u\nio_links_count %u\n"
               "p2p_links_count 0\ncpu_core_id_base 0\nsimd_id_base %u\nmax_waves_per_simd %u\nlds_size_in_kb %u\n"
               "gds_size_in_kb 0\nnum_gws %u\nwave_front_size %u\narray_count %u\nsimd_arrays_per_engine %u\n"
               "cu_per_simd_array %u\nsimd_per_cu %u\nmax_slots_scratch_cu %u\ngfx_target_version %u\n"
               "vendor_id %u\ndevice_id %u\nlocation_id %u\ndomain 0\ndrm_render_minor %u\nhive_id %u\n"
               "num_sdma_engines %u\nnum_sdma_xgmi_engines %u\nnum_sdma_queues_per_engine %u\nnum_cp_queues %u\n"
               "max_engine_clk_fcompute 1700\nlocal_mem_size 0\nfw_version %u\ncapability %u\nsdma_fw_version %u\n"
               "unique_id %u\nnum_xcc %u\nmax_engine_clk_ccompute 3000\n",
               gpu ? 0 : num_online_cpus(), of->simd_count, gpu ? 16 : 0, links, gpu ? 0x80000000u : 0, gpu ? 8 : 0,
               gpu ? 64 : 0, gpu ? 64 : 0, gpu ? 64 : 0, gpu ? ARRAYS : 0, gpu ? 1 : 0, gpu ? of->simd_count / 32 : 0,
               gpu ? SIM_SIMD_PER_CU : 0, gpu ? 32 : 0, gpu ? SIM_GFX_VERSION : 0, gpu ? 0x1002 : 0, of->device_id,
               number << 8, gpu ? gpu->drm.render->index : 0, gpu && sim_xgmi ? 1 : 0, gpu ? 2 : 0, gpu ? 3 : 0,
               gpu ? 8 : 0, gpu ? 24 : 0, of->fw_version, gpu ? sim_capability : 0, of->sdma_fw_version, of->gpu_id,
               gpu ? sim_xccs : 0);
}

/* Makes a node. Node 0 has the processors, node N the Nth GPU. */
static bool make_node(struct folder* nodes, unsigned int number) {
    const struct sim_gpu* gpu = number ? sim_gpus[number - 1] : NULL;
    unsigned int links = !gpu ? sim_gpu_count : sim_xgmi ? sim_gpu_count : 1, other, made = 0;
    struct folder *node = make_numbered(nodes, number), *banks, *io_links;

    if (node) {
        node->gpu = gpu;
    }
    if (!node || !make_properties(node, number, gpu, links)) {
        return false;
    }
    banks = make_folder(&node->kobject, "mem_banks");
    if (!make_file(make_numbered(banks, 0), "properties",
                   "heap_type %d\nsize_in_bytes %llu\nflags 0\nwidth 4096\nmem_clk_max 1600\n",
                   !gpu               ? HEAP_SYSTEM
                   : sim_vram_visible ? HEAP_PUBLIC
                                      : HEAP_PRIVATE,
                   gpu ? gpu->properties.vram_size : (u64)totalram_pages() << PAGE_SHIFT)) {
        return false;
    }
    io_links = make_folder(&node->kobject, "io_links");
    for (other = 0; other <= sim_gpu_count; other++) {
        bool gpu_to_gpu = gpu && other;

        if (other == number || (gpu_to_gpu && !sim_xgmi)) {
            continue;
        }
        if (!make_link(io_links, made++, gpu_to_gpu ? LINK_XGMI : LINK_PCIE, number, other)) {
            return false;
        }
    }
    return make_folder(&node->kobject, "caches") && make_folder(&node->kobject, "p2p_links");
}

int sim_topology_init(struct kobject* parent) {
    struct folder *top = make_folder(parent, "topology"), *nodes;
    unsigned int number;
    bool made = top && make_file(top, "simulated", "1\n") && make_file(top, "generation_id", "2\n") &&
                make_file(top, "system_properties", "platform_oem 0\nplatform_id 0\nplatform_rev 0\n");

    nodes = made ? make_folder(&top->kobject, "nodes") : NULL;
    for (number = 0; nodes && number <= sim_gpu_count; number++) {
        made = made && make_node(nodes, number);
    }
    if (!made || !nodes) {
        sim_topology_exit();
        return -ENOMEM;
    }
    return 0;
}

void sim_topology_exit(void) {
    struct folder *folder, *next;

    list_for_each_entry_safe(folder, next, &folders, link) {
        list_del(&folder->link);
        kobject_del(&folder->kobject);
        kobject_put(&folder->kobject);
    }
}
