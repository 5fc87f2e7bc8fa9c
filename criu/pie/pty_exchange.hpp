// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>

/// Functions that read the waiting bytes of a pseudoterminal and write them again. They need no library, because they
/// also run in dumped processes: if criu is killed there, the process itself still writes the bytes.
namespace criu::pie {

/// struct termios2 of the kernel (asm/termbits.h).
struct PtySettings {
    std::uint32_t input, output, control, local;
    std::uint8_t discipline;
    std::uint8_t characters[19];
    std::uint32_t inputSpeed, outputSpeed;
};
static_assert(sizeof(PtySettings) == 44);

/// Bytes in memory of the process that executes the functions. `at` is an address, `size` the number of bytes in use.
struct PtyBytes {
    std::uint64_t at = 0;
    std::uint64_t size = 0;
};

/// Call that has failed.
enum class PtyStep : std::uint32_t {
    None,
    OpenSlave,
    ReadSettings,
    WriteSettings,
    Flags,
    PacketMode,
    Read,
    Write,
    Count
};

/// Arguments and results. All members have a fixed layout.
struct PtyJob {
    std::int32_t master = -1;
    std::int32_t slave = -1;  ///< descriptor of the slave; -1 for exchange(), which opens one
    /// Largest number of bytes in one direction. Output, input and typed bytes have room for `limit` bytes and
    /// `kPtyLine` more, `ends` for as many numbers. The room of typed bytes is three times as large.
    std::uint64_t limit = 0;
    PtyBytes output;
    PtyBytes input;
    PtyBytes typed;
    PtyBytes ends;  ///< array of u32 with `size` elements: offsets in the input before which a user has typed ^D
    PtySettings settings = {};
    std::uint64_t lost = 0;  ///< number of bytes that didn't fit, or that the line discipline may have changed
    PtyStep failed = PtyStep::None;
    std::int32_t error = 0;     ///< errno of the first failure
    std::uint32_t taken = 0;    ///< 1 if exchange() has begun to read
    std::uint32_t tooMuch = 0;  ///< 1 if more than `limit` bytes wait
};

inline constexpr std::uint64_t kPtyLine = 4096;  ///< N_TTY_BUF_SIZE, the maximal length of a line

using PtyCall = std::int64_t(std::int64_t number, std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d);

/// `call`: makes a system call, and returns its result or -errno.
template <PtyCall* call>
class PtyExchange {
public:
    explicit PtyExchange(PtyJob& job) noexcept : job_(job) {}

    /// Reads all waiting bytes of both directions, and writes them again.
    void exchange() noexcept {
        std::uint32_t packets = 0;
        if (!openSlave() || !readSettings(job_.settings) ||
            !control(PtyStep::PacketMode, job_.master, kGetPackets, &packets))
            return closeSlave();
        constexpr std::uint32_t kOff = 0;
        if (packets != 0 && !control(PtyStep::PacketMode, job_.master, kSetPackets, &kOff))
            return closeSlave();
        job_.taken = 1;
        if (takeOutput())
            takeInput();
        put();
        if (packets != 0)
            control(PtyStep::PacketMode, job_.master, kSetPackets, &packets);
        closeSlave();
    }

    /// Reads all output from the master. Packet mode must be off.
    bool takeOutput() noexcept { return readAll(job_.master, job_.output); }

    /// Reads all input of the slave, including an incomplete line. After a failure, the settings may have changed.
    bool takeInput() noexcept {
        PtySettings settings;
        if (!readSettings(settings))
            return false;
        const bool canonical = isCanonical(settings);
        if (canonical && !readLines(settings))
            return false;
        // Changes the settings, because otherwise read(2) may not return all bytes. It returns fewer than VMIN bytes
        // only if VMIN is 0 or 1, and an incomplete line only in non-canonical mode.
        PtySettings raw = settings;
        raw.local &= ~kCanonical;
        raw.characters[kMinimum] = 1;
        raw.characters[kTime] = 0;
        const bool same = !canonical && settings.characters[kMinimum] == 1 && settings.characters[kTime] == 0;
        if (same)
            return readAll(job_.slave, job_.input);
        return writeSettings(raw) && readAll(job_.slave, job_.input) && writeSettings(settings);
    }

