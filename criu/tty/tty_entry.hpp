// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "criu/image/arena.hpp"
#include "criu/kernel/terminal.hpp"
#include "images/tty.hpp"

/// How images speak of terminals: tty-info.img has one record for each end of a pseudoterminal and for each other
/// terminal; tty_file_entry of files.img refers to it.
namespace criu::tty {

/// What a device number says about an open terminal.
enum class Role : std::uint8_t {
    PtyMaster,
    PtySlave,
    Own,      ///< /dev/tty: whatever controls the session
    Console,  ///< /dev/console
    Virtual,  ///< /dev/ttyN
    Serial,
};

/// By the numbers that Linux gives to devices for good; nothing for what isn't a terminal or none we know.
[[nodiscard]] std::optional<Role> roleOf(dev_t device) noexcept;

[[nodiscard]] TtyType typeOf(Role role) noexcept;

/// What --external and --inherit-fd call a terminal, by its device number and that of the file system its name is in.
[[nodiscard]] std::string externalName(dev_t device, dev_t fileSystem);

/// Ids of tty_info_entry: two for every pseudoterminal, its number times two, plus one for the master. CRIU 4.2
/// has bit maps of them, so others have their ids just above the numbers it allows.
inline constexpr std::uint32_t kPtyIds = 2 * 1001;
inline constexpr std::uint32_t kConsoleId = 2 * 1002;
inline constexpr std::uint32_t kVirtualId = 2 * 1004;
inline constexpr std::uint32_t kOwnId = 2 * 1006;
inline constexpr std::uint32_t kSerialId = 2 * 1010;
inline constexpr std::uint32_t kExternalIds = 2 * 1013;
/// For whatever doesn't fit the scheme: second terminals of a kind, numbers above 1000.
inline constexpr std::uint32_t kOtherIds = 2 * 1078;

/// In the list of control characters one 32-bit number holds four of them, in memory order, and the last are unused.
[[nodiscard]] TermiosEntry* storeSettings(const kernel::LineSettings& settings, Arena& arena);
/// Throws Error if control characters are missing.
[[nodiscard]] kernel::LineSettings loadSettings(const TermiosEntry& entry);

[[nodiscard]] WinsizeEntry* storeWindow(const kernel::WindowSize& size, Arena& arena);
[[nodiscard]] kernel::WindowSize loadWindow(const WinsizeEntry& entry);

}  // namespace criu::tty
