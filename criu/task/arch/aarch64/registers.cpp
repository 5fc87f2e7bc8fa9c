// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/registers.hpp"

#include <compel/registers.hpp>
#include <compel/tracee.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "criu/base/error.hpp"
#include "images/core.hpp"

namespace criu::task {
namespace {

/// Register set NT_PRFPREG: struct user_fpsimd_state of asm/ptrace.h.
struct FloatingPoint {
    std::uint64_t halves[64];  ///< halves of the vector registers, low halves first
    std::uint32_t status;
    std::uint32_t control;
    std::uint32_t reserved[2];
};
static_assert(sizeof(FloatingPoint) == 528);

/// Register set NT_ARM_PACA_KEYS: pairs of halves, low halves first (struct user_pac_address_keys).
using AddressKeys = std::array<std::uint64_t, 8>;
/// Register set NT_ARM_PACG_KEYS.
using GenericKey = std::array<std::uint64_t, 2>;

/// Returns a register set as an object; zeroes in place of what the set lacks.
template <typename T>
T load(std::span<const std::byte> set) {
    T value{};
    std::memcpy(&value, set.data(), std::min(sizeof(value), set.size()));
    return value;
}

template <typename T>
void add(std::vector<std::byte>& state, compel::RegisterSet set, const T& value) {
    compel::addRegisterSet(state, set, std::as_bytes(std::span(&value, 1)));
}

/// Fields of the address keys, in the order of the register set.
constexpr std::array kAddressKeyFields{
    &PacAddressKeys::apiakey_lo, &PacAddressKeys::apiakey_hi, &PacAddressKeys::apibkey_lo, &PacAddressKeys::apibkey_hi,
    &PacAddressKeys::apdakey_lo, &PacAddressKeys::apdakey_hi, &PacAddressKeys::apdbkey_lo, &PacAddressKeys::apdbkey_hi};

void storeKeys(std::span<const std::byte> extended, ThreadInfoAarch64& info, Arena& arena) {
    const auto address = compel::registerSetOf(extended, compel::AddressKeysSet);
    const auto generic = compel::registerSetOf(extended, compel::GenericKeySet);
    if (address.empty() && generic.empty())
        return;
    info.pac_keys = arena.make<PacKeys>();
    if (!address.empty()) {
        auto& out = *arena.make<PacAddressKeys>();
        info.pac_keys->pac_address_keys = &out;
        const auto keys = load<AddressKeys>(address);
        for (std::size_t i = 0; i < keys.size(); ++i)
            out.*kAddressKeyFields[i] = keys[i];
        out.pac_enabled_key = load<std::uint64_t>(compel::registerSetOf(extended, compel::EnabledKeysSet));
    }
    if (!generic.empty()) {
        info.pac_keys->pac_generic_keys = arena.make<PacGenericKeys>();
        const auto key = load<GenericKey>(generic);
        info.pac_keys->pac_generic_keys->apgakey_lo = key[0];
        info.pac_keys->pac_generic_keys->apgakey_hi = key[1];
    }
}

void loadKeys(const PacKeys& in, std::vector<std::byte>& state) {
    if (const PacAddressKeys* const address = in.pac_address_keys; address != nullptr) {
        AddressKeys keys{};
        for (std::size_t i = 0; i < keys.size(); ++i)
            keys[i] = address->*kAddressKeyFields[i];
        add(state, compel::AddressKeysSet, keys);
        add(state, compel::EnabledKeysSet, address->pac_enabled_key);
    }
    if (const PacGenericKeys* const generic = in.pac_generic_keys; generic != nullptr)
        add(state, compel::GenericKeySet, GenericKey{generic->apgakey_lo, generic->apgakey_hi});
}

void storeFloatingPoint(std::span<const std::byte> extended, ThreadInfoAarch64& info, Arena& arena) {
    const auto set = compel::registerSetOf(extended, compel::FloatingPointSet);
    if (set.size() != sizeof(FloatingPoint))
        fail("a register set of {} bytes isn't that of floating point", set.size());
    const auto state = load<FloatingPoint>(set);
    info.fpsimd = arena.make<UserAarch64FpsimdContextEntry>();
    info.fpsimd->n_vregs = std::size(state.halves);
    info.fpsimd->vregs = arena.copy(std::span<const std::uint64_t>(state.halves));
    info.fpsimd->fpsr = state.status;
    info.fpsimd->fpcr = state.control;
}

FloatingPoint floatingPointOf(const UserAarch64FpsimdContextEntry& in) {
    FloatingPoint state{};
    if (in.n_vregs != std::size(state.halves))
        fail("the image has {} halves of vector registers, not {}", in.n_vregs, std::size(state.halves));
    std::copy(in.vregs, in.vregs + in.n_vregs, state.halves);
    state.status = in.fpsr;
    state.control = in.fpcr;
    return state;
}

/// Throws Error if the register set has a value other than 0.
void refuseSet(const compel::Tracee& thread, compel::RegisterSet set, std::string_view what) {
    if (load<std::uint64_t>(thread.registerSet(set)) != 0)
        fail("thread {} uses {}, which can't be dumped", thread.tid(), what);
}

}  // namespace

CoreEntry__March coreMachine() noexcept {
    return CORE_ENTRY__MARCH__AARCH64;
}

void storeRegisters(std::span<const std::byte> general, std::span<const std::byte> /*segments*/,
                    std::span<const std::byte> extended, std::uint64_t /*shadowStackPointer*/, CoreEntry& core,
                    Arena& arena) {
    if (general.size() != sizeof(compel::GeneralRegisters))
        fail("a register set of {} bytes isn't that of an arm64 kernel", general.size());
    // The kernel has already rewound an interrupted system call (compel::Registers).
    const auto registers = load<compel::GeneralRegisters>(general);
    core.mtype = coreMachine();
    auto& info = *arena.make<ThreadInfoAarch64>();
    core.ti_aarch64 = &info;
    info.gpregs = arena.make<UserAarch64RegsEntry>();
    info.gpregs->n_regs = std::size(registers.x);
    info.gpregs->regs = arena.copy(std::span<const std::uint64_t>(registers.x));
    info.gpregs->sp = registers.sp;
    info.gpregs->pc = registers.pc;
    info.gpregs->pstate = registers.pstate;

    const auto pointers = compel::registerSetOf(extended, compel::ThreadPointerSet);
    info.tls = load<std::uint64_t>(pointers);
    if (pointers.size() >= 2 * sizeof(std::uint64_t)) {
        info.has_tpidr2 = 1;
        info.tpidr2 = load<std::array<std::uint64_t, 2>>(pointers)[1];
    }
    storeFloatingPoint(extended, info, arena);
    if (const auto scalable = compel::registerSetOf(extended, compel::ScalableSet); !scalable.empty()) {
        info.has_sve = 1;
        info.sve = {scalable.size(),
                    arena.copy(std::span(reinterpret_cast<const std::uint8_t*>(scalable.data()), scalable.size()))};
    }
    storeKeys(extended, info, arena);
    const auto tagged = load<std::uint64_t>(compel::registerSetOf(extended, compel::TaggedAddressSet));
    info.has_tagged_address_ctrl = tagged != 0;
    info.tagged_address_ctrl = tagged;
}

bool hasRegisters(const CoreEntry& core) noexcept {
    return core.ti_aarch64 != nullptr;
}

bool isCompat(const CoreEntry& /*core*/) noexcept {
    return false;
}

RegisterSets loadRegisters(const CoreEntry& core) {
    if (core.mtype != coreMachine() || core.ti_aarch64 == nullptr)
        fail("the image is of another architecture (core mtype {}), this criu is for aarch64",
             static_cast<int>(core.mtype));
    const ThreadInfoAarch64& info = *core.ti_aarch64;
    compel::Registers registers;
    if (info.gpregs->n_regs != std::size(registers.raw.x))
        fail("the image has {} general registers, not {}", info.gpregs->n_regs, std::size(registers.raw.x));
    std::copy(info.gpregs->regs, info.gpregs->regs + info.gpregs->n_regs, registers.raw.x);
    registers.raw.sp = info.gpregs->sp;
    registers.raw.pc = info.gpregs->pc;
    registers.raw.pstate = info.gpregs->pstate;
    if (!registers.isNative())
        fail("the image's registers are those of a 32-bit task (AArch32), which can't be restored");

    RegisterSets sets;
    const auto bytes = std::as_bytes(std::span(&registers.raw, 1));
    sets.general.assign(bytes.begin(), bytes.end());
    add(sets.extended, compel::FloatingPointSet, floatingPointOf(*info.fpsimd));
    if (info.has_sve != 0)
        compel::addRegisterSet(sets.extended, compel::ScalableSet,
                               std::as_bytes(std::span(info.sve.data, info.sve.len)));
    if (info.has_tpidr2 != 0)
        add(sets.extended, compel::ThreadPointerSet, std::array<std::uint64_t, 2>{info.tls, info.tpidr2});
    else
        add(sets.extended, compel::ThreadPointerSet, info.tls);
    if (info.pac_keys != nullptr)
        loadKeys(*info.pac_keys, sets.extended);
    if (info.has_tagged_address_ctrl != 0)
        add(sets.extended, compel::TaggedAddressSet, info.tagged_address_ctrl);
    return sets;
}

std::uint64_t clearTidAddress(const CoreEntry& core) {
    return core.ti_aarch64 != nullptr ? core.ti_aarch64->clear_tid_addr : 0;
}

void setClearTidAddress(CoreEntry& core, std::uint64_t address) {
    core.ti_aarch64->clear_tid_addr = address;
}

void refuseState(const compel::Tracee& thread) {
    if (!thread.registers().isNative())
        fail("thread {} runs 32-bit code (AArch32), which can't be dumped", thread.tid());
    const auto streaming = load<compel::ScalableHeader>(thread.registerSet(compel::StreamingSet));
    if (streaming.hasScalable())
        fail("thread {} is in streaming mode (SME), which can't be dumped", thread.tid());
    // Without content, the set has only its header.
    if (thread.registerSet(compel::MatrixSet).size() > sizeof(compel::ScalableHeader))
        fail("thread {} uses the matrix register ZA (SME), which can't be dumped", thread.tid());
    refuseSet(thread, compel::GuardedControlStackSet, "a guarded control stack (GCS)");
    refuseSet(thread, compel::FloatingPointModeSet, "a floating point mode (FPMR)");
    constexpr std::uint64_t kDefaultOverlay = 7;  // POR_EL0_INIT of Linux: all rights for key 0
    const std::vector<std::byte> overlay = thread.registerSet(compel::PermissionOverlaySet);
    if (!overlay.empty() && load<std::uint64_t>(overlay) != kDefaultOverlay)
        fail("thread {} uses permission overlays (POE, see pkeys(7)), which can't be dumped", thread.tid());
}

}  // namespace criu::task
