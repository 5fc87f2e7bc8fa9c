// SPDX-License-Identifier: GPL-2.0-only
#include <asm/ldt.h>
#include <sys/syscall.h>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {
thread_local int own = 0;

// Reads the first word of the segment that a selector refers to. %fs is free for that: glibc doesn't use it.
int first_word(unsigned selector) {
    int value = 0;
    asm volatile("mov %%fs:0, %0" : "=r"(value) : "r"(selector));
    return value;
}

void load(unsigned selector) {
    asm volatile("mov %w0, %%fs" ::"r"(selector));
}

unsigned loaded() {
    unsigned selector = 0;
    asm volatile("mov %%fs, %0" : "=r"(selector));
    return selector & 0xffff;
}

unsigned make_segment(int* content) {
    user_desc segment{};
    segment.entry_number = ~0U;
    segment.base_addr = reinterpret_cast<unsigned>(content);
    segment.limit = 1;
    segment.seg_32bit = 1;
    segment.limit_in_pages = 1;
    segment.useable = 1;
    SYS(syscall(SYS_set_thread_area, &segment));
    return segment.entry_number * 8 + 3;
}
}  // namespace

ZDTM("segments of threads: thread-local storage, a segment of the program, and the segments of a new thread") {
    static_assert(sizeof(void*) == 4);
    alignas(4096) static int content[4][4096];
    zdtm::Threads threads(4, [](unsigned index, zdtm::Threads& all) {
        own = static_cast<int>(100 + index);
        content[index][0] = static_cast<int>(200 + index);
        const unsigned selector = make_segment(content[index]);
        load(selector);
        all.arrive();
        all.wait_release();
        CHECK(own == static_cast<int>(100 + index), "thread %u has %d", index, own);
        CHECK(loaded() == selector, "thread %u has selector %#x, not %#x", index, loaded(), selector);
        CHECK(first_word(selector) == static_cast<int>(200 + index), "thread %u reads %d", index, first_word(selector));
        load(0);
        load(selector);
        CHECK(first_word(selector) == static_cast<int>(200 + index), "loaded again, thread %u reads %d", index,
              first_word(selector));
        user_desc segment{};
        segment.entry_number = selector / 8;
        SYS(syscall(SYS_get_thread_area, &segment));
        CHECK(segment.base_addr == reinterpret_cast<unsigned>(content[index]) && segment.limit == 1 &&
                  segment.seg_32bit == 1 && segment.limit_in_pages == 1 && segment.useable == 1 &&
                  segment.read_exec_only == 0 && segment.contents == 0 && segment.seg_not_present == 0,
              "thread %u: base %#x, limit %u", index, segment.base_addr, segment.limit);
    });
    own = 7;
    me.wait_for_check();
    CHECK(own == 7, "the first thread has %d", own);
    threads.finish();
    zdtm::Threads later(2, [](unsigned index, zdtm::Threads& all) {
        CHECK(own == 0, "a new thread begins with %d", own);
        own = static_cast<int>(index);
        all.arrive();
        all.wait_release();
        CHECK(own == static_cast<int>(index), "a new thread has %d", own);
    });
    later.finish();
}
