// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace compel {

inline constexpr std::optional<std::int64_t> pollSyscall = std::nullopt;
inline constexpr std::array<std::int64_t, 0> oldWaitingSyscalls{};

using SyscallArguments = std::array<std::uint64_t, 6>;

struct Registers {
    struct {
        std::uint64_t words[35];
    } raw{};

    [[nodiscard]] std::uint64_t ip() const noexcept;
    void setIp(std::uint64_t value) noexcept;
    [[nodiscard]] std::uint64_t sp() const noexcept;
    void setSp(std::uint64_t value) noexcept;
    [[nodiscard]] std::uint64_t threadPointer() const noexcept;
    [[nodiscard]] std::int64_t syscallNumber() const noexcept;
    void setSyscallNumber(std::int64_t value) noexcept;
    [[nodiscard]] bool inSyscall() const noexcept;
    [[nodiscard]] std::uint64_t syscallArgument(std::size_t index) const noexcept;
    void setSyscallArgument(std::size_t index, std::uint64_t value) noexcept;
    [[nodiscard]] std::int64_t syscallResult() const noexcept;
    void setSyscallResult(std::int64_t value) noexcept;
    void leaveSyscall() noexcept;
    [[nodiscard]] bool restartsSyscall() const noexcept;
    void setCall(std::int64_t number, const SyscallArguments& arguments, std::uint64_t instruction) noexcept;
    [[nodiscard]] Registers restarted() const noexcept;
    static constexpr std::uint64_t belowStack = 0;
    void setReturnFrame(std::uint64_t frame) noexcept;
    void setEntry(std::uint64_t entry, std::uint64_t argument, std::uint64_t stackTop, int endSignal,
                  std::uint64_t frame) noexcept;
    [[nodiscard]] std::int32_t blobProcess() const noexcept;
    [[nodiscard]] std::int64_t blobResult() const noexcept;
    [[nodiscard]] bool isNative() const noexcept;
    static constexpr std::int64_t interruptedCompatCalls[] = {3};
};

using ThreadSegments = std::array<std::byte, 0>;

inline constexpr std::array<std::byte, 4> syscallInstructionBytes{std::byte{0x01}, std::byte{0x00}, std::byte{0x00},
                                                                  std::byte{0xd4}};
inline constexpr std::array<std::byte, 8> syscallReturnBytes{std::byte{0x01}, std::byte{0x00}, std::byte{0x00},
                                                             std::byte{0xd4}, std::byte{0xc0}, std::byte{0x03},
                                                             std::byte{0x5f}, std::byte{0xd6}};
inline constexpr std::array<std::byte, 8> restorerBytes{std::byte{0x68}, std::byte{0x11}, std::byte{0x80},
                                                        std::byte{0xd2}, std::byte{0x01}, std::byte{0x00},
                                                        std::byte{0x00}, std::byte{0xd4}};
constexpr bool entersKernel(const std::array<std::byte, 4>& instruction) noexcept {
    return instruction == syscallInstructionBytes;
}

}  // namespace compel
