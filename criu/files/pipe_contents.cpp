// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/pipe_contents.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/image/small_payloads.hpp"
#include "images/pipe-data.hpp"

namespace criu::files {
namespace {

constexpr std::uint32_t kMaxPipe = 1U << 30;

}  // namespace

void PipeContentsDump::start(const ImageDir& images) {
    if (!writer_)
        writer_.emplace(images.create(kind_));
}

void PipeContentsDump::add(std::uint32_t pipeId, int readEnd, const ImageDir& images) {
    if (!seen_.insert(pipeId).second)
        return;
    const int capacity = sys(::fcntl(readEnd, F_GETPIPE_SZ), "read the capacity of pipe {}", pipeId);
    int waiting = 0;
    sys(::ioctl(readEnd, FIONREAD, &waiting), "see what waits in pipe {}", pipeId);

    start(images);
    PipeDataEntry entry = PIPE_DATA_ENTRY__INIT;
    entry.pipe_id = pipeId;
    entry.bytes = static_cast<std::uint32_t>(waiting);
    entry.has_size = 1;
    entry.size = static_cast<std::uint32_t>(capacity);
    if (waiting == 0) {
        writer_->write(entry);
        return;
    }
    std::vector<std::uint32_t> packets;
    bool lastIsPacket = false;
    const std::vector<std::byte> content =
        peek(readEnd, static_cast<std::size_t>(waiting), static_cast<std::size_t>(capacity), packets, lastIsPacket);
    if (packets.size() > 1 || lastIsPacket) {
        entry.n_packets = packets.size();
        entry.packets = packets.data();
    }
    writer_->write(entry);
    writer_->payload(content);
}

void PipeContentsDump::addUnread(std::uint32_t pipeId, int writeEnd, const ImageDir& images) {
    if (seen_.contains(pipeId))
        return;
    const std::string path = fmt::format("/proc/self/fd/{}", writeEnd);
    const UniqueFd readEnd(
        sys(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC), "open pipe {}, which has no reader", pipeId));
    add(pipeId, readEnd.get(), images);
}

std::vector<std::byte> PipeContentsDump::peek(int readEnd, std::size_t waiting, std::size_t capacity,
                                              std::vector<std::uint32_t>& packets, bool& lastIsPacket) {
    // tee(2) needs a second pipe with as many slots, because even a few bytes may use all slots of a pipe. This second
    // pipe gets at least one slot more, for the byte that marks the end.
    capacity = std::max(capacity, 2 * machinePageSize());
    if (capacity > scratchCapacity_) {
        int ends[2];
        sys(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), "create a pipe to copy pipe contents through");
        scratchRead_.reset(ends[0]);
        scratchWrite_.reset(ends[1]);
        sys(::fcntl(ends[1], F_SETPIPE_SZ, capacity), "give a pipe {} bytes", capacity);
        scratchCapacity_ = capacity;
    }
    const ssize_t copied = ::tee(readEnd, scratchWrite_.get(), waiting, SPLICE_F_NONBLOCK);
    if (copied < 0)
        failErrno("copy {} bytes that wait in a pipe", waiting);
    if (static_cast<std::size_t>(copied) != waiting)
        fail("only {} of {} bytes that wait in a pipe could be copied", copied, waiting);
    // Appends one byte as an end mark. The next read shows how the content ends: a read continues after plain bytes,
    // but stops at the end of a packet.
    const bool marked = ::write(scratchWrite_.get(), "", 1) == 1;
    std::vector<std::byte> content(waiting + 1);
    std::size_t have = 0;
    const auto readOn = [&] {
        const ssize_t got = ::read(scratchRead_.get(), content.data() + have, content.size() - have);
        if (got <= 0)
            failErrno("read back the copy of a pipe's content");
        have += static_cast<std::size_t>(got);
        return static_cast<std::uint32_t>(got);
    };
    while (have < waiting)
        packets.push_back(readOn());
    lastIsPacket = marked && have == waiting;
    if (lastIsPacket)
        readOn();
    else if (marked)
        --packets.back();
    content.pop_back();
    return content;
}

