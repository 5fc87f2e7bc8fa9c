// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "criu/base/unique_fd.hpp"

/// What terminals report and accept: ioctl_tty(2), pty(7). Descriptors are borrowed. Calls on the master of a
/// pseudoterminal that are about line settings or window size act on the slave.
namespace criu::kernel {

inline constexpr std::size_t kControlCharacters = 19;  // NCCS of the kernel's <asm/termbits.h>

/// struct termios2 of the kernel.
struct LineSettings {
    std::uint32_t input = 0;
    std::uint32_t output = 0;
    std::uint32_t control = 0;
    std::uint32_t local = 0;
    std::uint8_t discipline = 0;
    std::array<std::uint8_t, kControlCharacters> characters{};
    /// Baud; they count where `control` has BOTHER, elsewhere its CBAUD bits do.
    std::uint32_t inputSpeed = 0;
    std::uint32_t outputSpeed = 0;

    friend bool operator==(const LineSettings&, const LineSettings&) = default;
};

struct WindowSize {
    std::uint16_t rows = 0;
    std::uint16_t columns = 0;
    std::uint16_t xPixels = 0;
    std::uint16_t yPixels = 0;

    friend bool operator==(const WindowSize&, const WindowSize&) = default;
};

/// Nothing for a terminal that was hung up: it answers EIO for ever.
[[nodiscard]] std::optional<LineSettings> readLineSettings(int fd);
void writeLineSettings(int fd, const LineSettings& settings);

/// Bits that are set here can't be changed by writeLineSettings(). Setting them takes CAP_SYS_ADMIN.
[[nodiscard]] LineSettings readLockedSettings(int fd);
void writeLockedSettings(int fd, const LineSettings& settings);

[[nodiscard]] WindowSize readWindowSize(int fd);
void writeWindowSize(int fd, const WindowSize& size);

/// The terminal's own device (TIOCGDEV): of a master its slave's, of /dev/tty and /dev/console the one behind it. As
/// /proc/PID/stat shows controlling terminals.
[[nodiscard]] dev_t terminalDevice(int fd);

/// Number of the pseudoterminal a master belongs to.
[[nodiscard]] unsigned ptyNumber(int master);

/// Whether slaves can't be opened yet (unlockpt(3)).
[[nodiscard]] bool isPtyLocked(int master);
void setPtyLocked(int master, bool locked);

[[nodiscard]] bool inPacketMode(int master);
void setPacketMode(int master, bool on);

[[nodiscard]] bool isExclusive(int fd);
void makeExclusive(int fd);

/// Session and foreground group of the slave, asked through the master; nothing if it controls no session.
[[nodiscard]] std::optional<pid_t> sessionOfPty(int master);
[[nodiscard]] std::optional<pid_t> foregroundOfPty(int master);

/// Bytes that wait to be read here; in canonical mode those of complete lines only.
[[nodiscard]] std::size_t waitingBytes(int fd);

/// Makes it the controlling terminal of the calling process, which leads a session and has none yet.
/// False if it controls another session.
[[nodiscard]] bool controlOwnSession(int fd);

/// Puts a group of the calling process' session into the foreground of the session's terminal. False with errno set.
[[nodiscard]] bool setForeground(int fd, pid_t group);

/// Opens the pseudoterminal that controls the session, by a name that others can open, too. Nothing if there is none.
[[nodiscard]] UniqueFd openControllingTerminal();

/// Opens the slave of a master without its path (Linux 4.13); flags of open(2). Returns a descriptor, or -1 with errno.
[[nodiscard]] int openSlaveOf(int master, int flags);

}  // namespace criu::kernel
