// SPDX-License-Identifier: LGPL-2.1-only
// Frame of rt_sigreturn(2) for 64-bit code: struct rt_sigframe of the kernel's asm/sigframe.h, followed by the extended
// state in the standard form of XSAVE.
#include "../../signal_frame.hpp"

#include <compel/blob_run.hpp>

#include <cpuid.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace compel {

namespace {

/// Layout of the kernel's struct sigcontext_64: registers in a signal frame.
struct Context {
    std::uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
    std::uint64_t rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags;
    std::uint16_t cs, gs, fs, ss;
    std::uint64_t error, trap, oldMask, cr2;
    std::uint64_t state;  ///< address of the extended state
    std::uint64_t reserved[8];
};

/// Start of the kernel's struct rt_sigframe. The siginfo at its end is omitted, because rt_sigreturn(2) doesn't read
/// it.
struct Frame {
    std::uint64_t restorer;
    std::uint64_t flags;
    std::uint64_t link;
    std::uint64_t stackStart;
    std::int32_t stackFlags;
    std::int32_t padding;
    std::uint64_t stackSize;
    Context context;
    std::uint64_t mask;
};
static_assert(sizeof(Frame) == 312);

/// Flags of struct ucontext: UC_FP_XSTATE, UC_SIGCONTEXT_SS and UC_STRICT_RESTORE_SS (asm/ucontext.h).
constexpr std::uint64_t frameFlags = 7;

/// Layout of struct _fpx_sw_bytes of asm/sigcontext.h: marks of the extended state in a signal frame.
struct StateMarks {
    std::uint32_t magic;
    std::uint32_t sizeWithMarks;
    std::uint64_t features;
    std::uint32_t size;
    std::uint32_t reserved[7];
};
constexpr std::uint32_t firstMark = 0x46505853;  // FP_XSTATE_MAGIC1
constexpr std::uint32_t lastMark = 0x46505845;   // FP_XSTATE_MAGIC2, after the extended state
constexpr std::size_t marksOffset = 464;

constexpr std::size_t stateAlignment = 64;  // alignment that the XRSTOR instruction requires
constexpr std::size_t stateOffset = (sizeof(Frame) + stateAlignment - 1) & ~(stateAlignment - 1);
static_assert(stateOffset == SignalFrame::statelessSize);
constexpr std::size_t legacySize = 512;
constexpr std::size_t headerSize = 64;
constexpr unsigned stateLeaf = 0xd;

struct CpuidAnswer {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
};

CpuidAnswer askStates(unsigned part) noexcept {
    CpuidAnswer answer;
    if (__get_cpuid_count(stateLeaf, part, &answer.eax, &answer.ebx, &answer.ecx, &answer.edx) == 0)
        return {};
    return answer;
}

/// Offsets of the ends of the extended state's components. Read once and only for components of this processor, because
/// a hypervisor traps each CPUID instruction: 63 of them take a millisecond.
struct StateLayout {
    StateLayout() noexcept {
        const CpuidAnswer all = askStates(0);
        enabledSize = all.ebx;
        const std::uint64_t present = std::uint64_t{all.edx} << 32 | all.eax;
        for (unsigned part = firstExtended; part < ends.size(); ++part) {
            if ((present >> part & 1) == 0)
                continue;
            constexpr unsigned supervisorOnly = 1;
            constexpr unsigned byRequest = 4;
            const CpuidAnswer answer = askStates(part);
            if (answer.eax == 0 || (answer.ecx & supervisorOnly) != 0)
                continue;
            ends[part] = answer.ebx + answer.eax;
            onRequest[part] = (answer.ecx & byRequest) != 0;
        }
    }

    static constexpr unsigned firstExtended = 2;
    std::size_t enabledSize = 0;  ///< size in bytes of all components that the kernel has enabled
    std::array<std::size_t, 63> ends{};
    std::array<bool, 63> onRequest{};  ///< true for components that a process must request (ARCH_REQ_XCOMP_PERM)
};

const StateLayout& stateLayout() noexcept {
    static const StateLayout layout;
    return layout;
}

std::uint64_t wordAt(const std::vector<std::byte>& bytes, std::size_t offset) noexcept {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + offset, sizeof(word));
    return word;
}

