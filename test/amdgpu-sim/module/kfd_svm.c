// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shared virtual memory: address ranges of the process that GPUs may use. This driver moves no memory to a GPU: an
 * access uses memory of the process, and only attributes are kept. A range contains pages with equal attributes.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kfd.h"

#define DEFAULT_GRANULARITY 9u
#define KNOWN_FLAGS                                                                                 \
    (KFD_IOCTL_SVM_FLAG_HOST_ACCESS | KFD_IOCTL_SVM_FLAG_COHERENT | KFD_IOCTL_SVM_FLAG_HIVE_LOCAL | \
     KFD_IOCTL_SVM_FLAG_GPU_RO | KFD_IOCTL_SVM_FLAG_GPU_EXEC | KFD_IOCTL_SVM_FLAG_GPU_READ_MOSTLY | \
     KFD_IOCTL_SVM_FLAG_GPU_ALWAYS_MAPPED)

struct sim_process* sim_process_of(struct sim_pdd* pdd) {
    return container_of(pdd - pdd->gpu->index, struct sim_process, pdds[0]);
}

static void set_defaults(struct sim_range* range) {
    range->preferred = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
    range->prefetch = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
    range->flags = KFD_IOCTL_SVM_FLAG_HOST_ACCESS | KFD_IOCTL_SVM_FLAG_COHERENT;
    range->granularity = DEFAULT_GRANULARITY;
}

/* Returns true if a queue may access an address outside of all buffers. Sets `end` to the end of the range. */
bool sim_svm_allowed(void* context, u64 address, bool write, u64* end) {
    struct sim_pdd* pdd = context;
    struct sim_process* process = sim_process_of(pdd);
    const struct sim_range* range;
    bool allowed = false;

    mutex_lock(&process->range_lock);
    list_for_each_entry(range, &process->ranges, link) {
        if (address >> PAGE_SHIFT >= range->start && address >> PAGE_SHIFT <= range->last) {
            allowed = ((range->access | range->in_place) & BIT(pdd->gpu->index)) &&
                      !(write && (range->flags & KFD_IOCTL_SVM_FLAG_GPU_RO));
            *end = (range->last + 1) << PAGE_SHIFT;
            break;
        }
    }
    mutex_unlock(&process->range_lock);
    return allowed;
}

/* Returns true if ranges that stay mapped for the GPU cover this one (kfd_queue_buffer_svm_get(), Linux 6.12). */
bool sim_svm_always_mapped(struct sim_pdd* pdd, u64 address, u64 size) {
    struct sim_process* process = sim_process_of(pdd);
    const struct sim_range* range;
    u64 at = address >> PAGE_SHIFT, end = (address + size) >> PAGE_SHIFT;
    bool moved = true;

    mutex_lock(&process->range_lock);
    while (at < end && moved) {
        moved = false;
        list_for_each_entry(range, &process->ranges, link) {
            if (at >= range->start && at <= range->last && (range->access | range->in_place) & BIT(pdd->gpu->index) &&
                range->flags & KFD_IOCTL_SVM_FLAG_GPU_ALWAYS_MAPPED) {
                at = range->last + 1;
                moved = true;
                break;
            }
        }
    }
    mutex_unlock(&process->range_lock);
    return at >= end;
}

static bool known_location(struct sim_process* process, u32 value) {
    return value == KFD_IOCTL_SVM_LOCATION_SYSMEM || value == KFD_IOCTL_SVM_LOCATION_UNDEFINED ||
           sim_pdd_by_id(process, value);
}

static int check(struct sim_process* process, const struct kfd_ioctl_svm_attribute* attribute) {
    switch (attribute->type) {
        case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
            return known_location(process, attribute->value) ? 0 : -EINVAL;
        case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
            return attribute->value != KFD_IOCTL_SVM_LOCATION_UNDEFINED && known_location(process, attribute->value)
                       ? 0
                       : -EINVAL;
        case KFD_IOCTL_SVM_ATTR_ACCESS:
        case KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE:
        case KFD_IOCTL_SVM_ATTR_NO_ACCESS:
            return sim_pdd_by_id(process, attribute->value) ? 0 : -EINVAL;
        case KFD_IOCTL_SVM_ATTR_SET_FLAGS:
        case KFD_IOCTL_SVM_ATTR_CLR_FLAGS:
            return attribute->value & ~KNOWN_FLAGS ? -EINVAL : 0;
        case KFD_IOCTL_SVM_ATTR_GRANULARITY:
            return attribute->value > 0x3f ? -EINVAL : 0;
        default:
            return -EINVAL;
    }
}

