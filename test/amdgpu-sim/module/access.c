// SPDX-License-Identifier: GPL-2.0-only
/* Memory access of engines and queues, through the GPU's address space, page by page. */
#include <linux/highmem.h>
#include <linux/kthread.h>
#include <linux/sched/mm.h>
#include <linux/uaccess.h>
#include <uapi/drm/amdgpu_drm.h>

#include "sim.h"

/* A range of memory that one access can use. */
struct stretch {
    struct page* page;    /* first of the physically contiguous pages of a buffer, or NULL */
    struct mm_struct* mm; /* address space of a process */
    u64 offset;           /* in the page, or the address in the process */
    u64 size;
};

/*
 * Returns the number of bytes from an offset on that are physically contiguous, as in a huge page. x86-64 has no
 * highmem, so they have consecutive kernel addresses. The limit is the size of an engine's copy.
 */
static u64 contiguous(const struct sim_bo* bo, u64 offset, u64 size) {
    u64 most = min_t(u64, size, 64 << 10), first = offset >> PAGE_SHIFT, at = first;
    u64 found = PAGE_SIZE - offset_in_page(offset);

    while (found < most && page_to_pfn(bo->pages[at + 1]) == page_to_pfn(bo->pages[at]) + 1) {
        found += PAGE_SIZE;
        at++;
    }
    return min(found, most);
}

static bool resident(const struct sim_view* view, const struct sim_bo* bo) {
    unsigned int i;

    if (!view->resident || (bo->flags & AMDGPU_GEM_CREATE_VM_ALWAYS_VALID)) {
        return true;
    }
    for (i = 0; i < view->resident_count; i++) {
        if (view->resident[i] == bo) {
            return true;
        }
    }
    return false;
}

/*
 * Finds the memory at an address. Returns false if no mapping allows this access. The caller holds the lock of the
 * address space.
 */
static bool look_up(const struct sim_view* view, u64 address, bool write, struct stretch* found) {
    u64 needed = write ? AMDGPU_VM_PAGE_WRITEABLE : AMDGPU_VM_PAGE_READABLE, end;
    struct sim_mapping* mapping;
    u64 whole = address;

    address &= SIM_HOLE_MASK;
    list_for_each_entry(mapping, &view->vm->mappings, link) {
        u64 offset;

        if (address < mapping->start || address >= mapping->start + mapping->size) {
            continue;
        }
        if (!(mapping->flags & needed) || !resident(view, mapping->bo)) {
            break;
        }
        offset = address - mapping->start + mapping->offset;
        if (mapping->bo->user_mm) {
            *found = (struct stretch){.mm = mapping->bo->user_mm,
                                      .offset = mapping->bo->user_address + offset,
                                      .size = mapping->start + mapping->size - address};
        } else {
            *found =
                (struct stretch){.page = mapping->bo->pages[offset >> PAGE_SHIFT],
                                 .offset = offset_in_page(offset),
                                 .size = contiguous(mapping->bo, offset, mapping->start + mapping->size - address)};
        }
        return true;
    }
    if (view->svm && view->svm->allowed(view->svm->context, whole, write, &end)) {
        *found = (struct stretch){.mm = view->svm->mm, .offset = whole, .size = end - whole};
        return true;
    }
    return false;
}

/* Finds the memory at an address. Otherwise records a fault and returns -EFAULT. */
static int find(struct sim_view* view, u64 address, bool write, struct stretch* found) {
    if (look_up(view, address, write, found)) {
        return 0;
    }
    view->fault_address = address;
    atomic64_inc(&view->vm->gpu->vm_faults);
    return -EFAULT;
}

/* Copies bytes between kernel memory and memory of a process. */
static int move_user(struct mm_struct* mm, u64 address, void* buffer, u64 size, bool write) {
    unsigned long left;

    if (!mmget_not_zero(mm)) {
        return -EFAULT; /* the process has ended */
    }
    kthread_use_mm(mm);
    left = write ? copy_to_user((void __user*)address, buffer, size)
                 : copy_from_user(buffer, (const void __user*)address, size);
    kthread_unuse_mm(mm);
    /* mmput() could tear the address space down, which would take locks that the caller holds. */
    mmput_async(mm);
    return left ? -EFAULT : 0;
}

static int move(struct sim_view* view, u64 address, void* buffer, u64 size, bool write) {
    int result = 0;

    sim_hold_places();
    mutex_lock(&view->vm->lock);
    while (size && !result) {
        struct stretch at;
        u64 step;

        result = find(view, address, write, &at);
        if (result) {
            break;
        }
        step = min(size, at.size);
        if (at.page) {
            char* memory = page_address(at.page);

            if (write) {
                memcpy(memory + at.offset, buffer, step);
            } else {
                memcpy(buffer, memory + at.offset, step);
            }
        } else {
            result = move_user(at.mm, at.offset, buffer, step, write);
            if (result) {
                view->fault_address = address;
                atomic64_inc(&view->vm->gpu->vm_faults);
            }
        }
        address += step;
        buffer += step;
        size -= step;
    }
    mutex_unlock(&view->vm->lock);
    sim_release_places();
    return result;
}

int sim_read(struct sim_view* view, u64 address, void* buffer, u64 size) {
    return move(view, address, buffer, size, false);
}

int sim_write(struct sim_view* view, u64 address, const void* buffer, u64 size) {
    return move(view, address, (void*)buffer, size, true);
}

/*
 * Copies page by page while both addresses lie in buffers. Returns the number of bytes. The caller holds the lock of
 * the address space.
 */
static u64 copy_pages(const struct sim_view* view, u64 to, u64 from, u64 size) {
    u64 done = 0;

    while (done < size) {
        struct stretch target, source;
        char *target_memory, *source_memory;
        u64 step;

        if (!look_up(view, from + done, false, &source) || !source.page || !look_up(view, to + done, true, &target) ||
            !target.page) {
            break;
        }
        step = min3(size - done, source.size, target.size);
        source_memory = (char*)page_address(source.page) + source.offset;
        target_memory = (char*)page_address(target.page) + target.offset;
        /* memmove() of this kernel uses a prefix that is slow in the emulator (test/vm/machine.py). */
        if (source_memory + step <= target_memory || target_memory + step <= source_memory) {
            memcpy(target_memory, source_memory, step);
        } else {
            memmove(target_memory, source_memory, step);
        }
        done += step;
    }
    return done;
}

/* Copies as an SDMA engine does: bytes before a fault are copied. */
int sim_copy(struct sim_view* view, u64 to, u64 from, u64 size) {
    u64 block = 64 << 10;
    void* buffer = kvmalloc(min(size, block), GFP_KERNEL);
    int result = buffer ? 0 : -ENOMEM;

    while (size && !result) {
        u64 step = min(size, block), copied;

        sim_hold_places();
        mutex_lock(&view->vm->lock);
        copied = copy_pages(view, to, from, step);
        mutex_unlock(&view->vm->lock);
        sim_release_places();
        if (copied < step) {
            /* The next byte may be memory of a process, or unmapped: continues byte by byte. */
            step -= copied;
            result = sim_read(view, from + copied, buffer, step) ?: sim_write(view, to + copied, buffer, step);
            step += copied;
        }
        from += step;
        to += step;
        size -= step;
    }
    kvfree(buffer);
    return result;
}
