// SPDX-License-Identifier: GPL-2.0-only
/* GEM ioctls of newer kernels: list the handles, query their mappings, change handles. */
#include <drm/drm_prime.h>
#include <linux/dma-buf.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <uapi/drm/amdgpu_drm.h>

#include "sim.h"

#define OP_GET_MAPPING_INFO 2
#define ENTRY_IS_IMPORT 1u
#define ENTRY_IS_USERPTR 2u
#define MAX_ENTRIES 65536u

struct vm_entry {
    u64 address, size, offset, flags;
};

/* Fills the entries if all fit, and returns their number: amdgpu_gem.c of Linux 6.18. */
int sim_gem_list_handles(struct drm_device* drm, void* data, struct drm_file* file) {
    struct sim_list_handles* arguments = data;
    u32 room = min(arguments->num_entries, MAX_ENTRIES), count = 0;
    struct sim_list_handles_entry* entries = kvcalloc(max(room, 1u), sizeof(*entries), GFP_KERNEL);
    struct drm_gem_object* object;
    int handle, result = 0;

    if (!entries) {
        return -ENOMEM;
    }
    if (sim_interface < 618) {
        kvfree(entries);
        return -EINVAL;
    }
    spin_lock(&file->table_lock);
    idr_for_each_entry(&file->object_idr, object, handle) {
        const struct sim_bo* bo = sim_bo_of(object);

        if (count < room) {
            entries[count] = (struct sim_list_handles_entry){
                .gem_handle = handle,
                .flags = object->import_attach ? ENTRY_IS_IMPORT : 0,
                .size = object->size,
                .preferred_domains = bo->domains,
                .alloc_flags = bo->flags,
                .alignment = bo->alignment >> PAGE_SHIFT,
            };
            /* amdgpu_gem_list_handles_ioctl() of amdgpu_gem.c as in the series of June 2026 */
            if (sim_list_contexts && bo->user_mm) {
                entries[count].flags = ENTRY_IS_USERPTR;
                entries[count].preferred_domains = 0;
                entries[count].alignment = bo->user_address;
            }
        }
        count++;
    }
    spin_unlock(&file->table_lock);
    if (count <= room && copy_to_user(u64_to_user_ptr(arguments->entries), entries, count * sizeof(*entries))) {
        result = -EFAULT;
    }
    arguments->num_entries = count;
    kvfree(entries);
    return result;
}

/*
 * Fills the entries if all fit, and returns their number: amdgpu_gem_list_contexts_ioctl() of amdgpu_ctx.c as in the
 * series of June 2026.
 */
int sim_gem_list_contexts(struct drm_device* drm, void* data, struct drm_file* file) {
    struct sim_list_contexts* arguments = data;
    u32 room = min(arguments->num_contexts, MAX_ENTRIES), count = 0;
    struct sim_list_contexts_entry* entries;
    struct sim_file* own = file->driver_priv;
    const struct sim_context* context;
    int id, result = 0;

    if (!sim_list_contexts || arguments->padding) {
        return -EINVAL;
    }
    entries = kvcalloc(max(room, 1u), sizeof(*entries), GFP_KERNEL);
    if (!entries) {
        return -ENOMEM;
    }
    mutex_lock(&own->lock);
    idr_for_each_entry(&own->contexts, context, id) {
        if (count < room) {
            entries[count] = (struct sim_list_contexts_entry){
                .handle = id, .init_priority = context->priority, .override_priority = AMDGPU_CTX_PRIORITY_UNSET};
        }
        count++;
    }
    mutex_unlock(&own->lock);
    if (count <= room && copy_to_user(u64_to_user_ptr(arguments->contexts), entries, count * sizeof(*entries))) {
        result = -EFAULT;
    }
    arguments->num_contexts = count;
    kvfree(entries);
    return result;
}

static int mapping_info(struct sim_file* own, const struct sim_bo* bo, struct sim_gem_op_arguments* arguments) {
    u32 room = min(arguments->num_entries, MAX_ENTRIES), count = 0;
    struct vm_entry* entries = kvcalloc(max(room, 1u), sizeof(*entries), GFP_KERNEL);
    const struct sim_mapping* mapping;
    int result = 0;

    if (!entries) {
        return -ENOMEM;
    }
    mutex_lock(&own->vm->lock);
    list_for_each_entry(mapping, &own->vm->mappings, link) {
        if (mapping->bo != bo) {
            continue;
        }
        if (count < room) {
            entries[count] = (struct vm_entry){mapping->start, mapping->size, mapping->offset, mapping->flags};
        }
        count++;
    }
    mutex_unlock(&own->vm->lock);
    if (copy_to_user(u64_to_user_ptr(arguments->value), entries, min(count, room) * sizeof(*entries))) {
        result = -EFAULT;
    }
    arguments->num_entries = count;
    kvfree(entries);
    return result;
}

