// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/registers.hpp"

#include <cpuid.h>
#include <sys/user.h>

#include <compel/registers.hpp>
#include <compel/tracee.hpp>

#include <array>
#include <bit>
#include <cstring>

#include "criu/base/error.hpp"
#include "images/core.hpp"

namespace criu::task {
namespace {

// The XSAVE layout is from the Intel SDM, volume 1, chapter 13. The legacy area is fixed. For other components, CPUID
// leaf 0xD with the component number as sub-leaf returns size (EAX) and offset (EBX) in the standard format, which
// ptrace uses.
constexpr std::size_t kLegacySize = 512;
constexpr std::size_t kHeaderOffset = 512;
constexpr std::size_t kHeaderSize = 64;
constexpr std::size_t kSoftwareBytes = 464;  // offset at which the kernel stores XCR0
constexpr std::size_t kMxcsrMaskOffset = 28;

enum Component : unsigned {
    kX87 = 0,
    kSse = 1,
    kAvx = 2,
    kBoundRegisters = 3,
    kBoundConfig = 4,
    kOpmask = 5,
    kZmmUpper = 6,
    kHighZmm = 7,
    kPkru = 9,
};

/// Mask of the components that have separate fields in images.
constexpr std::uint64_t kKnown = 0x2ff;

struct Place {
    std::size_t offset = 0;
    std::size_t size = 0;
    bool onRequest = false;  ///< true if a process must request the component (ARCH_REQ_XCOMP_PERM)
};

/// Result of CPUID for one leaf; zeroes if the processor lacks the leaf.
struct CpuidAnswer {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
};

CpuidAnswer cpuid(unsigned leaf, unsigned part) {
    CpuidAnswer answer;
    if (__get_cpuid_count(leaf, part, &answer.eax, &answer.ebx, &answer.ecx, &answer.edx) == 0)
        return {};
    return answer;
}

constexpr unsigned kMostComponents = 64;

/// Layout of the XSAVE area on this processor.
struct Layout {
    std::uint64_t enabled = 3;           ///< components that the kernel has enabled for user space (XCR0)
    std::size_t areaSize = kLegacySize;  ///< size of a full XSAVE area in standard format, in bytes
    std::array<Place, kMostComponents> places{};

