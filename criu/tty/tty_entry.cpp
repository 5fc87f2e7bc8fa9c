// SPDX-License-Identifier: GPL-2.0-only
#include "criu/tty/tty_entry.hpp"

#include <sys/sysmacros.h>

#include <cstring>

#include <fmt/format.h>

#include "criu/base/error.hpp"

namespace criu::tty {

// The device numbers are those of <linux/major.h> and of Documentation/admin-guide/devices.txt of Linux.
std::optional<Role> roleOf(dev_t device) noexcept {
    const unsigned first = major(device);
    const unsigned second = minor(device);
    constexpr unsigned kTerminals = 4;
    constexpr unsigned kLastVirtual = 63;
    constexpr unsigned kOtherTerminals = 5;
    if (first == kTerminals)
        return second >= 1 && second <= kLastVirtual ? Role::Virtual : Role::Serial;
    if (first == kOtherTerminals) {
        if (second > 2)
            return std::nullopt;
        constexpr Role kRoles[] = {Role::Own, Role::Console, Role::PtyMaster};
        return kRoles[second];
    }
    if (first >= 128 && first <= 135)
        return Role::PtyMaster;
    if (first >= 136 && first <= 143)
        return Role::PtySlave;
    // Major numbers of USB serial lines, small serial ports, and consoles of hypervisors.
    if (first == 188 || first == 204 || first == 229)
        return Role::Serial;
    return std::nullopt;
}

TtyType typeOf(Role role) noexcept {
    switch (role) {
        case Role::PtyMaster:
        case Role::PtySlave:
            return TTY_TYPE__PTY;
        case Role::Own:
            return TTY_TYPE__CTTY;
        case Role::Console:
            return TTY_TYPE__CONSOLE;
        case Role::Virtual:
            return TTY_TYPE__VT;
        case Role::Serial:
            break;
    }
    return TTY_TYPE__SERIAL;
}

std::string externalName(dev_t device, dev_t fileSystem) {
    return fmt::format("tty[{:x}:{:x}]", device, fileSystem);
}

TermiosEntry* storeSettings(const kernel::LineSettings& settings, Arena& arena) {
    auto* const entry = arena.make<TermiosEntry>();
    entry->c_iflag = settings.input;
    entry->c_oflag = settings.output;
    entry->c_cflag = settings.control;
    entry->c_lflag = settings.local;
    entry->c_line = settings.discipline;
    entry->c_ispeed = settings.inputSpeed;
    entry->c_ospeed = settings.outputSpeed;
    entry->n_c_cc = settings.characters.size();
    entry->c_cc = arena.array<std::uint32_t>(entry->n_c_cc);
    std::memcpy(entry->c_cc, settings.characters.data(), settings.characters.size());
    return entry;
}

kernel::LineSettings loadSettings(const TermiosEntry& entry) {
    if (entry.n_c_cc < kernel::kControlCharacters)
        fail("settings of a terminal have {} control characters instead of {}", entry.n_c_cc,
             kernel::kControlCharacters);
    kernel::LineSettings settings;
    settings.input = entry.c_iflag;
    settings.output = entry.c_oflag;
    settings.control = entry.c_cflag;
    settings.local = entry.c_lflag;
    settings.discipline = static_cast<std::uint8_t>(entry.c_line);
    settings.inputSpeed = entry.c_ispeed;
    settings.outputSpeed = entry.c_ospeed;
    std::memcpy(settings.characters.data(), entry.c_cc, settings.characters.size());
    return settings;
}

WinsizeEntry* storeWindow(const kernel::WindowSize& size, Arena& arena) {
    auto* const entry = arena.make<WinsizeEntry>();
    entry->ws_row = size.rows;
    entry->ws_col = size.columns;
    entry->ws_xpixel = size.xPixels;
    entry->ws_ypixel = size.yPixels;
    return entry;
}

kernel::WindowSize loadWindow(const WinsizeEntry& entry) {
    const auto narrow = [](std::uint32_t value) { return static_cast<std::uint16_t>(value); };
    return {narrow(entry.ws_row), narrow(entry.ws_col), narrow(entry.ws_xpixel), narrow(entry.ws_ypixel)};
}

}  // namespace criu::tty
