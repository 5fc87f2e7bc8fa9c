// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "criu/base/unique_fd.hpp"

/// Terminal ioctls: ioctl_tty(2), pty(7). Descriptors are borrowed. On a pseudoterminal master, calls for line
/// settings or window size act on the slave.
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
    /// Baud rate. Valid if `control` has BOTHER; otherwise the CBAUD bits of `control` decide.
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

/// Returns nullopt for a hung up terminal, which returns EIO for all calls.
[[nodiscard]] std::optional<LineSettings> readLineSettings(int fd);
void writeLineSettings(int fd, const LineSettings& settings);

/// Reads the bits that writeLineSettings() can't change. Setting them needs CAP_SYS_ADMIN.
[[nodiscard]] LineSettings readLockedSettings(int fd);
void writeLockedSettings(int fd, const LineSettings& settings);

[[nodiscard]] WindowSize readWindowSize(int fd);
void writeWindowSize(int fd, const WindowSize& size);

/// Returns the terminal's device as /proc/PID/stat shows controlling terminals (TIOCGDEV). For a master it is the
/// slave's; for /dev/tty and /dev/console the underlying terminal's.
[[nodiscard]] dev_t terminalDevice(int fd);

/// Returns the number of a master's pseudoterminal.
[[nodiscard]] unsigned ptyNumber(int master);

/// Returns true if slaves can't be opened yet (unlockpt(3)).
[[nodiscard]] bool isPtyLocked(int master);
void setPtyLocked(int master, bool locked);

[[nodiscard]] bool inPacketMode(int master);
void setPacketMode(int master, bool on);

[[nodiscard]] bool isExclusive(int fd);
void makeExclusive(int fd);

/// Return session and foreground group of the slave, queried through the master; nullopt if it controls no session.
[[nodiscard]] std::optional<pid_t> sessionOfPty(int master);
[[nodiscard]] std::optional<pid_t> foregroundOfPty(int master);

/// Returns the number of readable bytes; in canonical mode only those of complete lines.
[[nodiscard]] std::size_t waitingBytes(int fd);

/// Makes it the controlling terminal of the calling process, a session leader without a terminal. Returns false if
/// the terminal controls another session.
[[nodiscard]] bool controlOwnSession(int fd);

/// Makes a group of the calling process' session the foreground group of the session's terminal. Returns false and
/// sets errno on failure.
[[nodiscard]] bool setForeground(int fd, pid_t group);

/// Opens the session's controlling pseudoterminal by a path that other processes can open too. Returns an invalid
/// descriptor if none exists.
[[nodiscard]] UniqueFd openControllingTerminal();

/// Opens the slave of a master without its path (Linux 4.13). `flags` of open(2). Returns a descriptor, or -1 with
/// errno.
[[nodiscard]] int openSlaveOf(int master, int flags);

}  // namespace criu::kernel
