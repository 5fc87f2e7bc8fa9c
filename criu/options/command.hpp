// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace criu::options {

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
    Explain,
    Verify,
    StreamPack,
    StreamUnpack,
    Rescue,
    MemoryProvider,
    Compare,
};
inline constexpr unsigned kCommandCount = 18;

/// Set of commands.
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

/// Name and help text of a command.
struct CommandRow {
    Command command;
    std::string_view name;  ///< name as the user types it, for instance "cpuinfo dump"
    bool built;             ///< false if this build refuses the command
    std::string_view usage;
    std::string_view help;
};

/// Returns the rows of all commands, in the order of the enumeration.
std::span<const CommandRow> commandTable() noexcept;

/// Returns the row of a command.
const CommandRow& commandRow(Command command) noexcept;
inline std::string_view commandName(Command command) noexcept {
    return commandRow(command).name;
}

}  // namespace criu::options
