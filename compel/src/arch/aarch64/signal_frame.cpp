// SPDX-License-Identifier: LGPL-2.1-only
// Frame of rt_sigreturn(2): struct rt_sigframe of arch/arm64/kernel/signal.c, with the records of asm/sigcontext.h.
#include "../../signal_frame.hpp"

#include <compel/blob_run.hpp>

#include <algorithm>
#include <array>
#include <cstring>

namespace compel {

namespace {

/// Start of the kernel's struct rt_sigframe, up to the records.
struct Frame {
    std::byte info[128];
    std::uint64_t flags;
    std::uint64_t link;
    std::uint64_t stackStart;
    std::int32_t stackFlags;
    std::int32_t padding;
    std::uint64_t stackSize;
    std::uint64_t mask;
    std::byte unused[120];
    std::uint64_t alignment;
    std::uint64_t faultAddress;
    std::uint64_t registers[31];
    std::uint64_t sp;
    std::uint64_t pc;
    std::uint64_t pstate;
    std::uint64_t alignmentOfRecords;
};
static_assert(offsetof(Frame, faultAddress) == 304);
static_assert(sizeof(Frame) == 592);

/// Size in bytes of the area for records in the kernel's struct sigcontext. The kernel reads the area up to the end
/// mark only (parse_user_sigframe()), so a frame here ends with its end mark.
constexpr std::size_t recordRoom = 4096;

struct RecordHead {
    std::uint32_t magic;
    std::uint32_t size;
};

/// Record of the floating point registers (struct fpsimd_context), which every frame must have.
struct FloatingPointRecord {
    RecordHead head;
    std::uint32_t status;
    std::uint32_t control;
    std::byte registers[512];
};
constexpr std::uint32_t floatingPointMagic = 0x46508001;

/// Record of SVE registers (struct sve_context). The registers follow.
struct ScalableRecord {
    RecordHead head;
    std::uint16_t vectorLength;
    std::uint16_t flags;
    std::uint16_t reserved[2];
};
constexpr std::uint32_t scalableMagic = 0x53564501;

/// Record that says where further records are (struct extra_context), with the end mark that must follow. The further
/// records must follow the end mark, and may extend beyond the frame's own area (parse_user_sigframe()).
struct ExtraRecord {
    RecordHead head;
    std::uint64_t address;
    std::uint32_t size;
    std::uint32_t reserved[3];
    std::uint64_t end[2];
};
constexpr std::uint32_t extraMagic = 0x45585401;
constexpr std::uint32_t extraSize = 32;

constexpr std::size_t frameAlignment = 16;
constexpr std::size_t endMark = 16;
constexpr std::size_t scalableOffset = sizeof(Frame) + sizeof(FloatingPointRecord) + sizeof(ExtraRecord);

constexpr std::size_t aligned(std::size_t size) noexcept {
    return (size + frameAlignment - 1) & ~(frameAlignment - 1);
}

/// Returns the size of the Z and P registers and of FFR in bytes. They have the same layout in the record and in the
/// register set.
constexpr std::size_t scalableSize(std::size_t vectorLength) noexcept {
    return 32 * vectorLength + 17 * (vectorLength / 8);
}

std::optional<ScalableHeader> headerOf(std::span<const std::byte> set) noexcept {
    ScalableHeader header{};
    if (set.size() < sizeof(header))
        return std::nullopt;
    std::memcpy(&header, set.data(), sizeof(header));
    return header;
}

/// Returns the thread's SVE registers: the content of the set after its header. Empty if the thread doesn't use them.
std::span<const std::byte> scalableRegisters(std::span<const std::byte> extended) noexcept {
    const std::span<const std::byte> set = registerSetOf(extended, ScalableSet);
    const auto header = headerOf(set);
    if (!header || !header->hasScalable() || set.size() < sizeof(*header) + scalableSize(header->vectorLength))
        return {};
    return set.subspan(sizeof(*header), scalableSize(header->vectorLength));
}

std::size_t frameSize(std::span<const std::byte> extended) noexcept {
    const std::size_t scalable = scalableRegisters(extended).size();
    return scalable == 0 ? sizeof(Frame) + sizeof(FloatingPointRecord) + endMark
                         : scalableOffset + sizeof(ScalableRecord) + aligned(scalable) + endMark;
}

/// Returns true if the thread has state that the frame would have to store and can't: streaming mode or ZA.
bool hasMatrixState(const Tracee& thread) {
    const auto streaming = headerOf(thread.registerSet(StreamingSet));
    return (streaming && streaming->hasScalable()) || thread.registerSet(MatrixSet).size() > sizeof(ScalableHeader);
}

}  // namespace

std::optional<SignalFrame> SignalFrame::of(const Tracee& thread, const Registers& registers, SignalMask mask) {
    std::vector<std::byte> extended = thread.extendedState();
    constexpr std::size_t wanted = sizeof(FloatingPointRecord::registers) + 2 * sizeof(std::uint32_t);
    if (registerSetOf(extended, FloatingPointSet).size() < wanted || hasMatrixState(thread))
        return std::nullopt;
    const bool ends = registers.restartsSyscall() && thread.callEndsWithTracer();
    return SignalFrame(ends ? registers.interrupted() : registers.restarted(), mask, std::move(extended));
}

RemoteAddress SignalFrame::placeBelow(RemoteAddress end) const noexcept {
    return (end - frameSize(extended_)) & ~RemoteAddress{frameAlignment - 1};
}

std::vector<std::byte> SignalFrame::bytes(RemoteAddress address, RemoteAddress /*restorer*/) const {
    std::vector<std::byte> all(frameSize(extended_));
    const auto put = [&](std::size_t offset, const auto& value) {
        std::memcpy(all.data() + offset, &value, sizeof(value));
    };
    Frame frame{};
    // With invalid flags, rt_sigreturn(2) doesn't change the alternate signal stack (restore_altstack()).
    frame.stackFlags = 0x7fff;
    frame.mask = mask_;
    std::copy(std::begin(registers_.raw.x), std::end(registers_.raw.x), frame.registers);
    frame.sp = registers_.raw.sp;
    frame.pc = registers_.raw.pc;
    frame.pstate = registers_.raw.pstate;
    put(0, frame);

    const std::span<const std::byte> simple = registerSetOf(extended_, FloatingPointSet);
    FloatingPointRecord record{};
    record.head = {floatingPointMagic, sizeof(record)};
    std::memcpy(record.registers, simple.data(), sizeof(record.registers));
    std::memcpy(&record.status, simple.data() + sizeof(record.registers), sizeof(record.status));
    std::memcpy(&record.control, simple.data() + sizeof(record.registers) + sizeof(record.status),
                sizeof(record.control));
    put(sizeof(Frame), record);

    const std::span<const std::byte> registers = scalableRegisters(extended_);
    if (registers.empty())
        return all;
    const auto size = static_cast<std::uint32_t>(sizeof(ScalableRecord) + aligned(registers.size()));
    put(sizeof(Frame) + sizeof(record), ExtraRecord{.head = {extraMagic, extraSize},
                                                    .address = address + scalableOffset,
                                                    .size = static_cast<std::uint32_t>(size + endMark),
                                                    .reserved = {},
                                                    .end = {}});
    const std::uint16_t length = headerOf(registerSetOf(extended_, ScalableSet))->vectorLength;
    put(scalableOffset, ScalableRecord{{scalableMagic, size}, length, 0, {}});
    std::memcpy(all.data() + scalableOffset + sizeof(ScalableRecord), registers.data(), registers.size());
    return all;
}

std::size_t signalFrameRoom() noexcept {
    constexpr std::size_t longestVector = 256;  // bytes; the architecture's limit
    return std::max(sizeof(Frame) + recordRoom,
                    scalableOffset + sizeof(ScalableRecord) + aligned(scalableSize(longestVector)) + endMark) +
           frameAlignment;
}

}  // namespace compel
