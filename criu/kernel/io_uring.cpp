// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/io_uring.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/kernel/proc/scan.hpp"

namespace criu::kernel {
namespace {

Mapping mapRing(int ring, std::size_t size, std::uint64_t offset) {
    void* const at =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, static_cast<off_t>(offset));
    if (at == MAP_FAILED)
        failErrno("map {} bytes of an io_uring from offset {:#x}", size, offset);
    return {at, size};
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
        text.remove_prefix(1);
    return text;
}

/// Removes the slot number from the front of a list entry such as "    3: text", and returns it.
std::optional<std::uint32_t> takeSlot(std::string_view& line) {
    Scanner scan(trimmed(line));
    std::uint32_t slot = 0;
    if (!scan.number(slot) || !scan.skip(':'))
        return std::nullopt;
    line = trimmed(scan.rest());
    return slot;
}

/// Content of an empty slot in the list of buffers. Linux before 6.14 also lists empty slots of files.
constexpr std::string_view kEmptySlot = "<none>";

void addBuffer(std::uint32_t slot, std::string_view text, IoUringInfo& info) {
    Scanner scan(text);
    IoUringBuffer buffer;
    buffer.slot = slot;
    scan.need("0x", "the address of a buffer");
    scan.needNumber(buffer.address, "the address of a buffer", 16);
    scan.need("/", "the size of a buffer");
    scan.needNumber(buffer.size, "the size of a buffer");
    if (buffer.address != 0 || buffer.size != 0)
        info.buffers.push_back(buffer);
}

/// Parser of a ring's fdinfo. The lines are "Key:\tvalue"; indented list entries follow some of the lines.
class InfoParser {
public:
    void line(std::string_view text) {
        if (text.empty())
            return;
        if (text.front() == ' ' || text.front() == '\t') {
            entry(text);
            return;
        }
        const std::size_t colon = text.find(':');
        if (colon == std::string_view::npos)
            return;
        section_ = text.substr(0, colon);
        value(trimmed(text.substr(colon + 1)));
    }

    [[nodiscard]] std::optional<IoUringInfo> take() {
        constexpr unsigned kNeeded = 6;
        return found_ == kNeeded ? std::optional(std::move(info_)) : std::nullopt;
    }

private:
    void value(std::string_view text) {
        if (section_ == "SqMask")
            counter(text, info_.sqMask, 16);
        else if (section_ == "SqTail")
            counter(text, info_.sqTail, 10);
        else if (section_ == "CachedSqHead")
            counter(text, info_.sqTaken, 10);
        else if (section_ == "CqMask")
            counter(text, info_.cqMask, 16);
        else if (section_ == "CqHead")
            counter(text, info_.cqHead, 10);
        else if (section_ == "CachedCqTail")
            counter(text, info_.cqPosted, 10);
        else if (section_ == "SqThread")
            info_.polledByKernel = unlessNegative(text, info_.thread);
        else if (section_ == "UserFiles")
            info_.fileSlots = parseLoneNumber<std::uint32_t>(text, "UserFiles", 10);
        else if (section_ == "UserBufs")
            info_.bufferSlots = parseLoneNumber<std::uint32_t>(text, "UserBufs", 10);
        else if (section_ == "Personalities")
            info_.personalities = true;
        else if (section_ == "NAPI")
            info_.busyPolling = text != "disabled";
    }

    bool unlessNegative(std::string_view text, std::int32_t& out) const {
        if (text.starts_with('-'))
            return false;
        out = parseLoneNumber<std::int32_t>(text, section_, 10);
        return true;
    }

    void counter(std::string_view text, std::uint32_t& out, int base) {
        if (text.starts_with("0x"))
            text.remove_prefix(2);
        out = parseLoneNumber<std::uint32_t>(text, section_, base);
        ++found_;
    }