static void apply(struct sim_process* process, struct sim_range* range,
                  const struct kfd_ioctl_svm_attribute* attribute) {
    const struct sim_pdd* pdd = sim_pdd_by_id(process, attribute->value);
    u32 bit = pdd ? BIT(pdd->gpu->index) : 0;

    switch (attribute->type) {
        case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
            range->preferred = attribute->value;
            break;
        case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
            range->prefetch = attribute->value;
            break;
        case KFD_IOCTL_SVM_ATTR_ACCESS:
            range->access |= bit;
            range->in_place &= ~bit;
            break;
        case KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE:
            range->in_place |= bit;
            range->access &= ~bit;
            break;
        case KFD_IOCTL_SVM_ATTR_NO_ACCESS:
            range->access &= ~bit;
            range->in_place &= ~bit;
            break;
        case KFD_IOCTL_SVM_ATTR_SET_FLAGS:
            range->flags |= attribute->value;
            break;
        case KFD_IOCTL_SVM_ATTR_CLR_FLAGS:
            range->flags &= ~attribute->value;
            break;
        case KFD_IOCTL_SVM_ATTR_GRANULARITY:
            range->granularity = attribute->value;
            break;
    }
}

static struct sim_range* copy_of(const struct sim_range* from, u64 start, u64 last) {
    struct sim_range* range = kzalloc(sizeof(*range), GFP_KERNEL);

    if (range) {
        if (from) {
            *range = *from;
        } else {
            set_defaults(range);
        }
        range->start = start;
        range->last = last;
    }
    return range;
}

/* Splits a range, so that `at` is the first page of one. */
static int split(struct sim_process* process, u64 at) {
    struct sim_range *range, *tail;

    list_for_each_entry(range, &process->ranges, link) {
        if (range->start < at && at <= range->last) {
            tail = copy_of(range, at, range->last);
            if (!tail) {
                return -ENOMEM;
            }
            range->last = at - 1;
            list_add(&tail->link, &range->link);
            return 0;
        }
    }
    return 0;
}

/* Splits the first range with several pages. A program can't notice that. */
int sim_range_split_any(struct sim_process* process) {
    struct sim_range* range;
    int result = 0;

    mutex_lock(&process->range_lock);
    list_for_each_entry(range, &process->ranges, link) {
        if (range->last > range->start) {
            result = split(process, range->start + 1);
            break;
        }
    }
    mutex_unlock(&process->range_lock);
    return result;
}

/* Makes ranges with default attributes for pages without one. The list is sorted by address. */
static int fill(struct sim_process* process, u64 start, u64 last) {
    struct list_head* before = &process->ranges;
    struct sim_range *range, *added;

    list_for_each_entry(range, &process->ranges, link) {
        if (range->last < start) {
            before = &range->link;
            continue;
        }
        if (range->start > last) {
            break;
        }
        if (range->start > start) {
            added = copy_of(NULL, start, range->start - 1);
            if (!added) {
                return -ENOMEM;
            }
            list_add(&added->link, before);
        }
        start = range->last + 1;
        before = &range->link;
    }
    if (start <= last) {
        added = copy_of(NULL, start, last);
        if (!added) {
            return -ENOMEM;
        }
        list_add(&added->link, before);
    }
    return 0;
}

static long set_attributes(struct sim_process* process, const struct kfd_ioctl_svm_args* arguments, u64 start,
                           u64 last) {
    struct sim_range* range;
    long result;
    u32 i;

    for (i = 0; i < arguments->nattr; i++) {
        result = check(process, &arguments->attrs[i]);
        if (result) {
            return result;
        }
    }
    result = split(process, start) ?: split(process, last + 1) ?: fill(process, start, last);
    if (result) {
        return result;
    }
    list_for_each_entry(range, &process->ranges, link) {
        if (range->start >= start && range->last <= last) {
            for (i = 0; i < arguments->nattr; i++) {
                apply(process, range, &arguments->attrs[i]);
            }
        }
    }
    return 0;
}

