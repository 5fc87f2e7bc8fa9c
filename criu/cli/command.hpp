// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace criu::cli {

enum class Command : std::uint8_t {
    Dump,
    PreDump,
    Restore,
    LazyPages,
    Check,
    PageServer,
    Service,
    Swrk,
    Dedup,
    CpuinfoDump,
    CpuinfoCheck,
};
inline constexpr unsigned kCommandCount = 11;

/// The commands that something applies to.
class CommandSet {
public:
    constexpr CommandSet(std::initializer_list<Command> commands) noexcept {
        for (const Command command : commands)
            bits_ |= 1U << static_cast<unsigned>(command);
    }
    static constexpr CommandSet all() noexcept { return CommandSet((1U << kCommandCount) - 1); }

    [[nodiscard]] constexpr bool contains(Command command) const noexcept {
        return (bits_ & (1U << static_cast<unsigned>(command))) != 0;
    }

private:
    explicit constexpr CommandSet(unsigned bits) noexcept : bits_(bits) {}
    unsigned bits_ = 0;
};

/// As the user types it, e.g. "cpuinfo dump".
std::string_view commandName(Command command) noexcept;

}  // namespace criu::cli