    void entry(std::string_view text) {
        if (section_ == "PollList") {
            ++info_.waiting;
            return;
        }
        if (section_ == "CqOverflowList") {
            ++info_.overflowed;
            return;
        }
        const auto slot = takeSlot(text);
        if (!slot || text == kEmptySlot)
            return;
        if (section_ == "UserFiles") {
            info_.files.push_back({*slot, std::string(text)});
        } else if (section_ == "UserBufs") {
            addBuffer(*slot, text, info_);
        } else if (section_ == "SQEs") {
            ++info_.sqShown;
            info_.sqLarge = text.find(" e0:") != std::string_view::npos;
        } else if (section_ == "CQEs") {
            ++info_.cqShown;
            info_.cqLarge = text.find(" extra1:") != std::string_view::npos;
        }
    }

    IoUringInfo info_;
    std::string_view section_;
    unsigned found_ = 0;
};

}  // namespace

IoUringInfo parseIoUring(std::string_view text) {
    std::optional<IoUringInfo> info = findIoUring(text);
    if (!info)
        fail("fdinfo doesn't show the counters of an io_uring");
    return *std::move(info);
}

std::optional<IoUringInfo> findIoUring(std::string_view text) {
    InfoParser parser;
    Scanner lines(text);
    std::string_view line;
    while (lines.line(line))
        parser.line(line);
    return parser.take();
}

UniqueFd createIoUring(std::uint32_t entries, io_uring_params& parameters) {
    const long fd = ::syscall(SYS_io_uring_setup, entries, &parameters);
    if (fd < 0) {
        Error error(errno, fmt::format("create an io_uring of {} entries", entries));
        error.addHint("see the sysctl kernel.io_uring_disabled");
        throw error;
    }
    return UniqueFd(static_cast<int>(fd));
}

int registerIoUring(int ring, unsigned request, const void* argument, unsigned count) noexcept {
    const long result = ::syscall(SYS_io_uring_register, ring, request, argument, count);
    return result < 0 ? -errno : static_cast<int>(result);
}

std::size_t IoUringMemory::requestSize(const io_uring_params& parameters) noexcept {
    return (parameters.flags & IORING_SETUP_SQE128) != 0 ? 128 : 64;
}

std::size_t IoUringMemory::completionSize(const io_uring_params& parameters) noexcept {
    return (parameters.flags & IORING_SETUP_CQE32) != 0 ? 32 : 16;
}

std::size_t IoUringMemory::ringSize(const io_uring_params& parameters) noexcept {
    const std::size_t completions = parameters.cq_off.cqes + parameters.cq_entries * completionSize(parameters);
    const std::size_t array = (parameters.flags & kIoUringNoArray) != 0
                                  ? 0
                                  : parameters.sq_off.array + parameters.sq_entries * sizeof(std::uint32_t);
    return std::max(completions, array);
}

IoUringMemory::IoUringMemory(int ring, const io_uring_params& parameters)
    : parameters_(parameters),
      rings_(mapRing(ring, pageAlignUp(ringSize(parameters)), 0)),
      requests_(mapRing(ring, pageAlignUp(parameters.sq_entries * requestSize(parameters)), kIoUringRequests)) {}

std::uint32_t& IoUringMemory::word(std::uint32_t offset) const {
    return *reinterpret_cast<std::uint32_t*>(rings_.as<std::byte>() + offset);
}

std::span<std::uint32_t> IoUringMemory::sqArray() const {
    if ((parameters_.flags & kIoUringNoArray) != 0)
        return {};
    return {&word(parameters_.sq_off.array), parameters_.sq_entries};
}

std::span<std::byte> IoUringMemory::requests() const {
    return {requests_.as<std::byte>(), parameters_.sq_entries * requestSize(parameters_)};
}

std::span<std::byte> IoUringMemory::completions() const {
    return {rings_.as<std::byte>() + parameters_.cq_off.cqes, parameters_.cq_entries * completionSize(parameters_)};
}

}  // namespace criu::kernel