/* Locations are undefined if they differ within the pages. Flags are those of all pages, or of any. */
static void get_attribute(struct sim_process* process, struct kfd_ioctl_svm_attribute* attribute, u64 start, u64 last) {
    const struct sim_pdd* pdd = sim_pdd_by_id(process, attribute->value);
    u32 all_flags = U32_MAX, any_flags = 0, granularity = U32_MAX;
    u32 preferred = 0, prefetch = 0, access = U32_MAX, in_place = U32_MAX;
    const struct sim_range* range;
    struct sim_range none = {};
    bool first = true;

    set_defaults(&none);
    list_for_each_entry(range, &process->ranges, link) {
        if (range->last < start || range->start > last) {
            continue;
        }
        preferred = first || preferred == range->preferred ? range->preferred : KFD_IOCTL_SVM_LOCATION_UNDEFINED;
        prefetch = first || prefetch == range->prefetch ? range->prefetch : KFD_IOCTL_SVM_LOCATION_UNDEFINED;
        first = false;
        all_flags &= range->flags;
        any_flags |= range->flags;
        granularity = min(granularity, range->granularity);
        access &= range->access | range->in_place;
        in_place &= range->in_place;
    }
    if (first) {
        preferred = none.preferred;
        prefetch = none.prefetch;
        all_flags = any_flags = none.flags;
        granularity = none.granularity;
        access = in_place = 0;
    }
    switch (attribute->type) {
        case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
            attribute->value = preferred;
            break;
        case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
            attribute->value = prefetch;
            break;
        case KFD_IOCTL_SVM_ATTR_ACCESS: /* the answer is in the type */
            if (pdd) {
                attribute->type = in_place & BIT(pdd->gpu->index) ? KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE
                                  : access & BIT(pdd->gpu->index) ? KFD_IOCTL_SVM_ATTR_ACCESS
                                                                  : KFD_IOCTL_SVM_ATTR_NO_ACCESS;
            }
            break;
        case KFD_IOCTL_SVM_ATTR_SET_FLAGS:
            attribute->value = all_flags;
            break;
        case KFD_IOCTL_SVM_ATTR_CLR_FLAGS:
            attribute->value = ~any_flags;
            break;
        case KFD_IOCTL_SVM_ATTR_GRANULARITY:
            attribute->value = granularity;
            break;
    }
}

long sim_kfd_svm_ioctl(struct sim_process* process, struct kfd_ioctl_svm_args* arguments) {
    u64 start = arguments->start_addr >> PAGE_SHIFT, last;
    long result = 0;
    u32 i;

    if (!arguments->start_addr || !arguments->size || offset_in_page(arguments->start_addr) ||
        offset_in_page(arguments->size)) {
        return -EINVAL;
    }
    last = start + (arguments->size >> PAGE_SHIFT) - 1;
    mutex_lock(&process->lock);
    mutex_lock(&process->range_lock);
    if (arguments->op == KFD_IOCTL_SVM_OP_SET_ATTR) {
        result = set_attributes(process, arguments, start, last);
    } else if (arguments->op == KFD_IOCTL_SVM_OP_GET_ATTR) {
        for (i = 0; i < arguments->nattr; i++) {
            get_attribute(process, &arguments->attrs[i], start, last);
        }
    } else {
        result = -EINVAL;
    }
    mutex_unlock(&process->range_lock);
    mutex_unlock(&process->lock);
    return result;
}

static bool is_mapped(struct sim_process* process, const struct sim_range* range) {
    u64 at = range->start << PAGE_SHIFT, end = (range->last + 1) << PAGE_SHIFT;
    const struct vm_area_struct* area = NULL;

    while (at < end) {
        area = vma_lookup(process->mm, at);
        if (!area) {
            return false;
        }
        at = area->vm_end;
    }
    return true;
}

/*
 * RESTORE only stores ranges; RESUME makes them: kfd_criu_restore_svm() and kfd_criu_resume_svm() of kfd_svm.c (Linux
 * 6.1). All their memory must be mapped at that time (svm_range_is_valid()).
 */
int sim_ranges_resume(struct sim_process* process) {
    const struct sim_range* range;
    int result = 0;

    if (list_empty(&process->restored_ranges)) {
        return 0;
    }
    if (!mmget_not_zero(process->mm)) {
        return -ESRCH;
    }
    mmap_read_lock(process->mm);
    list_for_each_entry(range, &process->restored_ranges, link) {
        if (!is_mapped(process, range)) {
            result = -EFAULT;
        }
    }
    mmap_read_unlock(process->mm);
    mmput_async(process->mm);
    if (!result) {
        mutex_lock(&process->range_lock);
        list_splice_tail_init(&process->restored_ranges, &process->ranges);
        mutex_unlock(&process->range_lock);
    }
    return result;
}

void sim_ranges_free(struct sim_process* process) {
    struct sim_range *range, *next;

    mutex_lock(&process->range_lock);
    list_splice_tail_init(&process->restored_ranges, &process->ranges);
    list_for_each_entry_safe(range, next, &process->ranges, link) {
        list_del(&range->link);
        kfree(range);
    }
    mutex_unlock(&process->range_lock);
}
