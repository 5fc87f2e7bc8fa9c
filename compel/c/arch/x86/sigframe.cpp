// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/cpu.h>

#include <cstddef>
#include <cstring>

#include "compel/c/control.hpp"

namespace {

/// Returns the size of the extended state in bytes. The state ends with the last component that programs can use
/// without requesting it (arch_prctl(2)).
std::uint32_t stateSize() {
    std::uint32_t size = XSAVE_HDR_OFFSET + XSAVE_HDR_SIZE;
    for (unsigned feature = FIRST_EXTENDED_XFEATURE; feature < XFEATURE_MAX; ++feature) {
        const std::uint32_t end = compel_fpu_feature_offset(feature) + compel_fpu_feature_size(feature);
        if (compel_fpu_has_feature(feature) && end > size && end <= sizeof(user_fpregs_struct_t))
            size = end;
    }
    return size;
}

/// Adds the marks of the frame to the extended state. Without the marks, sigreturn(2) restores only the first 512 bytes
/// of the state and clears the rest.
void markExtended(xsave_struct* state) {
    fpx_sw_bytes marks = {};
    marks.magic1 = FP_XSTATE_MAGIC1;
    marks.xstate_size = stateSize();
    marks.extended_size = marks.xstate_size + FP_XSTATE_MAGIC2_SIZE;
    for (unsigned feature = 0; feature < XFEATURE_MAX; ++feature)
        if (compel_fpu_has_feature(feature))
            marks.xstate_bv |= std::uint64_t{1} << feature;
    memcpy(state->i387.sw_reserved, &marks, sizeof(marks));
    const std::uint32_t end = FP_XSTATE_MAGIC2;
    memcpy(reinterpret_cast<char*>(state) + marks.xstate_size, &end, sizeof(end));
}

enum Tag : std::uint32_t { tagValid, tagZero, tagSpecial, tagEmpty };

/// Returns the FSAVE tag of an x87 register that isn't empty.
Tag tagOf(const unsigned char* number) {
    std::uint64_t significand;
    std::uint16_t exponent;
    memcpy(&significand, number, sizeof(significand));
    memcpy(&exponent, number + sizeof(significand), sizeof(exponent));
    exponent &= 0x7fff;
    if (exponent == 0 && significand == 0)
        return tagZero;
    return exponent != 0x7fff && exponent != 0 && (significand >> 63) != 0 ? tagValid : tagSpecial;
}

}  // namespace

extern "C" {

void compel_convert_from_fxsr(user_i387_ia32_struct* to, i387_fxsave_struct* from) {
    constexpr unsigned codeSegment32 = 0x23;
    constexpr unsigned dataSegment32 = 0x2b;
    constexpr unsigned unused = 0xffff0000;  // value of the upper 16 bits of fields that have 16 significant bits
    const auto* const registers = reinterpret_cast<const unsigned char*>(from->st_space);
    auto* const out = reinterpret_cast<unsigned char*>(to->st_space);
    const unsigned top = (from->swd >> 11) & 7;
    to->twd = unused;
    for (unsigned index = 0; index < 8; ++index) {
        // The tags have the order of the physical registers, but the contents have the order of the register stack.
        // This line converts between both.
        const bool used = (from->twd >> index & 1) != 0;
        to->twd |= (used ? tagOf(registers + 16 * ((index - top) & 7)) : tagEmpty) << (2 * index);
        memcpy(out + 10 * index, registers + 16 * index, 10);
    }
    to->cwd = from->cwd | unused;
    to->swd = from->swd | unused;
    to->fip = static_cast<std::uint32_t>(from->rip);
    to->foo = static_cast<std::uint32_t>(from->rdp);
    to->fcs = codeSegment32;
    to->fos = dataSegment32 | unused;
}

int sigreturn_prep_regs_plain(rt_sigframe* frame, user_regs_struct_t* regs, user_fpregs_struct_t* fpregs) {
    if (!user_regs_native(regs)) {
        compel_print_on_level(COMPEL_LOG_ERROR, "registers of 32-bit code aren't supported\n");
        return -1;
    }
    const user_regs_struct64& from = regs->native;
    rt_sigcontext& to = frame->native.uc.uc_mcontext;
    to.r8 = from.r8;
    to.r9 = from.r9;
    to.r10 = from.r10;
    to.r11 = from.r11;
    to.r12 = from.r12;
    to.r13 = from.r13;
    to.r14 = from.r14;
    to.r15 = from.r15;
    to.rdi = from.di;
    to.rsi = from.si;
    to.rbp = from.bp;
    to.rbx = from.bx;
    to.rdx = from.dx;
    to.rax = from.ax;
    to.rcx = from.cx;
    to.rsp = from.sp;
    to.rip = from.ip;
    to.eflags = from.flags;
    to.cs = static_cast<std::uint16_t>(from.cs);
    to.ss = static_cast<std::uint16_t>(from.ss);
    frame->is_native = true;

    fpu_state_t& state = frame->native.fpu_state;
    memcpy(static_cast<void*>(&state.fpu_state_64.xsave), fpregs, sizeof(*fpregs));
    if (compel_cpu_has_feature(X86_FEATURE_OSXSAVE))
        markExtended(&state.fpu_state_64.xsave);
    state.has_fpu = 1;
    return 0;
}

int sigreturn_prep_fpu_frame_plain(rt_sigframe* frame, rt_sigframe* remote) {
    if (!frame->is_native) {
        compel_print_on_level(COMPEL_LOG_ERROR, "frames of 32-bit code aren't supported\n");
        return -1;
    }
    const auto address =
        reinterpret_cast<std::uint64_t>(remote) + offsetof(rt_sigframe, native.fpu_state.fpu_state_64.xsave);
    if (address % FP_MIN_ALIGN_BYTES != 0) {
        compel_print_on_level(COMPEL_LOG_ERROR, "a signal frame has to lie at a multiple of 64 bytes\n");
        return -1;
    }
    frame->native.uc.uc_mcontext.fpstate = address;
    return 0;
}
}