    /// Writes both queues, then sets the line settings `job.settings`, even after an error. Packet mode must be off.
    void put() noexcept {
        const bool isEmpty = job_.output.size == 0 && job_.input.size == 0 && job_.ends.size == 0;
        if (!isEmpty && writeSettings(quiet()))
            putQuietly();
        writeSettings(job_.settings);
    }

private:
    // ioctl(2) requests of asm/ioctls.h and settings of asm/termbits.h.
    static constexpr std::uint64_t kGetSettings = 0x802c542a;  // TCGETS2
    static constexpr std::uint64_t kSetSettings = 0x402c542b;  // TCSETS2
    static constexpr std::uint64_t kOpenPeer = 0x5441;         // TIOCGPTPEER
    static constexpr std::uint64_t kGetLock = 0x80045439;      // TIOCGPTLCK
    static constexpr std::uint64_t kSetLock = 0x40045431;      // TIOCSPTLCK
    static constexpr std::uint64_t kGetPackets = 0x80045438;   // TIOCGPKT
    static constexpr std::uint64_t kSetPackets = 0x5420;       // TIOCPKT
    static constexpr std::uint64_t kCountBytes = 0x541b;       // FIONREAD
    static constexpr std::uint32_t kCanonical = 2;             // ICANON
    static constexpr std::uint32_t kExtended = 0100000;        // IEXTEN
    static constexpr std::uint32_t kExternal = 0200000;        // EXTPROC
    static constexpr unsigned kTime = 5;                       // VTIME, VMIN and so on
    static constexpr unsigned kMinimum = 6;
    static constexpr unsigned kEndOfFileAt = 4;
    static constexpr unsigned kLineEndAt = 11;
    static constexpr unsigned kOtherLineEndAt = 16;
    static constexpr unsigned kQuoteAt = 15;
    /// Characters with commands: VINTR, VQUIT, VERASE, VKILL, VSTART, VSTOP, VSUSP, VREPRINT, VDISCARD, VWERASE.
    static constexpr std::uint8_t kCommands[] = {0, 1, 2, 3, 8, 9, 10, 12, 13, 14};
    static constexpr std::uint8_t kEndOfFile = 0x04;  // the character ^D
    static constexpr std::uint8_t kQuote = 0x16;
    static constexpr std::int64_t kAgain = -11;  // -EAGAIN
    static constexpr std::int64_t kHungUp = -5;  // -EIO
    static constexpr std::int64_t kNothing = -1;
    static constexpr std::int64_t kFailed = -2;
    static constexpr int kTries = 200;

    /// Scope in which a descriptor has O_NONBLOCK. Encloses only one call, because other processes may share the open
    /// file description, and would keep the flag if criu were killed.
    class Nonblocking {
    public:
        Nonblocking(PtyExchange& owner, std::int32_t fd) noexcept
            : fd_(fd), flags_(run(SYS_fcntl, number(fd), F_GETFL)) {
            result_ = flags_;
            if (flags_ >= 0 && (flags_ & O_NONBLOCK) == 0)
                result_ = run(SYS_fcntl, number(fd_), F_SETFL, static_cast<std::uint64_t>(flags_ | O_NONBLOCK));
            if (result_ < 0)
                owner.fail(PtyStep::Flags, result_);
        }
        ~Nonblocking() {
            if (flags_ >= 0 && (flags_ & O_NONBLOCK) == 0)
                run(SYS_fcntl, number(fd_), F_SETFL, static_cast<std::uint64_t>(flags_));
        }
        Nonblocking(const Nonblocking&) = delete;
        Nonblocking& operator=(const Nonblocking&) = delete;
        /// Returns 0 or more, or the -errno of a failure.
        [[nodiscard]] std::int64_t result() const noexcept { return result_; }

    private:
        std::int32_t fd_;
        std::int64_t flags_;
        std::int64_t result_ = 0;
    };

    static std::int64_t run(std::int64_t what, std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0,
                            std::uint64_t d = 0) noexcept {
        return call(what, a, b, c, d);
    }
    static std::uint64_t number(std::int32_t fd) noexcept { return static_cast<std::uint64_t>(fd); }
    template <typename T>
    static std::uint64_t addressOf(const T* object) noexcept {
        return reinterpret_cast<std::uint64_t>(object);
    }

    bool fail(PtyStep step, std::int64_t result) noexcept {
        if (job_.failed == PtyStep::None) {
            job_.failed = step;
            job_.error = static_cast<std::int32_t>(-result);
        }
        return false;
    }
    template <typename T>
    bool control(PtyStep step, std::int32_t fd, std::uint64_t request, const T* argument) noexcept {
        const std::int64_t result = run(SYS_ioctl, number(fd), request, addressOf(argument));
        return result >= 0 || fail(step, result);
    }

