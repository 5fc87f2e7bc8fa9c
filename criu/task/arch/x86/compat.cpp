// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/compat.hpp"

#include <sys/syscall.h>

#include "criu/base/error.hpp"

namespace criu::task {

long numberOf(CompatCall call) {
    switch (call) {  // arch/x86/entry/syscalls/syscall_32.tbl of Linux
        case CompatCall::RtSigaction:
            return 174;
        case CompatCall::SetRobustList:
            return 311;
        case CompatCall::GetRobustList:
            return 312;
    }
    fail("there is no 32-bit system call of kind {}", static_cast<int>(call));
}

LocalTableQuery::LocalTableQuery(pie::StepList& steps, pie::RemoteData& data)
    : sizeAt_(data.reserve(sizeof(std::uint64_t))) {
    constexpr int kRead = 0;
    constexpr std::size_t kOneEntry = 8;
    // Accepts any result: a kernel without CONFIG_MODIFY_LDT_SYSCALL refuses the call, and then the process has no
    // table. If the call succeeds, the result is the number of bytes read, which is 0 if the process has no segments.
    steps.call(pie::Subject::Query, 0, SYS_modify_ldt, kRead, data.reserve(kOneEntry), kOneEntry).check =
        pie::ResultCheck::Any;
    steps.add(pie::Op::StoreResult, pie::Subject::Query, 0, sizeAt_).check = pie::ResultCheck::Any;
}

void LocalTableQuery::refuse(pie::RemoteData& answers) const {
    // The kernel returns a 32-bit unsigned int without sign extension (arch/x86/kernel/ldt.c). So an error code is
    // negative only as a 32-bit number.
    if (static_cast<std::int32_t>(answers.local<std::uint64_t>(sizeAt_)) > 0)
        fail("the process has private segments (see modify_ldt(2)), which can't be dumped");
}

}  // namespace criu::task
