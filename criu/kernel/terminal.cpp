// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/terminal.hpp"

#include <fcntl.h>
#include <linux/kd.h>
#include <linux/termios.h>  // structures differ from those of <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "criu/base/error.hpp"
#include "criu/kernel/device_number.hpp"
#include "criu/kernel/interface.hpp"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

namespace criu::kernel {
namespace {

static_assert(kControlCharacters == NCCS);

template <typename Argument>
int control(int fd, unsigned long request, Argument argument) {
    return static_cast<int>(::syscall(SYS_ioctl, fd, request, argument));
}

template <typename Termios>
LineSettings fromKernel(const Termios& from) {
    LineSettings settings;
    settings.input = from.c_iflag;
    settings.output = from.c_oflag;
    settings.control = from.c_cflag;
    settings.local = from.c_lflag;
    settings.discipline = from.c_line;
    std::copy(std::begin(from.c_cc), std::end(from.c_cc), settings.characters.begin());
    return settings;
}

template <typename Termios>
Termios toKernel(const LineSettings& settings) {
    Termios to{};
    to.c_iflag = settings.input;
    to.c_oflag = settings.output;
    to.c_cflag = settings.control;
    to.c_lflag = settings.local;
    to.c_line = settings.discipline;
    std::copy(settings.characters.begin(), settings.characters.end(), std::begin(to.c_cc));
    return to;
}

bool readSwitch(int fd, unsigned long request, const char* what) {
    int value = 0;
    sys(control(fd, request, &value), "ask a terminal for {}", what);
    return value != 0;
}

std::optional<pid_t> readJobControl(int master, unsigned long request, const char* what) {
    int value = 0;
    if (control(master, request, &value) < 0) {
        if (errno != ENOTTY)
            failErrno("ask a terminal for its {}", what);
        return std::nullopt;
    }
    return value > 0 ? std::optional<pid_t>(value) : std::nullopt;
}

}  // namespace

std::optional<LineSettings> readLineSettings(int fd) {
    termios2 raw{};
    if (control(fd, TCGETS2, &raw) < 0) {
        if (errno == EIO)
            return std::nullopt;
        failErrno("read the settings of a terminal");
    }
    LineSettings settings = fromKernel(raw);
    settings.inputSpeed = raw.c_ispeed;
    settings.outputSpeed = raw.c_ospeed;
    return settings;
}

LineSettings withSpeed(LineSettings settings) noexcept {
    if ((settings.control & CBAUD) == BOTHER && settings.outputSpeed == 0)
        settings.control = (settings.control & ~std::uint32_t{CBAUD}) | B38400;
    return settings;
}

void writeLineSettings(int fd, const LineSettings& settings) {
    auto raw = toKernel<termios2>(withSpeed(settings));
    raw.c_ispeed = settings.inputSpeed;
    raw.c_ospeed = settings.outputSpeed;
    sys(control(fd, TCSETS2, &raw), "set up a terminal");
}

LineSettings readLockedSettings(int fd) {
    termios raw{};
    sys(control(fd, TIOCGLCKTRMIOS, &raw), "read the locked settings of a terminal");
    return fromKernel(raw);
}

void writeLockedSettings(int fd, const LineSettings& settings) {
    auto raw = toKernel<termios>(settings);
    sys(control(fd, TIOCSLCKTRMIOS, &raw), "lock settings of a terminal");
}

WindowSize readWindowSize(int fd) {
    winsize size{};
    sys(control(fd, TIOCGWINSZ, &size), "read the window size of a terminal");
    return {size.ws_row, size.ws_col, size.ws_xpixel, size.ws_ypixel};
}

bool hasUnusualModes(int fd) {
    int mode = KD_TEXT;
    int keyboard = K_UNICODE;
    const bool graphics = control(fd, KDGETMODE, &mode) == 0 && mode != KD_TEXT;
    return graphics || (control(fd, KDGKBMODE, &keyboard) == 0 && keyboard != K_UNICODE && keyboard != K_XLATE);
}

void writeWindowSize(int fd, const WindowSize& size) {
    winsize raw{size.rows, size.columns, size.xPixels, size.yPixels};
    sys(control(fd, TIOCSWINSZ, &raw), "set the window size of a terminal");
}

dev_t terminalDevice(int fd) {
    std::uint32_t number = 0;
    sys(control(fd, TIOCGDEV, &number), "ask which terminal this is");
    return decodeDevice(number);
}

unsigned ptyNumber(int master) {
    unsigned number = 0;
    sys(control(master, TIOCGPTN, &number), "ask for the number of a pseudoterminal");
    return number;
}

bool isPtyLocked(int master) {
    return readSwitch(master, TIOCGPTLCK, "its lock");
}

void setPtyLocked(int master, bool locked) {
    const int value = locked ? 1 : 0;
    sys(control(master, TIOCSPTLCK, &value), "{} a pseudoterminal", locked ? "lock" : "unlock");
}

bool inPacketMode(int master) {
    return readSwitch(master, TIOCGPKT, "packet mode");
}

void setPacketMode(int master, bool on) {
    const int value = on ? 1 : 0;
    sys(control(master, TIOCPKT, &value), "switch the packet mode of a pseudoterminal");
}

bool isExclusive(int fd) {
    return readSwitch(fd, TIOCGEXCL, "exclusive mode");
}

void makeExclusive(int fd) {
    sys(control(fd, TIOCEXCL, 0), "make a terminal exclusive");
}

std::optional<pid_t> sessionOfPty(int master) {
    return readJobControl(master, TIOCGSID, "session");
}

std::optional<pid_t> foregroundOfPty(int master) {
    return readJobControl(master, TIOCGPGRP, "foreground group");
}

std::size_t waitingBytes(int fd) {
    int count = 0;
    sys(control(fd, FIONREAD, &count), "ask what waits in a terminal");
    return static_cast<std::size_t>(count);
}

bool controlOwnSession(int fd) {
    if (control(fd, TIOCSCTTY, 0) == 0)
        return true;
    if (errno != EPERM)
        failErrno("make a terminal the controlling one");
    return false;
}

bool setForeground(int fd, pid_t group) {
    return control(fd, TIOCSPGRP, &group) == 0;
}

UniqueFd openControllingTerminal() {
    const UniqueFd own(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!own)
        return {};
    const dev_t device = terminalDevice(own.get());
    const std::string name = fmt::format("/dev/pts/{}", minor(device));
    UniqueFd found(::open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
    struct stat stat {};
    if (!found || ::fstat(found.get(), &stat) != 0 || stat.st_rdev != device)
        return {};
    return found;
}

int openSlaveOf(int master, int flags) {
    // Passes O_LARGEFILE, because open(2) adds this flag but TIOCGPTPEER doesn't, and the kernel shows it in the file
    // flags. Doesn't pass O_CLOEXEC, because TIOCGPTPEER would keep it in the flags of the open file description.
    const int fd = control(master, TIOCGPTPEER, (flags & ~O_CLOEXEC) | kLargeFile);
    if (fd >= 0 && (flags & O_CLOEXEC) != 0)
        ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

}  // namespace criu::kernel
