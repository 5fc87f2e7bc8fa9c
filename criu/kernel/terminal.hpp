// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "criu/base/unique_fd.hpp"

/// Terminal ioctls (ioctl_tty(2), pty(7)). No function closes its descriptors. If `fd` is the master of a
/// pseudoterminal, calls for line settings or window size act on the slave.
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
    /// Baud rates. They are valid if `control` has BOTHER. Without BOTHER, the CBAUD bits of `control` contain the
    /// speed.
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

/// Reads the line settings. Returns nullopt for a hung up terminal, because all calls for it fail with EIO.
[[nodiscard]] std::optional<LineSettings> readLineSettings(int fd);
/// Returns settings with the speed B38400 instead of the speed 0 of BOTHER, which images without speeds contain. The
/// speed 0 would hang up the line.
[[nodiscard]] LineSettings withSpeed(LineSettings settings) noexcept;
/// Sets withSpeed() of the line settings.
void writeLineSettings(int fd, const LineSettings& settings);

/// Reads the mask of setting bits that writeLineSettings() can't change (TIOCGLCKTRMIOS). writeLockedSettings() needs
/// CAP_SYS_ADMIN.
[[nodiscard]] LineSettings readLockedSettings(int fd);
void writeLockedSettings(int fd, const LineSettings& settings);

[[nodiscard]] WindowSize readWindowSize(int fd);
void writeWindowSize(int fd, const WindowSize& size);

/// Returns true for a virtual terminal in graphics mode, or whose keyboard sends raw or no codes. These modes of
/// console_ioctl(2) are not those of a terminal that a shell uses. Returns false for other terminals.
[[nodiscard]] bool hasUnusualModes(int fd);

/// Returns the device number that /proc/PID/stat shows for this controlling terminal (TIOCGDEV). For a master, this is
/// the device of the slave. For /dev/tty and /dev/console, it is the device of the underlying terminal.
[[nodiscard]] dev_t terminalDevice(int fd);

/// Returns the number N of the pseudoterminal /dev/pts/N to which the master belongs.
[[nodiscard]] unsigned ptyNumber(int master);

/// Returns true if the pseudoterminal is locked, so that its slave can't be opened (unlockpt(3)).
[[nodiscard]] bool isPtyLocked(int master);
void setPtyLocked(int master, bool locked);

[[nodiscard]] bool inPacketMode(int master);
void setPacketMode(int master, bool on);

[[nodiscard]] bool isExclusive(int fd);
void makeExclusive(int fd);

/// Returns the session that the slave of `master` controls; nullopt if it controls none.
[[nodiscard]] std::optional<pid_t> sessionOfPty(int master);
[[nodiscard]] std::optional<pid_t> foregroundOfPty(int master);

/// Returns the number of readable bytes. In canonical mode, only bytes of complete lines count.
[[nodiscard]] std::size_t waitingBytes(int fd);

/// Makes the terminal the controlling terminal of the calling process. The process must be a session leader without a
/// terminal. Returns false if the terminal controls another session.
[[nodiscard]] bool controlOwnSession(int fd);

/// Makes `group` the foreground group of the terminal. `group` must belong to the session of the calling process, and
/// the terminal must control this session. Returns false and sets errno after a failure.
[[nodiscard]] bool setForeground(int fd, pid_t group);

/// Opens the controlling pseudoterminal of the caller's session by a path that other processes can open, too. Returns
/// an invalid descriptor if the session has no controlling pseudoterminal.
[[nodiscard]] UniqueFd openControllingTerminal();

/// Opens the slave of a master without the path of the slave (TIOCGPTPEER, Linux 4.13). `flags` are those of open(2).
/// Returns a descriptor, or -1 and sets errno.
[[nodiscard]] int openSlaveOf(int master, int flags);

}  // namespace criu::kernel
