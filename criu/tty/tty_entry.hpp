// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "criu/image/arena.hpp"
#include "criu/kernel/terminal.hpp"
#include "images/tty.hpp"

/// Functions for terminals in images. tty-info.img contains one entry for each end of a pseudoterminal and for each
/// other terminal. A tty_file_entry of files.img refers to such an entry.
namespace criu::tty {

/// Type of a terminal. The device number determines it.
enum class Role : std::uint8_t {
    PtyMaster,
    PtySlave,
    Own,      ///< /dev/tty, the controlling terminal of the process that opened it
    Console,  ///< /dev/console
    Virtual,  ///< /dev/ttyN
    Serial,
};

/// Returns the role for a device number. These numbers are permanent in Linux. Returns nullopt for other devices and
/// for terminals that criu doesn't know.
[[nodiscard]] std::optional<Role> roleOf(dev_t device) noexcept;

[[nodiscard]] TtyType typeOf(Role role) noexcept;

/// Returns the name of a terminal for --external and --inherit-fd. `fileSystem`: device number of the file system that
/// contains the terminal's file.
[[nodiscard]] std::string externalName(dev_t device, dev_t fileSystem);

/// Ids of tty_info_entry. The id of a pseudoterminal is its number times two, plus one for the master. CRIU 4.2 marks
/// used ids in small bit maps, so the ids of other terminals begin just above the ids of its pseudoterminals.
inline constexpr std::uint32_t kPtyIds = 2 * 1001;
inline constexpr std::uint32_t kConsoleId = 2 * 1002;
inline constexpr std::uint32_t kVirtualId = 2 * 1004;
inline constexpr std::uint32_t kOwnId = 2 * 1006;
inline constexpr std::uint32_t kSerialId = 2 * 1010;
inline constexpr std::uint32_t kExternalIds = 2 * 1013;
/// First id for additional terminals of a type, and for pseudoterminals with a number above 1000.
inline constexpr std::uint32_t kOtherIds = 2 * 1078;

/// Stores line settings. Each 32-bit element of c_cc contains four control characters in memory order. The last
/// elements are unused.
[[nodiscard]] TermiosEntry* storeSettings(const kernel::LineSettings& settings, Arena& arena);
/// Returns the line settings of an image. Throws Error if control characters are missing.
[[nodiscard]] kernel::LineSettings loadSettings(const TermiosEntry& entry);

[[nodiscard]] WinsizeEntry* storeWindow(const kernel::WindowSize& size, Arena& arena);
[[nodiscard]] kernel::WindowSize loadWindow(const WinsizeEntry& entry);

}  // namespace criu::tty
