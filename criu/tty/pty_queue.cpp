// SPDX-License-Identifier: GPL-2.0-only
#include "criu/tty/pty_queue.hpp"

#include <fcntl.h>

#include <compel/injection.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/pie/enter.hpp"
#include "criu/pie/pty_exchange.hpp"
#include "pty_exchange_blob.hpp"

namespace criu::tty {
namespace {

using Exchange = pie::PtyExchange<pie::rawCall>;

// No queue contains more bytes; limits the reads while an outside process writes.
constexpr std::size_t kLimit = std::size_t{1} << 20;
/// Limit for an exchange in a process, where the buffers use memory of the process. The kernel queues less than 32 KiB
/// in one direction (pty_common_install() and N_TTY_BUF_SIZE of Linux).
constexpr std::size_t kLimitInside = std::size_t{1} << 18;

// Both structures have the members of struct termios2 in the same order.
static_assert(offsetof(pie::PtySettings, characters) == offsetof(kernel::LineSettings, characters));
static_assert(offsetof(pie::PtySettings, inputSpeed) == offsetof(kernel::LineSettings, inputSpeed));
static_assert(sizeof(pie::PtySettings) == sizeof(kernel::LineSettings));

const char* describe(pie::PtyStep step) {
    switch (step) {
        case pie::PtyStep::None:
            break;
        case pie::PtyStep::OpenSlave:
            return "open the slave of a pseudoterminal";
        case pie::PtyStep::ReadSettings:
            return "read the settings of a terminal";
        case pie::PtyStep::WriteSettings:
            return "set up a terminal";
        case pie::PtyStep::Flags:
            return "make a terminal non-blocking";
        case pie::PtyStep::PacketMode:
            return "switch the packet mode of a pseudoterminal";
        case pie::PtyStep::Read:
            return "read what waits in a terminal";
        case pie::PtyStep::Write:
            return "put back what waited in a terminal";
        case pie::PtyStep::Count:
            return "ask what waits in a terminal";
    }
    return "";
}

/// Throws Error if a call of the job has failed.
void requireSuccess(const pie::PtyJob& job) {
    if (job.tooMuch != 0)
        fail("more than {} bytes wait in a terminal, and there is no end to them", job.limit);
    if (job.failed != pie::PtyStep::None)
        failWith(job.error, "{}", describe(job.failed));
}

/// Job with buffers in the memory of criu.
class OwnJob {
public:
    OwnJob(int master, int slave)
        : memory_(std::make_unique_for_overwrite<std::uint32_t[]>(pie::ptyBufferSize(kLimit) / sizeof(std::uint32_t))) {
        job.master = master;
        job.slave = slave;
        pie::placePtyBuffers(job, reinterpret_cast<std::uint64_t>(memory_.get()), kLimit);
    }

    void appendTo(Queued& into, const pie::PtyBytes& bytes) const {
        const auto* const first = reinterpret_cast<const std::byte*>(bytes.at);
        for (std::uint64_t i = 0; i < job.ends.size; ++i)
            into.endsOfFile.push_back(reinterpret_cast<const std::uint32_t*>(job.ends.at)[i]);
        into.bytes.insert(into.bytes.end(), first, first + bytes.size);
    }

    static void fill(pie::PtyBytes& bytes, std::span<const std::byte> from) {
        if (from.size() > kLimit)
            fail("more than {} bytes wait in a terminal", kLimit);
        std::ranges::copy(from, reinterpret_cast<std::byte*>(bytes.at));
        bytes.size = from.size();
    }

    pie::PtyJob job;

private:
    std::unique_ptr<std::uint32_t[]> memory_;
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
    // Locked settings couldn't change.
    const UnlockedSettings unlocked(slave);
    OwnJob own(-1, slave);
    Exchange(own.job).takeInput();
    own.appendTo(into, own.job.input);
    requireSuccess(own.job);
}

void takeOutput(int master, Queued& into) {
    OwnJob own(master, -1);
    Exchange(own.job).takeOutput();
    own.appendTo(into, own.job.output);
    requireSuccess(own.job);
}

std::size_t putQueues(int master, int slave, const Queued& output, const Queued& input,
                      const kernel::LineSettings& settings) {
    const UnlockedSettings unlocked(slave);
    OwnJob own(master, slave);
    OwnJob::fill(own.job.output, output.bytes);
    OwnJob::fill(own.job.input, input.bytes);
    OwnJob::fill(own.job.ends, std::as_bytes(std::span(input.endsOfFile)));
    own.job.ends.size = input.endsOfFile.size();
    own.job.settings = std::bit_cast<pie::PtySettings>(kernel::withSpeed(settings));
    Exchange(own.job).put();
    requireSuccess(own.job);
    return own.job.lost;
}

std::optional<Exchanged> exchangeInside(compel::FrozenProcess& process, int master,
                                        const std::function<void(std::size_t)>& record) {
    constexpr std::size_t kStack = 8192;
    const std::size_t first = (sizeof(pie::PtyJob) + 15) / 16 * 16;
    const std::size_t room = pageAlignUp(first + pie::ptyBufferSize(kLimitInside) + kStack + compel::signalFrameRoom());
    const auto instruction = process.syscallInstruction();
    if (!instruction || instruction->restorer == 0)
        return std::nullopt;
    record(room);
    Exchanged all;
    pie::PtyJob job;
    bool begun = false;
    try {
        compel::Injection injection(process.leader(), pty_exchange_blob::blob, room, instruction);
        const compel::RemoteMemory& memory = injection.memory();
        job.master = master;
        pie::placePtyBuffers(job, injection.data() + first, kLimitInside);
        memory.writeValue(injection.data(), job);
        begun = true;
        injection.run(process.leader(), injection.data(), injection.data() + room);
        const pie::PtyJob placed = job;
        job = memory.readValue<pie::PtyJob>(injection.data());
        if (job.taken != 0) {
            const auto read = [&](std::uint64_t at, std::uint64_t size, auto& into) {
                if (size > kLimitInside + pie::kPtyLine)
                    fail("the result of a process has a wrong size");
                into.resize(size);
                memory.read(at, std::as_writable_bytes(std::span(into)));
            };
            read(placed.output.at, job.output.size, all.output.bytes);
            read(placed.input.at, job.input.size, all.input.bytes);
            read(placed.ends.at, job.ends.size, all.input.endsOfFile);
        }
        injection.cure();
    } catch (const compel::TraceeGone&) {
        throw;
    } catch (const compel::Error&) {
        if (begun)
            throw;  // the process may have read bytes that it hasn't written again
        return std::nullopt;
    }
    if (job.taken == 0)
        return std::nullopt;
    requireSuccess(job);
    all.lost = job.lost;
    return all;
}

}  // namespace criu::tty
