// SPDX-License-Identifier: GPL-2.0-only
#include "criu/tty/pty_queue.hpp"

#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "criu/base/error.hpp"

namespace criu::tty {
namespace {

constexpr std::size_t kLineLimit = 4096;  // N_TTY_BUF_SIZE, the maximal length of a line
// No queue contains more bytes; limits the reads while an outside process writes.
constexpr std::size_t kLimit = std::size_t{1} << 20;
constexpr std::uint8_t kEndOfFile = 0x04;  // the character ^D
constexpr std::uint8_t kQuote = 0x16;

/// Scope in which a descriptor has O_NONBLOCK. The destructor restores the flag, because frozen tasks may share the
/// open file description. Keep the scope short: if criu is killed in it, no process restores the flag.
class NonblockingScope {
public:
    explicit NonblockingScope(int fd) : fd_(fd), flags_(sys(::fcntl(fd, F_GETFL), "read the flags of a terminal")) {
        if ((flags_ & O_NONBLOCK) == 0)
            sys(::fcntl(fd_, F_SETFL, flags_ | O_NONBLOCK), "make a terminal non-blocking");
    }
    ~NonblockingScope() {
        if ((flags_ & O_NONBLOCK) == 0)
            ::fcntl(fd_, F_SETFL, flags_);
    }
    NonblockingScope(const NonblockingScope&) = delete;
    NonblockingScope& operator=(const NonblockingScope&) = delete;

private:
    int fd_;
    int flags_;
};

/// Scope in which TIOCSLCKTRMIOS locks no settings, because the kernel doesn't change locked settings.
class UnlockedSettings {
public:
    explicit UnlockedSettings(int slave) : slave_(slave), locked_(kernel::readLockedSettings(slave)) {
        if (locked_ != kernel::LineSettings{})
            kernel::writeLockedSettings(slave_, {});
    }
    ~UnlockedSettings() {
        try {
            if (locked_ != kernel::LineSettings{})
                kernel::writeLockedSettings(slave_, locked_);
        } catch (const Error&) {
            // Ignores the error, which can't occur: the constructor's call has succeeded on the same terminal.
        }
    }
    UnlockedSettings(const UnlockedSettings&) = delete;
    UnlockedSettings& operator=(const UnlockedSettings&) = delete;

private:
    int slave_;
    kernel::LineSettings locked_;
};

/// Returns true if a reader gets complete lines.
bool isCanonical(const kernel::LineSettings& settings) {
    return (settings.local & ICANON) != 0 && (settings.local & EXTPROC) == 0;
}

bool endsLine(std::uint8_t byte, const kernel::LineSettings& settings) {
    return byte == '\n' || (byte != 0 && (byte == settings.characters[VEOL] || byte == settings.characters[VEOL2]));
}

/// Reads once, appends the bytes to `queued`, and returns the number of these bytes. Returns nullopt if the queue is
/// empty.
std::optional<std::size_t> readSome(int fd, Queued& queued) {
    std::array<std::byte, kLineLimit> block;
    ssize_t got = 0;
    int code = 0;
    {
        const NonblockingScope guard(fd);
        got = ::read(fd, block.data(), block.size());
        code = errno;
    }
    if (got < 0) {
        // EIO: the queue is empty, and the other end is closed.
        if (code == EAGAIN || code == EIO)
            return std::nullopt;
        failWith(code, "read what waits in a terminal");
    }
    const auto size = static_cast<std::size_t>(got);
    queued.bytes.insert(queued.bytes.end(), block.begin(), block.begin() + got);
    if (queued.bytes.size() > kLimit || queued.endsOfFile.size() > kLimit)
        fail("more than {} bytes wait in a terminal, and there is no end to them", kLimit);
    return size;
}

void readLines(int slave, const kernel::LineSettings& settings, Queued& queued) {
    while (const auto size = readSome(slave, queued))
        if (*size == 0 || !endsLine(static_cast<std::uint8_t>(queued.bytes.back()), settings))
            queued.endsOfFile.push_back(static_cast<std::uint32_t>(queued.bytes.size()));
}

/// Returns settings without echo, signals and editing, which criu sets while it writes bytes.
kernel::LineSettings quiet(const kernel::LineSettings& settings) {
    kernel::LineSettings out = settings;
    out.input = 0;
    out.output = 0;
    out.local &= ICANON | EXTPROC;
    if (isCanonical(settings)) {
        out.local |= IEXTEN;  // VLNEXT works only with IEXTEN
        for (const int character : {VINTR, VQUIT, VERASE, VKILL, VSTART, VSTOP, VSUSP, VREPRINT, VDISCARD, VWERASE})
            out.characters[static_cast<std::size_t>(character)] = 0;
        out.characters[VEOF] = kEndOfFile;
        out.characters[VLNEXT] = kQuote;
    }
    return out;
}

/// Returns the bytes that criu must write so that the line discipline queues exactly the dumped bytes.
std::vector<std::byte> asTyped(const Queued& queued, const kernel::LineSettings& settings) {
    if (!isCanonical(settings))
        return queued.bytes;
    std::vector<std::byte> typed;
    auto end = queued.endsOfFile.begin();
    for (std::size_t i = 0; i <= queued.bytes.size(); ++i) {
        for (; end != queued.endsOfFile.end() && *end == i; ++end)
            typed.push_back(std::byte{kEndOfFile});
        if (i == queued.bytes.size())
            break;
        const auto byte = static_cast<std::uint8_t>(queued.bytes[i]);
        if ((byte == kEndOfFile || byte == kQuote) && !endsLine(byte, settings))
            typed.push_back(std::byte{kQuote});
        typed.push_back(queued.bytes[i]);
    }
    return typed;
}

/// Returns the value that FIONREAD has when all complete lines are queued.
std::size_t completeBytes(const Queued& queued, const kernel::LineSettings& settings) {
    std::size_t complete = queued.endsOfFile.empty() ? 0 : queued.endsOfFile.back();
    for (std::size_t i = complete; i < queued.bytes.size(); ++i)
        if (endsLine(static_cast<std::uint8_t>(queued.bytes[i]), settings))
            complete = i + 1;
    return complete;
}

void pauseBriefly() {
    constexpr timespec kMoment{0, 1'000'000};
    ::nanosleep(&kMoment, nullptr);
}

/// Writes as many bytes as the queue accepts. Returns the number of bytes that remain.
std::size_t writeAll(int fd, std::span<const std::byte> bytes) {
    constexpr int kTries = 200;
    for (int tries = 0; !bytes.empty() && tries < kTries;) {
        ssize_t written = 0;
        int code = 0;
        {
            const NonblockingScope guard(fd);
            written = ::write(fd, bytes.data(), bytes.size());
            code = errno;
        }
        if (written > 0) {
            bytes = bytes.subspan(static_cast<std::size_t>(written));
            continue;
        }
        if (written < 0 && code != EAGAIN)
            failWith(code, "put back what waited in a terminal");
        ++tries;  // the queue is full until a kernel thread has passed bytes to the other end, so waits
        pauseBriefly();
    }
    return bytes.size();
}

/// Waits until the line discipline has processed the bytes with its current settings. Returns false after too many
/// attempts.
bool awaitArrival(int slave, const Queued& queued, const kernel::LineSettings& settings) {
    const bool canonical = isCanonical(settings);
    const std::size_t wanted =
        std::min(canonical ? completeBytes(queued, settings) : queued.bytes.size(), kLineLimit - 1);
    constexpr int kTries = 200;
    for (int tries = 0; kernel::waitingBytes(slave) < wanted; ++tries) {
        if (tries == kTries)
            return false;
        pollfd readable{slave, POLLIN, 0};  // poll(2) makes the kernel process pending bytes
        ::poll(&readable, 1, 0);
        pauseBriefly();
    }
    // Waits a moment for an incomplete last line, because FIONREAD doesn't count it.
    if (canonical && wanted < queued.bytes.size())
        pauseBriefly();
    return true;
}

/// Writes both queues while the terminal has the settings of quiet(). Returns the number of bytes that didn't fit, or
/// that the line discipline may have changed.
std::size_t putQuietly(int master, int slave, const Queued& output, const Queued& input,
                       const kernel::LineSettings& settings) {
    std::size_t left = writeAll(slave, output.bytes);
    if (input.empty())
        return left;
    const std::size_t rest = writeAll(master, asTyped(input, settings));
    left += rest;
    if (rest == 0 && !awaitArrival(slave, input, settings))
        left += input.bytes.size();
    return left;
}

}  // namespace

UniqueFd openPrivateSlave(int master) {
    const bool locked = kernel::isPtyLocked(master);
    if (locked)
        kernel::setPtyLocked(master, false);
    UniqueFd slave(kernel::openSlaveOf(master, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
    const int code = errno;
    if (locked)
        kernel::setPtyLocked(master, true);
    if (!slave)
        failWith(code, "open the slave of a pseudoterminal");
    return slave;
}

void takeInput(int slave, Queued& into) {
    const auto settings = kernel::readLineSettings(slave);
    if (!settings)
        return;
    const bool canonical = isCanonical(*settings);
    if (canonical)
        readLines(slave, *settings, into);
    // Changes the settings, because otherwise read(2) may not return all bytes. It returns fewer than VMIN bytes only
    // if VMIN is 0 or 1, and an incomplete line only in non-canonical mode.
    kernel::LineSettings raw = *settings;
    raw.local &= ~tcflag_t{ICANON};
    raw.characters[VMIN] = 1;
    raw.characters[VTIME] = 0;
    if (!canonical && raw == *settings) {
        while (readSome(slave, into).value_or(0) != 0) {
        }
        return;
    }
    const UnlockedSettings unlocked(slave);
    kernel::writeLineSettings(slave, raw);
    while (readSome(slave, into).value_or(0) != 0) {
    }
    kernel::writeLineSettings(slave, *settings);
}

void takeOutput(int master, Queued& into) {
    while (readSome(master, into).value_or(0) != 0) {
    }
}

std::size_t putQueues(int master, int slave, const Queued& output, const Queued& input,
                      const kernel::LineSettings& settings) {
    const UnlockedSettings unlocked(slave);
    std::size_t left = 0;
    try {
        if (!output.empty() || !input.empty()) {
            kernel::writeLineSettings(slave, quiet(settings));
            left = putQuietly(master, slave, output, input, settings);
        }
    } catch (...) {
        try {
            kernel::writeLineSettings(slave, settings);
        } catch (const Error&) {
            // Ignores the second error, because the caller gets the first one, which is the cause.
        }
        throw;
    }
    kernel::writeLineSettings(slave, settings);
    return left;
}

}  // namespace criu::tty