void PipeContentsDump::finish(const ImageDir&) {
    if (writer_)
        writer_->finish();
}

void PipeContentsRestore::load(const ImageDir& images) {
    auto reader = images.openRead(kind_);
    if (!reader)
        return;
    SmallPayloads small;
    while (const auto entry = reader->next<PipeDataEntry>()) {
        const PipeDataEntry& data = **entry;
        Place place;
        place.bytes = data.bytes;
        place.capacity = data.has_size != 0 ? data.size : 0;
        place.offset = reader->offset();
        if (place.bytes > kMaxPipe || place.capacity > kMaxPipe)
            fail("{}: pipe {} claims {} bytes in a capacity of {}", reader->name(), data.pipe_id, place.bytes,
                 place.capacity);
        place.content = small.take(*reader, place.bytes);
        place.packets.assign(data.packets, data.packets + data.n_packets);
        places_.emplace(data.pipe_id, std::move(place));
    }
}

namespace {

/// Sets the capacity of a pipe. A capacity above fs.pipe-max-size needs CAP_SYS_RESOURCE in the initial user namespace.
void setCapacity(int pipe, int capacity, std::uint32_t pipeId, const kernel::Usernsd* usernsd) {
    if (::fcntl(pipe, F_SETPIPE_SZ, capacity) >= 0 || (usernsd != nullptr && usernsd->setPipeSize(pipe, capacity) == 0))
        return;
    failErrno("give pipe {} a capacity of {} bytes", pipeId, capacity);
}

}  // namespace

void PipeContentsRestore::fill(std::uint32_t pipeId, int writeEnd, const ImageDir& images,
                               const kernel::Usernsd* usernsd) const {
    const auto found = places_.find(pipeId);
    if (found == places_.end())
        return;
    const Place& place = found->second;
    if (place.capacity != 0 &&
        sys(::fcntl(writeEnd, F_GETPIPE_SZ), "read a pipe's capacity") != static_cast<int>(place.capacity))
        setCapacity(writeEnd, static_cast<int>(place.capacity), pipeId, usernsd);
    if (place.bytes == 0)
        return;
    const std::vector<std::byte> late = place.content.empty() ? read(pipeId, place, images) : std::vector<std::byte>();
    const std::span<const std::byte> content = place.content.empty() ? late : place.content;
    if (place.packets.empty()) {
        write(pipeId, writeEnd, content);
        return;
    }
    const int flags = sys(::fcntl(writeEnd, F_GETFL), "read a pipe's flags");
    sys(::fcntl(writeEnd, F_SETFL, flags | O_DIRECT), "make pipe {} keep packets apart", pipeId);
    std::span<const std::byte> rest = content;
    for (const std::uint32_t size : place.packets) {
        if (size > rest.size())
            fail("the packets of pipe {} are longer than its content", pipeId);
        write(pipeId, writeEnd, rest.first(size));
        rest = rest.subspan(size);
    }
    sys(::fcntl(writeEnd, F_SETFL, flags), "set a pipe's flags");
}

std::vector<std::byte> PipeContentsRestore::read(std::uint32_t pipeId, const Place& place,
                                                 const ImageDir& images) const {
    const auto file = images.openRaw(kind_, 0, O_RDONLY);
    if (!file)
        fail("the image of pipe contents has gone");
    std::vector<std::byte> content(place.bytes);
    const ssize_t got = ::pread(file->get(), content.data(), content.size(), static_cast<off_t>(place.offset));
    if (got != static_cast<ssize_t>(content.size()))
        failErrno("read the content of pipe {} from the image", pipeId);
    return content;
}

void PipeContentsRestore::write(std::uint32_t pipeId, int writeEnd, std::span<const std::byte> content) {
    const ssize_t put = sys(::write(writeEnd, content.data(), content.size()), "write {} bytes back into pipe {}",
                            content.size(), pipeId);
    if (put != static_cast<ssize_t>(content.size()))
        fail("only {} of {} bytes fit into pipe {}", put, content.size(), pipeId);
}

}  // namespace criu::files