/// Returns how many bytes of the state fit into the kernel's buffer for the thread. A component that a process must
/// request counts only while the thread uses it.
std::size_t usedSize(const std::vector<std::byte>& state, std::uint64_t features) noexcept {
    const StateLayout& layout = stateLayout();
    const std::uint64_t inUse = wordAt(state, legacySize);
    std::size_t end = legacySize + headerSize;
    for (unsigned part = StateLayout::firstExtended; part < layout.ends.size(); ++part)
        if ((features >> part & 1) != 0 && (!layout.onRequest[part] || (inUse >> part & 1) != 0))
            end = std::max(end, layout.ends[part]);
    return std::min(end, state.size());
}

/// Cuts the state to its used size, and adds the marks of a signal frame. Without the marks, the kernel restores only
/// the first 512 bytes and clears the rest (check_xstate_in_sigframe() of Linux).
void markExtended(std::vector<std::byte>& state) {
    // The kernel stores XCR0, the mask of enabled components, at this offset.
    const std::uint64_t features = wordAt(state, marksOffset);
    StateMarks marks{};
    marks.magic = firstMark;
    marks.features = features;
    marks.size = static_cast<std::uint32_t>(usedSize(state, features));
    marks.sizeWithMarks = marks.size + static_cast<std::uint32_t>(sizeof(lastMark));
    std::memcpy(state.data() + marksOffset, &marks, sizeof(marks));
    state.resize(marks.sizeWithMarks);
    std::memcpy(state.data() + marks.size, &lastMark, sizeof(lastMark));
}

void fill(Context& to, const user_regs_struct& from) {
    to.r8 = from.r8;
    to.r9 = from.r9;
    to.r10 = from.r10;
    to.r11 = from.r11;
    to.r12 = from.r12;
    to.r13 = from.r13;
    to.r14 = from.r14;
    to.r15 = from.r15;
    to.rdi = from.rdi;
    to.rsi = from.rsi;
    to.rbp = from.rbp;
    to.rbx = from.rbx;
    to.rdx = from.rdx;
    to.rax = from.rax;
    to.rcx = from.rcx;
    to.rsp = from.rsp;
    to.rip = from.rip;
    to.eflags = from.eflags;
    to.cs = static_cast<std::uint16_t>(from.cs);
    to.ss = static_cast<std::uint16_t>(from.ss);
}

}  // namespace

std::optional<SignalFrame> SignalFrame::of(const Tracee& thread, const Registers& registers, SignalMask mask) {
    std::vector<std::byte> extended = thread.extendedState();
    if (extended.size() < legacySize + headerSize || thread.shadowStackPointer())
        return std::nullopt;
    markExtended(extended);
    const bool ends = registers.restartsSyscall() && thread.callEndsWithTracer();
    return SignalFrame(ends ? registers.interrupted() : registers.restarted(), mask, std::move(extended));
}

RemoteAddress SignalFrame::placeBelow(RemoteAddress end) const noexcept {
    return (end - stateOffset - extended_.size()) & ~RemoteAddress{stateAlignment - 1};
}

std::vector<std::byte> SignalFrame::bytes(RemoteAddress address, RemoteAddress restorer) const {
    Frame frame{};
    frame.restorer = restorer;
    frame.flags = frameFlags;
    // With invalid flags, rt_sigreturn(2) doesn't change the alternate signal stack (restore_altstack()).
    frame.stackFlags = 0x7fff;
    fill(frame.context, registers_.raw);
    // Without state, the kernel resets it (fpu__restore_sig()).
    frame.context.state = extended_.empty() ? 0 : address + stateOffset;
    frame.mask = mask_;
    std::vector<std::byte> all(stateOffset + extended_.size());
    std::memcpy(all.data(), &frame, sizeof(frame));
    std::copy(extended_.begin(), extended_.end(), all.begin() + stateOffset);
    return all;
}

std::size_t signalFrameRoom() noexcept {
    // The first frame of a ReturnPath has no state.
    return SignalFrame::statelessSize + stateOffset + std::max(stateLayout().enabledSize, legacySize + headerSize) +
           sizeof(lastMark) + stateAlignment;
}

}  // namespace compel
