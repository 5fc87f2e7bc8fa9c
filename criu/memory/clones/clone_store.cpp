// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/clones/clone_store.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "criu/base/error.hpp"
#include "criu/memory/clones/clone_file.hpp"

namespace criu::memory {
namespace {

/// Size in bytes of a block of the file: one read fills one block.
constexpr std::uint64_t kBlock = std::uint64_t{1} << 20;

#ifndef F_SEAL_FUTURE_WRITE
constexpr int F_SEAL_FUTURE_WRITE = 0x0010;  // Linux 5.1
#endif

}  // namespace

CloneStore::CloneStore(std::size_t processes)
    : file_(sys(::memfd_create(std::string(kCloneFileName).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING),
                "make the file of the clones")),
      pages_(processes) {
    sys(::ftruncate(file_.get(), static_cast<off_t>(processes * kCloneSpan)), "set the size of the clones' file");
}

void CloneStore::add(std::size_t number, const PageSource& source, const LazyAreas& areas,
                     std::shared_ptr<const LazyContent> content) {
    for (const Range& mapping : areas.mappings()) {
        Area area;
        area.address = mapping.start;
        area.offset = number * kCloneSpan + mapping.start;
        area.bytes = mapping.size();
        source.forEach(mapping.start, mapping.end, [&](const PageJob& job) {
            areas.forEach(job, [&](const PageJob& part, bool late) {
                if (!late)
                    return;
                area.parts.push_back({part.address, part.end()});
                pages_.at(number).add({part.address, part.bytes, number * kCloneSpan + part.address});
            });
        });
        void* const at = ::mmap(nullptr, area.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_.get(),
                                static_cast<off_t>(area.offset));
        if (at == MAP_FAILED)
            failErrno("map {} bytes of the clones' file", area.bytes);
        area.here = Mapping(at, area.bytes);
        area.content = content;
        area.blocks.assign((area.bytes + kBlock - 1) / kBlock, Block::Full);
        for (const Range& part : area.parts)
            for (std::uint64_t block = (part.start - area.address) / kBlock;
                 block <= (part.end - 1 - area.address) / kBlock; ++block)
                area.blocks[block] = Block::Empty;
        areas_.push_back(std::move(area));
    }
}

void CloneStore::seal() {
    std::sort(areas_.begin(), areas_.end(),
              [](const Area& one, const Area& other) { return one.offset < other.offset; });
    sys(::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE), "seal the clones' file");
}

void CloneStore::fill(std::uint64_t offset, std::uint64_t bytes) {
    const auto behind = std::upper_bound(areas_.begin(), areas_.end(), offset,
                                         [](std::uint64_t at, const Area& area) { return at < area.offset; });
    if (behind == areas_.begin() || offset - std::prev(behind)->offset >= std::prev(behind)->bytes)
        fail("the clones' file has nothing at {:#x}", offset);
    Area& area = *std::prev(behind);
    const std::uint64_t last = std::min(offset + bytes, area.offset + area.bytes) - 1 - area.offset;
    for (std::size_t block = (offset - area.offset) / kBlock; block <= last / kBlock; ++block)
        fillBlock(area, block);
}

void CloneStore::fillBlock(Area& area, std::size_t block) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return area.blocks[block] != Block::Reading; });
    if (area.blocks[block] == Block::Full)
        return;
    area.blocks[block] = Block::Reading;
    lock.unlock();
    const auto becomes = [&](Block state) {
        lock.lock();
        area.blocks[block] = state;
        changed_.notify_all();
    };
    try {
        readBlock(area, block);
    } catch (...) {
        becomes(Block::Empty);
        throw;
    }
    becomes(Block::Full);
}

void CloneStore::readBlock(const Area& area, std::size_t block) const {
    const std::uint64_t start = area.address + block * kBlock;
    const std::uint64_t end = std::min(start + kBlock, area.address + area.bytes);
    auto part = std::upper_bound(area.parts.begin(), area.parts.end(), start,
                                 [](std::uint64_t at, const Range& range) { return at < range.end; });
    for (; part != area.parts.end() && part->start < end; ++part) {
        const std::uint64_t from = std::max(part->start, start);
        const std::uint64_t to = std::min(part->end, end);
        area.content->read(from, area.here.bytes().subspan(from - area.address, to - from));
    }
}

bool CloneStore::fillNext() {
    Area* area = nullptr;
    std::size_t block = 0;
    {
        const std::lock_guard lock(mutex_);
        for (; nextArea_ < areas_.size(); ++nextArea_, nextBlock_ = 0) {
            Area& candidate = areas_[nextArea_];
            while (nextBlock_ < candidate.blocks.size() && candidate.blocks[nextBlock_] != Block::Empty)
                ++nextBlock_;
            if (nextBlock_ < candidate.blocks.size()) {
                area = &candidate;
                block = nextBlock_++;
                break;
            }
        }
    }
    if (area == nullptr)
        return false;
    fillBlock(*area, block);
    return true;
}

void CloneStore::complete() {
    for (Area& area : areas_) {
        area.here = Mapping();
        area.content.reset();
    }
    sys(::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SEAL), "seal the clones' file for good");
}

}  // namespace criu::memory
