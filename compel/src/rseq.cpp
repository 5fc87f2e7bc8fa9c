// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/rseq.hpp>

#include "fail.hpp"

namespace compel {

namespace {

// Layout of struct rseq_cs of <linux/rseq.h>: a critical section.
struct CriticalSection {
    std::uint32_t version;
    std::uint32_t flags;
    std::uint64_t start;
    std::uint64_t length;
    std::uint64_t abort;
};

constexpr RemoteAddress descriptorPointerOffset = 8;  // offset of rseq_cs in struct rseq

}  // namespace

bool fixRseqIp(const Tracee& tracee, const RemoteMemory& memory, Registers& registers) {
    const auto area = tracee.rseq();
    if (!area)
        return false;
    RemoteAddress descriptor = 0;
    const auto pointerBytes = std::as_writable_bytes(std::span(&descriptor, 1));
    if (memory.readSome(area->address + descriptorPointerOffset, pointerBytes) != sizeof(descriptor) || descriptor == 0)
        return false;
    memory.writeValue(area->address + descriptorPointerOffset, RemoteAddress{0});
    if (registers.inSyscall())
        return false;  // restartable sequences must not contain system calls
    CriticalSection section{};
    const auto sectionBytes = std::as_writable_bytes(std::span(&section, 1));
    if (memory.readSome(descriptor, sectionBytes) != sizeof(section) || section.version != 0)
        return false;
    if (registers.ip() - section.start >= section.length)
        return false;
    registers.setIp(section.abort);
    return true;
}

}  // namespace compel
