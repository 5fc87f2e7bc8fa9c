// SPDX-License-Identifier: GPL-2.0-only
#include "criu/pie/program.hpp"

namespace criu::pie {

const char* subjectText(Subject subject) noexcept {
    switch (subject) {
        case Subject::None:
            return "step";
        case Subject::UnmapOld:
            return "unmap criu's memory at";
        case Subject::MoveMemory:
            return "move memory to";
        case Subject::MapMemory:
            return "map memory at";
        case Subject::ProtectMemory:
            return "protect memory at";
        case Subject::AdviseMemory:
            return "madvise memory at";
        case Subject::LockMemory:
            return "lock memory at";
        case Subject::MoveVdso:
            return "move the vDSO to";
        case Subject::MemoryLayout:
            return "set the memory layout (PR_SET_MM)";
        case Subject::CloseFd:
            return "close fd";
        case Subject::SignalAction:
            return "set the action of signal";
        case Subject::SignalQueue:
            return "queue signal";
        case Subject::SignalStack:
            return "set the alternate signal stack";
        case Subject::SignalMask:
            return "set the signal mask";
        case Subject::IntervalTimer:
            return "start interval timer";
        case Subject::PosixTimer:
            return "restore POSIX timer";
        case Subject::ResourceLimit:
            return "set resource limit";
        case Subject::Scheduler:
            return "set the scheduling policy";
        case Subject::Personality:
            return "set the personality";
        case Subject::Credentials:
            return "set the credentials";
        case Subject::Capabilities:
            return "set the capabilities";
        case Subject::SecureBits:
            return "set the secure bits";
        case Subject::NoNewPrivileges:
            return "set no_new_privs";
        case Subject::Dumpable:
            return "set the dumpable flag";
        case Subject::ParentDeathSignal:
            return "set the parent death signal";
        case Subject::RobustList:
            return "set the robust futex list";
        case Subject::ClearTid:
            return "set the clear-tid address";
        case Subject::Rseq:
            return "register rseq";
        case Subject::Name:
            return "set the name";
        case Subject::Thread:
            return "create thread";
        case Subject::Subreaper:
            return "set the child subreaper flag";
        case Subject::AsyncIo:
            return "restore AIO ring";
        case Subject::SysvShm:
            return "attach SysV shared memory";
        case Subject::Seccomp:
            return "restore seccomp";
        case Subject::SecurityLabel:
            return "set the security label";
        case Subject::Directory:
            return "enter the directories of thread";
        case Subject::Unshare:
            return "unshare objects of thread";
        case Subject::Query:
            return "query";
        case Subject::Other:
            return "system call";
    }
    return "unknown step";
}

}  // namespace criu::pie
