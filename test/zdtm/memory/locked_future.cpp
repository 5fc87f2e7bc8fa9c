// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 its images don't say that what will be mapped is to be locked
#include <sys/mman.h>
#include <sys/wait.h>

#include "zdtm.hpp"

namespace {
void check_new(bool locked, bool on_fault) {
    const std::span<std::byte> fresh = zdtm::map(4 * zdtm::page_size());
    SYS(mprotect(fresh.data(), zdtm::page_size(), PROT_READ));  // a different protection makes it a mapping of its own
    CHECK(zdtm::has_vm_flag(fresh.data(), "lo") == locked && zdtm::has_vm_flag(fresh.data(), "lf") == on_fault,
          "flags of new memory: %s", zdtm::smaps_field(fresh.data(), "VmFlags").c_str());
}
}  // namespace

ZDTM("mlockall(MCL_FUTURE) locks later mappings, at once or with MCL_ONFAULT when they are touched") {
    const pid_t at_once = me.start_child([](zdtm::Task& task) {
        SYS(mlockall(MCL_FUTURE));
        check_new(true, false);
        task.wait_for_check();
        check_new(true, false);
    });
    const pid_t later = me.start_child([](zdtm::Task& task) {
        SYS(mlockall(MCL_FUTURE | MCL_ONFAULT));
        check_new(true, true);
        task.wait_for_check();
        check_new(true, true);
    });
    me.wait_for_check();
    check_new(false, false);
    me.finish(at_once);
    me.finish(later);
}