    static Layout ofProcessor() {
        constexpr unsigned kStates = 0xd;
        Layout layout;
        if ((cpuid(1, 0).ecx & bit_OSXSAVE) != 0) {
            unsigned low = 0;
            unsigned high = 0;
            asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
            layout.enabled = (std::uint64_t{high} << 32) | low;
        }
        const CpuidAnswer whole = cpuid(kStates, 0);
        if (whole.ebx >= kLegacySize + kHeaderSize)
            layout.areaSize = whole.ebx;
        const std::uint64_t supported = (std::uint64_t{whole.edx} << 32) | whole.eax;
        for (unsigned component = 2; component < kMostComponents; ++component) {
            if ((supported >> component & 1U) == 0)
                continue;
            constexpr unsigned kFaultsWhenDisabled = 4;
            const CpuidAnswer state = cpuid(kStates, component);
            layout.places[component] = {state.ebx, state.eax, (state.ecx & kFaultsWhenDisabled) != 0};
        }
        return layout;
    }
};

/// Returns the layout, and runs CPUID only once: in a virtual machine, each CPUID traps to the hypervisor and takes
/// microseconds.
const Layout& layout() {
    static const Layout known = Layout::ofProcessor();
    return known;
}

Place placeOf(unsigned component) {
    return component < kMostComponents ? layout().places[component] : Place{};
}

std::uint64_t enabledFeatures() {
    return layout().enabled;
}

std::size_t areaSize() {
    return layout().areaSize;
}

template <typename T>
T load(std::span<const std::byte> area, std::size_t offset) {
    T value{};
    if (offset + sizeof(T) <= area.size())
        std::memcpy(&value, area.data() + offset, sizeof(T));
    return value;
}

template <typename T>
void loadArray(std::span<const std::byte> area, std::size_t offset, std::size_t count, Arena& arena, T*& field,
               std::size_t& fieldCount) {
    if (offset + count * sizeof(T) > area.size())
        return;
    field = arena.array<T>(count);
    fieldCount = count;
    std::memcpy(field, area.data() + offset, count * sizeof(T));
}

template <typename T>
void saveArray(std::span<std::byte> area, std::size_t offset, const T* field, std::size_t count, std::size_t limit) {
    const std::size_t bytes = std::min(count, limit) * sizeof(T);
    if (bytes != 0 && offset + bytes <= area.size())
        std::memcpy(area.data() + offset, field, bytes);
}

// Results of interrupted system calls inside the kernel: it restarts such calls after a signal (include/linux/errno.h).
constexpr std::int64_t kRestartSys = -512;
constexpr std::int64_t kRestartNoIntr = -513;
constexpr std::int64_t kRestartNoHand = -514;
constexpr std::int64_t kRestartBlock = -516;

// Numbers of restart_syscall(2), for 64-bit and 32-bit code.
constexpr std::int64_t kRestartSyscall = 219;
constexpr std::int64_t kCompatRestartSyscall = 0;
constexpr std::uint64_t kSyscallLength = 2;

/// Moves the instruction pointer back to an interrupted system call that must be restarted. Returns the errno with
/// which the kernel would restart the call; 0 if no call was interrupted.
std::uint32_t rewindSystemCall(user_regs_struct& regs, std::int64_t restartSyscall) {
    if (static_cast<std::int64_t>(regs.orig_rax) < 0)
        return 0;
    const auto result = static_cast<std::int64_t>(regs.rax);
    if (result == kRestartBlock && static_cast<std::int64_t>(regs.orig_rax) == restartSyscall) {
        // Returns EINTR, because the kernel no longer shows the number of the original call.
        regs.rax = static_cast<std::uint64_t>(-EINTR);
        return 0;
    }
    if (result != kRestartSys && result != kRestartNoIntr && result != kRestartNoHand && result != kRestartBlock)
        return 0;
    regs.rax = regs.orig_rax;
    regs.rip -= kSyscallLength;
    // ERESTART_RESTARTBLOCK means a sleep with a timeout. Only the kernel knows the remaining time, so the call sleeps
    // for the whole time again. For the program, this is better than an unexpected error.
    return static_cast<std::uint32_t>(-(result == kRestartBlock ? kRestartNoHand : result));
}

/// Sets the registers so that the kernel restarts the call when criu resumes the thread. If the thread handles a signal
/// first, the call may fail with EINTR.
void enterSystemCall(user_regs_struct& regs, std::uint32_t restart) {
    const std::int64_t result = -static_cast<std::int64_t>(restart);
    if (result != kRestartSys && result != kRestartNoIntr && result != kRestartNoHand)
        fail("the image has an interrupted system call that ends with {}", restart);
    regs.orig_rax = regs.rax;
    regs.rax = static_cast<std::uint64_t>(result);
    regs.rip += kSyscallLength;
}

void storeOther(std::span<const std::byte> area, UserX86XsaveEntry& xsave, Arena& arena) {
    const std::uint64_t others = xsave.xstate_bv & ~kKnown;
    xsave.other = arena.messages<UserX86ComponentEntry>(static_cast<std::size_t>(std::popcount(others)));
    for (std::uint64_t left = others; left != 0; left &= left - 1) {
        const auto number = static_cast<unsigned>(std::countr_zero(left));
        const Place place = placeOf(number);
        if (place.onRequest)
            fail(
                "a thread has extended CPU state {} (XSAVE component) in use, which has to be asked for (as AMX has) "
                "and can't be dumped yet",
                number);
        if (place.size == 0 || place.offset + place.size > area.size())
            fail("a thread has extended CPU state {} (XSAVE component) in use, whose place isn't known", number);
        UserX86ComponentEntry& other = *xsave.other[xsave.n_other++];
        other.number = number;
        const auto content = area.subspan(place.offset, place.size);
        other.state = {content.size(),
                       arena.copy(std::span(reinterpret_cast<const std::uint8_t*>(content.data()), content.size()))};
    }
}

void storeExtended(std::span<const std::byte> area, std::uint64_t shadowStackPointer, ThreadInfoX86& info,
                   Arena& arena) {
    auto& fp = *arena.make<UserX86FpregsEntry>();
    info.fpregs = &fp;
    fp.cwd = load<std::uint16_t>(area, 0);
    fp.swd = load<std::uint16_t>(area, 2);
    fp.twd = load<std::uint16_t>(area, 4);
    fp.fop = load<std::uint16_t>(area, 6);
    fp.rip = load<std::uint64_t>(area, 8);
    fp.rdp = load<std::uint64_t>(area, 16);
    fp.mxcsr = load<std::uint32_t>(area, 24);
    fp.mxcsr_mask = load<std::uint32_t>(area, kMxcsrMaskOffset);
    loadArray(area, 32, 32, arena, fp.st_space, fp.n_st_space);
    loadArray(area, 160, 64, arena, fp.xmm_space, fp.n_xmm_space);

    if (area.size() < kHeaderOffset + kHeaderSize)
        return;
    auto& xsave = *arena.make<UserX86XsaveEntry>();
    fp.xsave = &xsave;
    xsave.xstate_bv = load<std::uint64_t>(area, kHeaderOffset);
    const std::uint64_t enabled = enabledFeatures();
    const auto component = [&](unsigned number, std::size_t count, auto*& field, std::size_t& fieldCount) {
        const Place place = placeOf(number);
        if ((enabled >> number & 1U) != 0 && place.size != 0)
            loadArray(area, place.offset, count, arena, field, fieldCount);
    };
    component(kAvx, 64, xsave.ymmh_space, xsave.n_ymmh_space);
    component(kBoundRegisters, 8, xsave.bndreg_state, xsave.n_bndreg_state);
    component(kBoundConfig, 8, xsave.bndcsr_state, xsave.n_bndcsr_state);
    component(kOpmask, 8, xsave.opmask_reg, xsave.n_opmask_reg);
    component(kZmmUpper, 64, xsave.zmm_upper, xsave.n_zmm_upper);
    component(kHighZmm, 128, xsave.hi16_zmm, xsave.n_hi16_zmm);
    component(kPkru, 2, xsave.pkru, xsave.n_pkru);

    storeOther(area, xsave, arena);

    if (shadowStackPointer != 0) {
        auto& cet = *arena.make<UserX86CetEntry>();
        cet.cet = 1;  // the shadow stack is enabled
        cet.ssp = shadowStackPointer;
        xsave.cet = &cet;
    }
}

std::vector<std::byte> loadExtended(const UserX86FpregsEntry& fp) {
    const std::size_t size = areaSize();
    std::vector<std::byte> area(size);
    const auto put = [&](std::size_t offset, auto value) { std::memcpy(area.data() + offset, &value, sizeof(value)); };
    put(0, static_cast<std::uint16_t>(fp.cwd));
    put(2, static_cast<std::uint16_t>(fp.swd));
    put(4, static_cast<std::uint16_t>(fp.twd));
    put(6, static_cast<std::uint16_t>(fp.fop));
    put(8, static_cast<std::uint64_t>(fp.rip));
    put(16, static_cast<std::uint64_t>(fp.rdp));
    put(24, static_cast<std::uint32_t>(fp.mxcsr));
    put(kMxcsrMaskOffset, static_cast<std::uint32_t>(fp.mxcsr_mask));
    saveArray(std::span(area), 32, fp.st_space, fp.n_st_space, 32);
    saveArray(std::span(area), 160, fp.xmm_space, fp.n_xmm_space, 64);
    if (size < kHeaderOffset + kHeaderSize)
        return area;

    const std::uint64_t enabled = enabledFeatures();
    std::uint64_t used = 3;  // x87 and SSE are always marked as in use
    if (fp.xsave != nullptr) {
        const UserX86XsaveEntry& xsave = *fp.xsave;
        used |= xsave.xstate_bv;
        const auto component = [&](unsigned number, const auto* field, std::size_t count, std::size_t limit) {
            const std::uint64_t bit = std::uint64_t{1} << number;
            if ((xsave.xstate_bv & bit) == 0 || count == 0)
                return;
            const Place place = placeOf(number);
            if ((enabled & bit) == 0 || place.size == 0)
                fail("the image needs extended CPU state {} (XSAVE component), which this CPU doesn't offer", number);
            saveArray(std::span(area), place.offset, field, count, limit);
        };
        component(kAvx, xsave.ymmh_space, xsave.n_ymmh_space, 64);
        component(kBoundRegisters, xsave.bndreg_state, xsave.n_bndreg_state, 8);
        component(kBoundConfig, xsave.bndcsr_state, xsave.n_bndcsr_state, 8);
        component(kOpmask, xsave.opmask_reg, xsave.n_opmask_reg, 8);
        component(kZmmUpper, xsave.zmm_upper, xsave.n_zmm_upper, 64);
        component(kHighZmm, xsave.hi16_zmm, xsave.n_hi16_zmm, 128);
        component(kPkru, xsave.pkru, xsave.n_pkru, 2);
        std::uint64_t carried = kKnown;
        for (std::size_t i = 0; i < xsave.n_other; ++i) {
            const UserX86ComponentEntry& other = *xsave.other[i];
            const std::uint64_t bit = std::uint64_t{1} << (other.number % 64);
            const Place place = placeOf(other.number);
            if (other.number >= 64 || (enabled & bit) == 0 || place.onRequest || place.size != other.state.len)
                fail("the image needs extended CPU state {} (XSAVE component, {} bytes), which this CPU doesn't offer",
                     other.number, other.state.len);
            saveArray(std::span(area), place.offset, other.state.data, other.state.len, place.size);
            carried |= bit;
        }
        if ((xsave.xstate_bv & ~carried) != 0)
            fail("the image lacks some of the extended CPU state that it says is in use (XSAVE components {:#x})",
                 xsave.xstate_bv & ~carried);
    }
    put(kSoftwareBytes, enabled);
    put(kHeaderOffset, used & enabled);
    return area;
}

void storeNative(const user_regs_struct& regs, UserX86RegsEntry& out) {
    out.r15 = regs.r15;
    out.r14 = regs.r14;
    out.r13 = regs.r13;
    out.r12 = regs.r12;
    out.bp = regs.rbp;
    out.bx = regs.rbx;
    out.r11 = regs.r11;
    out.r10 = regs.r10;
    out.r9 = regs.r9;
    out.r8 = regs.r8;
    out.ax = regs.rax;
    out.cx = regs.rcx;
    out.dx = regs.rdx;
    out.si = regs.rsi;
    out.di = regs.rdi;
    out.orig_ax = regs.orig_rax;
    out.ip = regs.rip;
    out.cs = regs.cs;
    out.flags = regs.eflags;
    out.sp = regs.rsp;
    out.ss = regs.ss;
    out.fs_base = regs.fs_base;
    out.gs_base = regs.gs_base;
    out.ds = regs.ds;
    out.es = regs.es;
    out.fs = regs.fs;
    out.gs = regs.gs;
    out.has_mode = 1;
    out.mode = USER_X86_REGS_MODE__NATIVE;
}

/// Stores the registers of 32-bit code, which has no upper halves and no r8 to r15. The segment descriptors contain the
/// bases.
void storeCompat(const user_regs_struct& regs, UserX86RegsEntry& out) {
    for (const std::uint64_t selector : {regs.cs, regs.ss, regs.ds, regs.es, regs.fs, regs.gs})
        if (compel::isOfLocalTable(selector))
            fail("a thread uses a segment of its process' own ({:#x}, see modify_ldt(2)), which can't be dumped",
                 selector);
    const auto low = [](std::uint64_t value) { return value & 0xffffffff; };
    out.bp = low(regs.rbp);
    out.bx = low(regs.rbx);
    out.ax = low(regs.rax);
    out.cx = low(regs.rcx);
    out.dx = low(regs.rdx);
    out.si = low(regs.rsi);
    out.di = low(regs.rdi);
    out.orig_ax = low(regs.orig_rax);
    out.ip = low(regs.rip);
    out.cs = regs.cs;
    out.flags = low(regs.eflags);
    out.sp = low(regs.rsp);
    out.ss = regs.ss;
    out.ds = regs.ds;
    out.es = regs.es;
    out.fs = regs.fs;
    out.gs = regs.gs;
    out.has_mode = 1;
    out.mode = USER_X86_REGS_MODE__COMPAT;
}

/// Returns three empty segments, which stand for the thread-local storage of 64-bit code.
compel::ThreadSegments emptySegments() {
    compel::ThreadSegments segments{};
    for (unsigned i = 0; i < segments.size(); ++i) {
        segments[i].entry_number = compel::firstThreadSegment + i;
        segments[i].read_exec_only = 1;
        segments[i].seg_not_present = 1;
    }
    return segments;
}

void storeSegments(const compel::ThreadSegments& segments, ThreadInfoX86& info, Arena& arena) {
    info.n_tls = segments.size();
    info.tls = arena.array<UserDescT*>(segments.size());
    for (std::size_t i = 0; i < segments.size(); ++i) {
        const user_desc& in = segments[i];
        auto& out = *arena.make<UserDescT>();
        out.entry_number = in.entry_number;
        out.base_addr = in.base_addr;
        out.limit = in.limit;
        out.seg_32bit = in.seg_32bit;
        out.contents_h = (in.contents & 2U) != 0;
        out.contents_l = (in.contents & 1U) != 0;
        out.read_exec_only = in.read_exec_only;
        out.limit_in_pages = in.limit_in_pages;
        out.seg_not_present = in.seg_not_present;
        out.usable = in.useable;
        info.tls[i] = &out;
    }
}

compel::ThreadSegments loadSegments(const ThreadInfoX86& info) {
    compel::ThreadSegments segments = emptySegments();
    for (std::size_t i = 0; i < info.n_tls; ++i) {
        const UserDescT& in = *info.tls[i];
        const std::uint32_t at = in.entry_number - compel::firstThreadSegment;
        if (at >= segments.size())
            fail("the image has a segment of thread-local storage of number {}", in.entry_number);
        user_desc& out = segments[at];
        out.base_addr = in.base_addr;
        out.limit = in.limit;
        out.seg_32bit = in.seg_32bit != 0;
        out.contents = (in.contents_h != 0 ? 2U : 0U) | (in.contents_l != 0 ? 1U : 0U);
        out.read_exec_only = in.read_exec_only != 0;
        out.limit_in_pages = in.limit_in_pages != 0;
        out.seg_not_present = in.seg_not_present != 0;
        out.useable = in.usable != 0;
    }
    return segments;
}

/// Returns the base of a segment that 32-bit code uses through %fs or %gs.
std::uint64_t baseOf(std::uint64_t selector, const compel::ThreadSegments& segments) {
    for (const user_desc& segment : segments)
        if (selector >> 3 == segment.entry_number && !compel::isOfLocalTable(selector))
            return segment.base_addr;
    return 0;
}

}  // namespace

CoreEntry__March coreMachine() noexcept {
    return CORE_ENTRY__MARCH__X86_64;
}

void storeRegisters(std::span<const std::byte> general, std::span<const std::byte> segments,
                    std::span<const std::byte> extended, std::uint64_t shadowStackPointer, CoreEntry& core,
                    Arena& arena) {
    const bool compat = !segments.empty();
    compel::ThreadSegments descriptors = emptySegments();
    user_regs_struct regs;
    if (general.size() != sizeof(regs) || (compat && segments.size() != sizeof(descriptors)))
        fail("register sets of {} and {} bytes aren't those of an x86-64 kernel", general.size(), segments.size());
    std::memcpy(&regs, general.data(), sizeof(regs));
    if (compat)
        std::memcpy(&descriptors, segments.data(), segments.size());
    const std::uint32_t restart = rewindSystemCall(regs, compat ? kCompatRestartSyscall : kRestartSyscall);

    core.mtype = coreMachine();
    auto& info = *arena.make<ThreadInfoX86>();
    core.thread_info = &info;
    info.gpregs = arena.make<UserX86RegsEntry>();
    if (compat)
        storeCompat(regs, *info.gpregs);
    else
        storeNative(regs, *info.gpregs);
    info.gpregs->has_restart = restart != 0;
    info.gpregs->restart = restart;
    storeSegments(descriptors, info, arena);
    storeExtended(extended, shadowStackPointer, info, arena);
}

bool isCompat(const CoreEntry& core) noexcept {
    return core.thread_info != nullptr && core.thread_info->gpregs->has_mode != 0 &&
           core.thread_info->gpregs->mode == USER_X86_REGS_MODE__COMPAT;
}

bool hasRegisters(const CoreEntry& core) noexcept {
    return core.thread_info != nullptr;
}

RegisterSets loadRegisters(const CoreEntry& core) {
    if (core.mtype != coreMachine() || core.thread_info == nullptr)
        fail("the image is of another architecture (core mtype {}), this criu is for x86-64",
             static_cast<int>(core.mtype));
    const ThreadInfoX86& info = *core.thread_info;
    const UserX86RegsEntry& in = *info.gpregs;
    user_regs_struct regs{};
    regs.r15 = in.r15;
    regs.r14 = in.r14;
    regs.r13 = in.r13;
    regs.r12 = in.r12;
    regs.rbp = in.bp;
    regs.rbx = in.bx;
    regs.r11 = in.r11;
    regs.r10 = in.r10;
    regs.r9 = in.r9;
    regs.r8 = in.r8;
    regs.rax = in.ax;
    regs.rcx = in.cx;
    regs.rdx = in.dx;
    regs.rsi = in.si;
    regs.rdi = in.di;
    regs.orig_rax = static_cast<std::uint64_t>(-1);  // -1: the thread isn't in a system call
    regs.rip = in.ip;
    regs.cs = in.cs;
    regs.eflags = in.flags;
    regs.rsp = in.sp;
    regs.ss = in.ss;
    regs.fs_base = in.fs_base;
    regs.gs_base = in.gs_base;
    regs.ds = in.ds;
    regs.es = in.es;
    regs.fs = in.fs;
    regs.gs = in.gs;
    if (in.has_restart != 0)
        enterSystemCall(regs, in.restart);

    RegisterSets sets;
    if (isCompat(core)) {
        if (regs.cs == compel::Registers::codeSegment64)
            fail("the image's registers are those of a 32-bit task, but its code segment is the 64-bit one");
        const compel::ThreadSegments segments = loadSegments(info);
        regs.fs_base = baseOf(regs.fs, segments);
        regs.gs_base = baseOf(regs.gs, segments);
        const auto bytes = std::as_bytes(std::span(segments));
        sets.segments.assign(bytes.begin(), bytes.end());
    }
    sets.general.resize(sizeof(regs));
    std::memcpy(sets.general.data(), &regs, sizeof(regs));
    if (info.fpregs != nullptr) {
        sets.extended = loadExtended(*info.fpregs);
        const UserX86XsaveEntry* const xsave = info.fpregs->xsave;
        if (xsave != nullptr && xsave->cet != nullptr)
            sets.shadowStackPointer = xsave->cet->ssp;
    }
    return sets;
}

std::uint64_t clearTidAddress(const CoreEntry& core) {
    return core.thread_info != nullptr ? core.thread_info->clear_tid_addr : 0;
}

void setClearTidAddress(CoreEntry& core, std::uint64_t address) {
    core.thread_info->clear_tid_addr = address;
}

void refuseState(const compel::Tracee& thread) {
    constexpr unsigned kPortBitmap =
        0x201;  // NT_386_IOPERM: bitmap with a 1 for each port that the thread must not use
    constexpr std::byte kNone{0xff};
    const std::vector<std::byte> bitmap = thread.registerSet(kPortBitmap);
    for (std::size_t at = 0; at < bitmap.size(); ++at)
        if (bitmap[at] != kNone)
            fail("thread {} has rights to ports of devices (see ioperm(2)), from port {:#x} on, which can't be dumped",
                 thread.tid(),
                 8 * at + static_cast<std::size_t>(std::countr_one(std::to_integer<unsigned>(bitmap[at]))));
}

}  // namespace criu::task
