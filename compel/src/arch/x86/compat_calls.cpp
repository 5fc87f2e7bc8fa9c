// SPDX-License-Identifier: LGPL-2.1-only
// CompatFrame of rt_sigreturn(2) for 32-bit code: struct rt_sigframe_ia32 of the kernel's asm/sigframe.h, followed by
// the floating point state in the forms of FSAVE and XSAVE.
#include "../../compat_calls.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "../../proc.hpp"

namespace compel {

namespace {

/// Layout of the kernel's struct sigcontext_32: registers in a signal frame.
struct CompatContext {
    std::uint32_t gs, fs, es, ds;
    std::uint32_t edi, esi, ebp, esp, ebx, edx, ecx, eax;
    std::uint32_t trap, error, eip, cs, eflags, espAtSignal, ss;
    std::uint32_t state;  ///< address of the floating point state
    std::uint32_t oldMask, cr2;
};
static_assert(sizeof(CompatContext) == 88);

/// Stack of the entry code and the kernel's struct rt_sigframe_ia32. rt_sigreturn(2) doesn't read the siginfo.
struct CompatFrame {
    std::uint32_t popped[3];  ///< values of the registers that the entry code pops
    std::uint32_t restorer;   ///< address to which the entry code returns
    std::uint32_t signal, infoAddress, contextAddress;
    std::byte info[128];
    std::uint32_t flags, link;
    std::uint32_t stackStart;
    std::int32_t stackFlags;
    std::uint32_t stackSize;
    CompatContext context;
    std::uint32_t mask[2];
};
static_assert(offsetof(CompatFrame, context) == 176);

/// Layout of struct _fpstate_32 of asm/sigcontext.h up to its FXSAVE part: registers in the form of FSAVE.
struct LegacyState {
    std::uint32_t control, status, tags, ip, cs, dataAddress, dataSegment;
    std::array<std::byte, 10> registers[8];
    std::uint16_t statusCopy, magic;
};
static_assert(sizeof(LegacyState) == 112);

/// Layout of the start of the FXSAVE form.
struct FxState {
    std::uint16_t control, status;
    std::uint8_t used;  ///< bit n is set if register n isn't empty
    std::uint8_t reserved;
    std::uint16_t opcode;
    std::uint64_t ip, dataAddress;
    std::uint32_t mxcsr, mxcsrMask;
    std::array<std::byte, 16> registers[8];
};
static_assert(sizeof(FxState) == 160);

constexpr std::size_t compatStateAlignment = 64;  // alignment that the XRSTOR instruction requires
constexpr std::size_t compatMarksOffset = 464;    // struct _fpx_sw_bytes of asm/sigcontext.h

/// int $0x80; pop %ebp; pop %edx; pop %ecx; ret: end of __kernel_vsyscall in the kernel's vDSO.
constexpr std::array<std::byte, 6> entryBytes{std::byte{0xcd}, std::byte{0x80}, std::byte{0x5d},
                                              std::byte{0x5a}, std::byte{0x59}, std::byte{0xc3}};
/// mov $173, %eax; int $0x80: __kernel_rt_sigreturn in the kernel's vDSO.
constexpr std::array<std::byte, 7> restorerCode{std::byte{0xb8}, std::byte{0xad}, std::byte{0x00}, std::byte{0x00},
                                                std::byte{0x00}, std::byte{0xcd}, std::byte{0x80}};

/// Numbers of calls in the 64-bit interface and in the 32-bit one (syscall_32.tbl of Linux), for calls whose arguments
/// mean the same in both.
constexpr std::pair<std::int64_t, std::int64_t> compatNumbers[] = {
    {SYS_close, 6},      {SYS_getpid, 20}, {SYS_munmap, 91},  {SYS_wait4, 114},
    {SYS_mprotect, 125}, {SYS_mmap, 192},  {SYS_gettid, 224}, {SYS_kcmp, 349},
};
constexpr std::size_t offsetArgument = 5;   // index of the argument of mmap
constexpr std::uint64_t offsetUnit = 4096;  // unit of the offset of mmap2, the 32-bit call

const std::pair<std::int64_t, std::int64_t>* findCall(std::int64_t number) noexcept {
    const auto* const found = std::find_if(std::begin(compatNumbers), std::end(compatNumbers),
                                           [=](const auto& each) { return each.first == number; });
    return found != std::end(compatNumbers) ? found : nullptr;
}

std::uint32_t lowWord(std::uint64_t value) noexcept {
    return static_cast<std::uint32_t>(value);
}

/// Returns the tag word of FSAVE: two bits a register, 3 for an empty one (twd_i387_to_fxsr() of Linux).
std::uint32_t tagsOf(std::uint8_t used) noexcept {
    constexpr std::uint32_t empty = 3;
    std::uint32_t tags = 0xffff0000;
    for (unsigned i = 0; i < 8; ++i)
        if ((used >> i & 1) == 0)
            tags |= empty << 2 * i;
    return tags;
}

LegacyState legacyOf(const std::vector<std::byte>& extended) noexcept {
    FxState from;
    std::memcpy(&from, extended.data(), sizeof(from));
    LegacyState to{};
    to.control = 0xffff0000 | from.control;
    to.status = 0xffff0000 | from.status;
    to.tags = tagsOf(from.used);
    to.ip = lowWord(from.ip);
    to.cs = std::uint32_t{from.opcode} << 16;
    to.dataAddress = lowWord(from.dataAddress);
    for (std::size_t i = 0; i < std::size(to.registers); ++i)
        std::memcpy(to.registers[i].data(), from.registers[i].data(), to.registers[i].size());
    to.statusCopy = from.status;
    return to;
}

void fillCompat(CompatContext& to, const user_regs_struct& from) noexcept {
    to.gs = lowWord(from.gs);
    to.fs = lowWord(from.fs);
    to.es = lowWord(from.es);
    to.ds = lowWord(from.ds);
    to.edi = lowWord(from.rdi);
    to.esi = lowWord(from.rsi);
    to.ebp = lowWord(from.rbp);
    to.esp = to.espAtSignal = lowWord(from.rsp);
    to.ebx = lowWord(from.rbx);
    to.edx = lowWord(from.rdx);
    to.ecx = lowWord(from.rcx);
    to.eax = lowWord(from.rax);
    to.eip = lowWord(from.rip);
    to.cs = lowWord(from.cs);
    to.eflags = lowWord(from.eflags);
    to.ss = lowWord(from.ss);
}

/// Returns the offset of the XSAVE form from a frame: the next aligned address that leaves room for the FSAVE form.
std::size_t compatStateOffset(RemoteAddress frame) noexcept {
    const RemoteAddress lowest = frame + sizeof(CompatFrame) + sizeof(LegacyState);
    return ((lowest + compatStateAlignment - 1) & ~RemoteAddress{compatStateAlignment - 1}) - frame;
}

/// Returns the offset of `wanted` in `content`, or nothing.
template <std::size_t size>
std::optional<std::size_t> find(const std::vector<std::byte>& content, const std::array<std::byte, size>& wanted) {
    const auto found = std::search(content.begin(), content.end(), wanted.begin(), wanted.end());
    if (found == content.end())
        return std::nullopt;
    return static_cast<std::size_t>(found - content.begin());
}

}  // namespace

std::optional<CompatCalls> CompatCalls::of(const Tracee& thread, const Registers& registers, SignalMask mask) {
    constexpr RemoteAddress limit = RemoteAddress{1} << 32;
    if (registers.isNative() || registers.sp() >= limit)
        return std::nullopt;
    const auto saved = SignalFrame::of(thread, registers, mask);
    if (!saved)
        return std::nullopt;
    std::vector<std::byte> code;
    RemoteAddress start = 0;
    visitMappings(thread.tid(), [&](const MemoryRange& range) {
        constexpr std::uint64_t mostCode = std::uint64_t{64} << 10;
        if (range.name != "[vdso]" || !range.executable || range.end > limit || range.end - range.start > mostCode)
            return true;
        start = range.start;
        code.resize(range.end - range.start);
        code.resize(RemoteMemory(thread.tid()).readSome(start, code));
        return false;
    });
    const auto entry = find(code, entryBytes);
    const auto restorer = find(code, restorerCode);
    if (!entry || !restorer)
        return std::nullopt;
    return CompatCalls(*saved, start + *entry, start + *restorer);
}

bool CompatCalls::knows(std::int64_t number) noexcept {
    return findCall(number) != nullptr;
}

RemoteAddress CompatCalls::placeBelow(RemoteAddress end) const noexcept {
    const std::size_t most =
        sizeof(CompatFrame) + sizeof(LegacyState) + compatStateAlignment + saved_.extended().size();
    return (end - most) & ~RemoteAddress{15};
}

std::vector<std::byte> CompatCalls::frame(RemoteAddress address) const {
    std::vector<std::byte> extended = saved_.extended();
    // The marks count the FSAVE form, too.
    std::uint32_t size;
    std::memcpy(&size, extended.data() + compatMarksOffset + sizeof(std::uint32_t), sizeof(size));
    size += sizeof(LegacyState);
    std::memcpy(extended.data() + compatMarksOffset + sizeof(std::uint32_t), &size, sizeof(size));

    const std::size_t extendedOffset = compatStateOffset(address);
    const LegacyState legacy = legacyOf(extended);
    CompatFrame frame{};
    frame.restorer = lowWord(restorer_);
    // With invalid flags, rt_sigreturn(2) doesn't change the alternate signal stack (compat_restore_altstack()).
    frame.stackFlags = 0x7fff;
    frame.flags = 1;  // UC_FP_XSTATE of asm/ucontext.h
    fillCompat(frame.context, saved_.registers().raw);
    frame.context.state = lowWord(address + extendedOffset - sizeof(legacy));
    frame.mask[0] = lowWord(saved_.mask());
    frame.mask[1] = lowWord(saved_.mask() >> 32);
    std::vector<std::byte> all(extendedOffset + extended.size());
    std::memcpy(all.data(), &frame, sizeof(frame));
    std::memcpy(all.data() + extendedOffset - sizeof(legacy), &legacy, sizeof(legacy));
    std::memcpy(all.data() + extendedOffset, extended.data(), extended.size());
    return all;
}

void CompatCalls::set(Registers& registers, std::int64_t number, const SyscallArguments& arguments,
                      RemoteAddress frame) const {
    user_regs_struct& raw = registers.raw;
    registers.leaveSyscall();
    raw.rip = entry_;
    raw.rsp = frame;
    raw.rax = static_cast<std::uint64_t>(findCall(number)->second);
    raw.rbx = lowWord(arguments[0]);
    raw.rcx = lowWord(arguments[1]);
    raw.rdx = lowWord(arguments[2]);
    raw.rsi = lowWord(arguments[3]);
    raw.rdi = lowWord(arguments[4]);
    raw.rbp = lowWord(number == SYS_mmap ? arguments[offsetArgument] / offsetUnit : arguments[offsetArgument]);
}

}  // namespace compel