int sim_gem_op(struct drm_device* drm, void* data, struct drm_file* file) {
    struct sim_gem_op_arguments* arguments = data;
    struct drm_gem_object* object = drm_gem_object_lookup(file, arguments->handle);
    struct sim_bo* bo;
    int result = 0;

    if (!object) {
        return -ENOENT;
    }
    bo = sim_bo_of(object);
    switch (arguments->op) {
        case AMDGPU_GEM_OP_GET_GEM_CREATE_INFO: {
            struct drm_amdgpu_gem_create_in in = {
                .bo_size = object->size, .alignment = bo->alignment, .domains = bo->domains, .domain_flags = bo->flags};

            if (copy_to_user(u64_to_user_ptr(arguments->value), &in, sizeof(in))) {
                result = -EFAULT;
            }
            break;
        }
        case AMDGPU_GEM_OP_SET_PLACEMENT:
            if (object->import_attach || bo->user_mm) {
                result = -EINVAL;
            } else {
                bo->domains =
                    arguments->value & (AMDGPU_GEM_DOMAIN_VRAM | AMDGPU_GEM_DOMAIN_GTT | AMDGPU_GEM_DOMAIN_CPU);
            }
            break;
        case OP_GET_MAPPING_INFO:
            result = sim_interface < 618 ? -EINVAL : mapping_info(file->driver_priv, bo, arguments);
            break;
        default:
            result = -EINVAL;
    }
    drm_gem_object_put(object);
    return result;
}

/* Copy of DRM's record of a file's handle and dma-buf, which Linux 6.1 keeps private. */
struct prime_member {
    struct dma_buf* dma_buf;
    u32 handle;
    struct rb_node by_dma_buf, by_handle;
};

/* Moves a record to its new position in the tree that is sorted by handles. */
static void rename_member(struct drm_prime_file_private* prime, u32 old, u32 new) {
    struct rb_node *node = prime->handles.rb_node, *parent = NULL, **place = &prime->handles.rb_node;
    struct prime_member* member = NULL;

    while (node) {
        member = rb_entry(node, struct prime_member, by_handle);
        if (member->handle == old) {
            break;
        }
        node = old > member->handle ? node->rb_right : node->rb_left;
    }
    if (!node) {
        return; /* neither imported nor exported */
    }
    rb_erase(node, &prime->handles);
    member->handle = new;
    while (*place) {
        parent = *place;
        place = new > rb_entry(parent, struct prime_member, by_handle)->handle ? &parent->rb_right : &parent->rb_left;
    }
    rb_link_node(node, parent, place);
    rb_insert_color(node, &prime->handles);
}

int sim_gem_change_handle(struct drm_file* file, unsigned long argument) {
    struct {
        u32 handle, new_handle;
    } arguments;
    struct drm_gem_object* object;
    int result;

    if (copy_from_user(&arguments, (void __user*)argument, sizeof(arguments))) {
        return -EFAULT;
    }
    if (!arguments.new_handle || arguments.new_handle > INT_MAX) {
        return -EINVAL;
    }
    if (arguments.handle == arguments.new_handle) {
        return 0;
    }
    mutex_lock(&file->prime.lock);
    idr_preload(GFP_KERNEL);
    spin_lock(&file->table_lock);
    object = idr_find(&file->object_idr, arguments.handle);
    result = object ? idr_alloc(&file->object_idr, object, arguments.new_handle, arguments.new_handle + 1, GFP_NOWAIT)
                    : -ENOENT;
    if (result >= 0) {
        idr_remove(&file->object_idr, arguments.handle);
        result = 0;
    }
    spin_unlock(&file->table_lock);
    idr_preload_end();
    if (!result) {
        rename_member(&file->prime, arguments.handle, arguments.new_handle);
    }
    mutex_unlock(&file->prime.lock);
    return result;
}
