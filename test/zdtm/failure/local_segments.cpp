// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused pid 2\b|process 2\b.*modify_ldt
// zdtm: fails-with-4.2 it loses them
// zdtm: processor x86
#include <asm/ldt.h>
#include <sys/syscall.h>

#include "zdtm.hpp"

namespace {
constexpr int read_table = 0;
constexpr int write_table = 0x11;
}  // namespace

ZDTM("a process with segments of its own (modify_ldt)") {
    user_desc segment{};
    segment.limit = 0xfffff;
    segment.seg_32bit = 1;
    segment.limit_in_pages = 1;
    if (syscall(SYS_modify_ldt, write_table, &segment, sizeof(segment)) != 0) {
        zdtm::skip("modify_ldt: %s", strerror(errno));
    }
    me.wait_for_check();
    char entry[8] = {};
    CHECK(syscall(SYS_modify_ldt, read_table, entry, sizeof(entry)) == sizeof(entry), "%s", strerror(errno));
    CHECK(entry[0] == '\xff', "the segment is gone");
}
