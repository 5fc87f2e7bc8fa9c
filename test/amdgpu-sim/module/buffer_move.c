// SPDX-License-Identifier: GPL-2.0-only
/*
 * Moves of buffers. The real driver evicts video memory on demand and brings it back at another place (amdgpu_bo_move()
 * of amdgpu_ttm.c, Linux 6.1). This driver exchanges the pages of a buffer, with their content. Code that uses an
 * outdated page then meets other content.
 */
#include <drm/drm_vma_manager.h>
#include <linux/highmem.h>
#include <linux/rwsem.h>
#include <linux/slab.h>

#include "sim.h"

static LIST_HEAD(movable);
static DEFINE_MUTEX(movable_lock);
/* Held for reading while code uses a page that it has looked up. Taken before the locks of address spaces. */
static DECLARE_RWSEM(places);
static atomic64_t moves = ATOMIC64_INIT(0);

u64 sim_moves(void) {
    return atomic64_read(&moves);
}

void sim_hold_places(void) {
    down_read(&places);
}

void sim_release_places(void) {
    up_read(&places);
}

void sim_bo_movable(struct sim_bo* bo) {
    mutex_lock(&movable_lock);
    list_add(&bo->movable, &movable);
    mutex_unlock(&movable_lock);
}

/* Makes a buffer immovable, also because another device has its page list: the kernel pins such buffers. */
void sim_bo_immovable(struct sim_bo* bo) {
    mutex_lock(&movable_lock);
    if (!list_empty(&bo->movable)) {
        list_del_init(&bo->movable);
    }
    mutex_unlock(&movable_lock);
}

static void rotate(struct sim_bo* bo, u64 count, void* scratch) {
    struct page* first = bo->pages[0];
    u64 i;

    memcpy_from_page(scratch, bo->pages[count - 1], 0, PAGE_SIZE);
    for (i = count - 1; i > 0; i--) {
        copy_highpage(bo->pages[i], bo->pages[i - 1]);
    }
    memcpy_to_page(bo->pages[0], 0, scratch, PAGE_SIZE);
    /* Page i of the buffer is now at the place of page i + 1. */
    for (i = 0; i + 1 < count; i++) {
        bo->pages[i] = bo->pages[i + 1];
    }
    bo->pages[count - 1] = first;
}

/*
 * Moves all buffers while no queue runs. CPU mappings are removed and find the new pages by a fault
 * (ttm_bo_unmap_virtual()).
 */
void sim_bo_move_all(void) {
    void* scratch = kmalloc(PAGE_SIZE, GFP_KERNEL);
    struct sim_bo* bo;

    if (!scratch) {
        return;
    }
    down_write(&places);
    mutex_lock(&movable_lock);
    list_for_each_entry(bo, &movable, movable) {
        struct drm_gem_object* object = sim_gem(bo);
        u64 count = object->size >> PAGE_SHIFT;

        if (count < 2) {
            continue;
        }
        mutex_lock(&bo->base.pages_lock); /* a page fault takes this lock, too */
        drm_vma_node_unmap(&object->vma_node, object->dev->anon_inode->i_mapping);
        rotate(bo, count, scratch);
        mutex_unlock(&bo->base.pages_lock);
        atomic64_inc(&moves);
    }
    mutex_unlock(&movable_lock);
    up_write(&places);
    kfree(scratch);
}