    bool openSlave() noexcept {
        std::uint32_t locked = 0;
        constexpr std::uint32_t kUnlocked = 0;
        if (!control(PtyStep::OpenSlave, job_.master, kGetLock, &locked) ||
            (locked != 0 && !control(PtyStep::OpenSlave, job_.master, kSetLock, &kUnlocked)))
            return false;
        const std::int64_t opened = run(SYS_ioctl, number(job_.master), kOpenPeer, O_RDWR | O_NOCTTY | O_NONBLOCK);
        if (locked != 0)
            control(PtyStep::OpenSlave, job_.master, kSetLock, &locked);
        if (opened < 0)
            return fail(PtyStep::OpenSlave, opened);
        job_.slave = static_cast<std::int32_t>(opened);
        return true;
    }
    void closeSlave() noexcept {
        if (job_.slave >= 0)
            run(SYS_close, number(job_.slave));
        job_.slave = -1;
    }

    bool readSettings(PtySettings& into) noexcept {
        return control(PtyStep::ReadSettings, job_.slave, kGetSettings, &into);
    }
    bool writeSettings(const PtySettings& from) noexcept {
        return control(PtyStep::WriteSettings, job_.slave, kSetSettings, &from);
    }

    /// Returns true if a reader gets complete lines.
    static bool isCanonical(const PtySettings& settings) noexcept {
        return (settings.local & kCanonical) != 0 && (settings.local & kExternal) == 0;
    }
    static bool endsLine(std::uint8_t byte, const PtySettings& settings) noexcept {
        return byte == '\n' ||
               (byte != 0 && (byte == settings.characters[kLineEndAt] || byte == settings.characters[kOtherLineEndAt]));
    }
    static std::uint8_t& byteAt(const PtyBytes& bytes, std::uint64_t index) noexcept {
        return reinterpret_cast<std::uint8_t*>(bytes.at)[index];
    }
    [[nodiscard]] std::uint32_t& endAt(std::uint64_t index) const noexcept {
        return reinterpret_cast<std::uint32_t*>(job_.ends.at)[index];
    }

    /// Reads or writes without waiting. Returns the result of the call, or of the failed change of flags.
    std::int64_t transfer(std::int64_t what, std::int32_t fd, std::uint64_t at, std::uint64_t size) noexcept {
        const Nonblocking scope(*this, fd);
        return scope.result() < 0 ? scope.result() : run(what, number(fd), at, size);
    }

    /// Reads once, and returns the number of bytes. Returns kNothing if the queue is empty, and kFailed after a
    /// failure.
    std::int64_t readSome(std::int32_t fd, PtyBytes& into) noexcept {
        const std::int64_t got = transfer(SYS_read, fd, into.at + into.size, kPtyLine);
        // EIO: the queue is empty, and the other end is closed.
        if (got == kAgain || got == kHungUp)
            return kNothing;
        if (got < 0) {
            fail(PtyStep::Read, got);
            return kFailed;
        }
        into.size += static_cast<std::uint64_t>(got);
        if (into.size <= job_.limit && job_.ends.size < job_.limit)
            return got;
        job_.tooMuch = 1;
        fail(PtyStep::Read, 0);
        return kFailed;
    }
    bool readAll(std::int32_t fd, PtyBytes& into) noexcept {
        for (;;) {
            const std::int64_t got = readSome(fd, into);
            if (got <= 0)
                return got != kFailed;
        }
    }
    /// Reads complete lines. A line without an end of line has ended with ^D.
    bool readLines(const PtySettings& settings) noexcept {
        for (;;) {
            const std::int64_t got = readSome(job_.slave, job_.input);
            if (got < 0)
                return got != kFailed;
            if (got == 0 || !endsLine(byteAt(job_.input, job_.input.size - 1), settings))
                endAt(job_.ends.size++) = static_cast<std::uint32_t>(job_.input.size);
        }
    }

    /// Returns settings without echo, signals and editing, for the time of the writes.
    [[nodiscard]] PtySettings quiet() const noexcept {
        PtySettings out = job_.settings;
        out.input = 0;
        out.output = 0;
        out.local &= kCanonical | kExternal;
        if (isCanonical(job_.settings)) {
            out.local |= kExtended;  // VLNEXT works only with IEXTEN
            for (const std::uint8_t command : kCommands)
                out.characters[command] = 0;
            out.characters[kEndOfFileAt] = kEndOfFile;
            out.characters[kQuoteAt] = kQuote;
        }
        return out;
    }

    /// Makes the bytes to write so that the line discipline queues exactly the bytes of the input.
    void makeTyped() noexcept {
        const bool canonical = isCanonical(job_.settings);
        std::uint64_t next = 0;
        const auto type = [&](std::uint8_t byte) { byteAt(job_.typed, job_.typed.size++) = byte; };
        job_.typed.size = 0;
        for (std::uint64_t i = 0; i <= job_.input.size; ++i) {
            for (; canonical && next < job_.ends.size && endAt(next) == i; ++next)
                type(kEndOfFile);
            if (i == job_.input.size)
                return;
            const std::uint8_t byte = byteAt(job_.input, i);
            if (canonical && (byte == kEndOfFile || byte == kQuote) && !endsLine(byte, job_.settings))
                type(kQuote);
            type(byte);
        }
    }

