// SPDX-License-Identifier: GPL-2.0-only
#include "criu/tty/terminal_record.hpp"

#include <termios.h>

#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/hex.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"

namespace criu::tty {
namespace {

constexpr std::string_view kBegin = "terminal";
constexpr std::string_view kEnd = "terminal-end";
constexpr std::size_t kFields = 8;

std::string hexOf(const kernel::LineSettings& settings) {
    return toHex(std::as_bytes(std::span(&settings, 1)));
}

kernel::LineSettings settingsOf(std::string_view hex) {
    kernel::LineSettings settings;
    if (!parseHex(hex, std::as_writable_bytes(std::span(&settings, 1))))
        fail("the journal is damaged: settings of a terminal aren't {} hexadecimal digits", 2 * sizeof(settings));
    return settings;
}

/// Returns true if a terminal has settings that criu sets while it reads and writes the waiting bytes (PtyExchange).
bool areOfCriu(const kernel::LineSettings& now, const kernel::LineSettings& recorded) {
    constexpr auto kCanonical = static_cast<std::uint32_t>(ICANON);
    constexpr auto kQuiet = static_cast<std::uint32_t>(ICANON | EXTPROC | IEXTEN);
    const bool isRaw =
        now.input == recorded.input && now.output == recorded.output && now.local == (recorded.local & ~kCanonical);
    const bool isQuiet = now.input == 0 && now.output == 0 && (now.local & ~kQuiet) == 0;
    return isRaw || isQuiet;
}

/// Returns the master of the line; an invalid descriptor if the process has ended or has replaced the descriptor.
UniqueFd masterOf(const JournalLine& line) {
    try {
        const auto pid = static_cast<pid_t>(numberOf(line[1]));
        const kernel::PidFd process(pid);
        kernel::ProcBuffer buffer;
        if (kernel::readStat(kernel::ProcDir().open(pid), buffer).startTime != numberOf(line[2]))
            return {};
        UniqueFd master = process.getFd(static_cast<int>(numberOf(line[3])));
        return kernel::ptyNumber(master.get()) == numberOf(line[4]) ? std::move(master) : UniqueFd();
    } catch (const Error&) {
        return {};
    }
}

}  // namespace

void recordTerminal(const RecordedMaster& master, bool packets, const kernel::LineSettings& line,
                    const kernel::LineSettings& locked, Journal& journal) noexcept {
    if (!journal.isOpen())
        return;
    try {
        journal.record(JournalLine{std::string(kBegin), fmt::format("{}", master.process),
                                   fmt::format("{}", master.startTime), fmt::format("{}", master.fd),
                                   fmt::format("{}", master.number), packets ? "1" : "0", hexOf(line), hexOf(locked)});
    } catch (const std::exception&) {
        return;  // the journal is for killed dumps only
    }
}

void recordTerminalEnd(Journal& journal) noexcept {
    if (journal.isOpen())
        journal.record({kEnd});
}

const JournalLine* recordedTerminal(const std::vector<JournalLine>& lines) {
    const JournalLine* open = nullptr;
    for (const JournalLine& line : lines)
        if (line.front() == kBegin && line.size() == kFields)
            open = &line;
        else if (line.front() == kEnd)
            open = nullptr;
    return open;
}

bool restoreTerminal(const JournalLine& line) {
    const kernel::LineSettings settings = settingsOf(line[6]);
    const kernel::LineSettings locked = settingsOf(line[7]);
    const UniqueFd master = masterOf(line);
    const auto now = master ? kernel::readLineSettings(master.get()) : std::nullopt;
    if (!now)
        return false;
    bool changed = false;
    const auto change = [&changed](bool isOfCriu, const auto& work) {
        if (!isOfCriu)
            return;
        work();
        changed = true;
    };
    change(*now != settings && areOfCriu(*now, settings), [&] { kernel::writeLineSettings(master.get(), settings); });
    change(locked != kernel::LineSettings{} && kernel::readLockedSettings(master.get()) == kernel::LineSettings{},
           [&] { kernel::writeLockedSettings(master.get(), locked); });
    change(numberOf(line[5]) != 0 && !kernel::inPacketMode(master.get()),
           [&] { kernel::setPacketMode(master.get(), true); });
    return changed;
}

}  // namespace criu::tty
