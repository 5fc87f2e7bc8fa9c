// SPDX-License-Identifier: GPL-2.0-only
/* GPU address spaces: the mappings of buffer parts to GPU addresses. */
#include <linux/slab.h>

#include "sim.h"

struct sim_vm* sim_vm_create(struct sim_gpu* gpu) {
    struct sim_vm* vm = kzalloc(sizeof(*vm), GFP_KERNEL);

    if (vm) {
        kref_init(&vm->references);
        mutex_init(&vm->lock);
        INIT_LIST_HEAD(&vm->mappings);
        vm->gpu = gpu;
    }
    return vm;
}

static void mapping_free(struct sim_mapping* mapping) {
    list_del(&mapping->link);
    sim_bo_put(mapping->bo);
    kfree(mapping);
}

void sim_vm_clear_all(struct sim_vm* vm) {
    struct sim_mapping *mapping, *next;

    mutex_lock(&vm->lock);
    list_for_each_entry_safe(mapping, next, &vm->mappings, link) {
        mapping_free(mapping);
    }
    mutex_unlock(&vm->lock);
}

static void vm_free(struct kref* references) {
    struct sim_vm* vm = container_of(references, struct sim_vm, references);

    sim_vm_clear_all(vm);
    kfree(vm);
}

void sim_vm_put(struct sim_vm* vm) {
    kref_put(&vm->references, vm_free);
}

static bool aligned(u64 start, u64 size) {
    return size && !offset_in_page(start) && !offset_in_page(size) && start + size > start;
}

static struct sim_mapping* mapping_new(struct sim_bo* bo, u64 start, u64 size, u64 offset, u64 flags) {
    struct sim_mapping* mapping = kmalloc(sizeof(*mapping), GFP_KERNEL);

    if (mapping) {
        *mapping = (struct sim_mapping){.bo = bo, .start = start, .size = size, .offset = offset, .flags = flags};
        sim_bo_get(bo);
    }
    return mapping;
}

static int check(struct sim_bo* bo, u64 start, u64 size, u64 offset) {
    if (!aligned(start, size) || offset_in_page(offset) || offset > sim_gem(bo)->size ||
        size > sim_gem(bo)->size - offset) {
        return -EINVAL;
    }
    return 0;
}

/* Maps a part of a buffer. Returns -EINVAL if the range has a mapping. */
int sim_vm_map(struct sim_vm* vm, struct sim_bo* bo, u64 start, u64 size, u64 offset, u64 flags) {
    struct sim_mapping *mapping, *added;
    int result = check(bo, start, size, offset);

    if (result) {
        return result;
    }
    added = mapping_new(bo, start, size, offset, flags);
    if (!added) {
        return -ENOMEM;
    }
    mutex_lock(&vm->lock);
    list_for_each_entry(mapping, &vm->mappings, link) {
        if (start < mapping->start + mapping->size && mapping->start < start + size) {
            result = -EINVAL;
        }
    }
    list_add_tail(&added->link, &vm->mappings);
    if (result) {
        mapping_free(added);
    }
    mutex_unlock(&vm->lock);
    return result;
}

/* Returns true if exactly this range is a mapping. */
bool sim_vm_is_one_mapping(struct sim_vm* vm, u64 start, u64 size) {
    struct sim_mapping* mapping;
    bool found = false;

    mutex_lock(&vm->lock);
    list_for_each_entry(mapping, &vm->mappings, link) {
        if (mapping->start == start && mapping->size == size) {
            found = true;
            break;
        }
    }
    mutex_unlock(&vm->lock);
    return found;
}

/* Removes one mapping, identified by its buffer and first address. */
int sim_vm_unmap(struct sim_vm* vm, struct sim_bo* bo, u64 start) {
    struct sim_mapping* mapping;
    int result = -ENOENT;

    mutex_lock(&vm->lock);
    list_for_each_entry(mapping, &vm->mappings, link) {
        if (mapping->bo == bo && mapping->start == start) {
            mapping_free(mapping);
            result = 0;
            break;
        }
    }
    mutex_unlock(&vm->lock);
    return result;
}

/* Removes all mappings in a range. A mapping that crosses a border keeps its other part. */
int sim_vm_clear(struct sim_vm* vm, u64 start, u64 size) {
    struct sim_mapping *mapping, *next;
    u64 end = start + size;
    int result = 0;

    if (!aligned(start, size)) {
        return -EINVAL;
    }
    mutex_lock(&vm->lock);
    list_for_each_entry_safe(mapping, next, &vm->mappings, link) {
        u64 first = mapping->start, last = mapping->start + mapping->size;

        if (end <= first || last <= start) {
            continue;
        }
        if (first < start && last > end) {
            struct sim_mapping* tail =
                mapping_new(mapping->bo, end, last - end, mapping->offset + (end - first), mapping->flags);

            if (!tail) {
                result = -ENOMEM;
                break;
            }
            list_add(&tail->link, &mapping->link);
            mapping->size = start - first;
        } else if (first < start) {
            mapping->size = start - first;
        } else if (last > end) {
            mapping->offset += end - first;
            mapping->start = end;
            mapping->size = last - end;
        } else {
            mapping_free(mapping);
        }
    }
    mutex_unlock(&vm->lock);
    return result;
}

int sim_vm_replace(struct sim_vm* vm, struct sim_bo* bo, u64 start, u64 size, u64 offset, u64 flags) {
    int result = check(bo, start, size, offset);

    if (!result) {
        result = sim_vm_clear(vm, start, size);
    }
    return result ?: sim_vm_map(vm, bo, start, size, offset, flags);
}