    /// Returns the value that FIONREAD has when all complete lines are queued.
    [[nodiscard]] std::uint64_t completeBytes() const noexcept {
        std::uint64_t complete = job_.ends.size == 0 ? 0 : endAt(job_.ends.size - 1);
        for (std::uint64_t i = complete; i < job_.input.size; ++i)
            if (endsLine(byteAt(job_.input, i), job_.settings))
                complete = i + 1;
        return complete;
    }

    /// Sleeps for a millisecond, until an absolute time: the kernel needs no restart block for such a sleep.
    static void pauseBriefly() noexcept {
        constexpr std::uint64_t kMonotonic = 1;  // CLOCK_MONOTONIC
        constexpr std::uint64_t kAbsolute = 1;   // TIMER_ABSTIME
        constexpr std::int64_t kSecond = 1'000'000'000;
        std::int64_t time[2] = {0, 0};  // struct timespec
        run(SYS_clock_gettime, kMonotonic, addressOf(time));
        time[1] += 1'000'000;
        if (time[1] >= kSecond) {
            ++time[0];
            time[1] -= kSecond;
        }
        run(SYS_clock_nanosleep, kMonotonic, kAbsolute, addressOf(time));
    }

    /// Writes as many bytes as the queue accepts. Returns the number of bytes that remain.
    std::uint64_t writeAll(std::int32_t fd, const PtyBytes& bytes) noexcept {
        std::uint64_t done = 0;
        for (int tries = 0; done < bytes.size && tries < kTries;) {
            const std::int64_t written = transfer(SYS_write, fd, bytes.at + done, bytes.size - done);
            if (written > 0) {
                done += static_cast<std::uint64_t>(written);
                continue;
            }
            if (written < 0 && written != kAgain) {
                fail(PtyStep::Write, written);
                break;
            }
            ++tries;  // the queue is full until a kernel thread has passed bytes to the other end, so waits
            pauseBriefly();
        }
        return bytes.size - done;
    }

    /// Waits until the line discipline has processed the input with its current settings. Returns false after too many
    /// attempts.
    bool awaitArrival() noexcept {
        const bool canonical = isCanonical(job_.settings);
        const std::uint64_t all = canonical ? completeBytes() : job_.input.size;
        const std::uint64_t wanted = all < kPtyLine - 1 ? all : kPtyLine - 1;
        std::uint32_t waiting = 0;
        for (int tries = 0;; ++tries) {
            if (!control(PtyStep::Count, job_.slave, kCountBytes, &waiting) || tries == kTries)
                return false;
            if (waiting >= wanted)
                break;
            struct {
                std::int32_t fd;
                std::int16_t events, revents;
            } readable{job_.slave, 1, 0};  // struct pollfd with POLLIN: poll(2) makes the kernel process pending bytes
            constexpr std::int64_t kNow[2] = {0, 0};
            run(SYS_ppoll, addressOf(&readable), 1, addressOf(kNow));
            pauseBriefly();
        }
        // Waits a moment for an incomplete last line, because FIONREAD doesn't count it.
        if (canonical && wanted < job_.input.size)
            pauseBriefly();
        return true;
    }

    /// Writes both queues while the terminal has the settings of quiet().
    void putQuietly() noexcept {
        job_.lost += writeAll(job_.slave, job_.output);
        if (job_.input.size == 0 && job_.ends.size == 0)
            return;
        makeTyped();
        const std::uint64_t rest = writeAll(job_.master, job_.typed);
        job_.lost += rest;
        if (rest == 0 && !awaitArrival())
            job_.lost += job_.input.size;
    }

    PtyJob& job_;
};

/// Number of bytes of memory for the buffers of a job with this limit.
constexpr std::uint64_t ptyBufferSize(std::uint64_t limit) noexcept {
    return (limit + kPtyLine) * (1 + 1 + 3 + sizeof(std::uint32_t));
}
/// Distributes the memory from `at` to the buffers of a job.
constexpr void placePtyBuffers(PtyJob& job, std::uint64_t at, std::uint64_t limit) noexcept {
    const std::uint64_t each = limit + kPtyLine;
    job.limit = limit;
    job.ends.at = at;  // comes first, because it needs alignment
    job.output.at = at + each * sizeof(std::uint32_t);
    job.input.at = job.output.at + each;
    job.typed.at = job.input.at + each;
}

}  // namespace criu::pie
