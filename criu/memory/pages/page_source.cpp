// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/page_source.hpp"

#include <algorithm>
#include <limits>

#include "criu/base/error.hpp"

namespace criu::memory {
namespace {

/// Returns the ranges whose end is above `address`.
std::span<const PagemapRange> rangesFrom(std::span<const PagemapRange> ranges, std::uint64_t address) {
    const auto first = std::upper_bound(ranges.begin(), ranges.end(), address,
                                        [](std::uint64_t at, const PagemapRange& range) { return at < range.end(); });
    return {first, ranges.end()};
}

PageJob absent(std::uint64_t start, std::uint64_t end) {
    PageJob job;
    job.address = start;
    job.bytes = end - start;
    return job;
}

}  // namespace

std::string PageContent::where(std::uint64_t position) const {
    return fmt::format("content at {:#x}", position);
}

void PageContent::forEachView(std::uint64_t position, std::uint64_t /*bytes*/,
                              const std::function<void(View)>& /*visit*/) const {
    fail("{} has no view", where(position));
}

PageJob PageJob::from(std::uint64_t start) const noexcept {
    PageJob rest = *this;
    rest.address = start;
    rest.bytes = end() - start;
    if (present())
        rest.position += start - address;
    return rest;
}

PageSource::PageSource(std::vector<std::unique_ptr<const PageLayer>> layers, std::string end)
    : layers_(std::move(layers)), end_(std::move(end)) {
    // Visits all pages that are in parents once, so that a missing page causes an error before criu creates any
    // process.
    for (const PagemapRange& range : layers_.front()->ranges())
        if (has(range.flags, PageFlags::Parent))
            visitLayer(1, range.vaddr, range.end(), [](const PageJob&) {});
}

void PageSource::visitLayer(std::size_t layer, std::uint64_t start, std::uint64_t end,
                            const std::function<void(const PageJob&)>& visit) const {
    if (layer >= layers_.size())
        fail("the content of {:#x} is in a parent dump, but {}", start, end_);
    const auto gap = [&](std::uint64_t from, std::uint64_t to) {
        if (from >= to)
            return;
        if (layer != 0)
            fail("the content of {:#x} should be in {}, but isn't", from, layers_[layer]->name());
        visit(absent(from, to));
    };
    std::uint64_t done = start;
    for (const PagemapRange& range : rangesFrom(layers_[layer]->ranges(), start)) {
        if (range.vaddr >= end)
            break;
        const std::uint64_t from = std::max(range.vaddr, start);
        const std::uint64_t to = std::min(range.end(), end);
        gap(done, from);
        done = to;
        if (has(range.flags, PageFlags::Parent)) {
            visitLayer(layer + 1, from, to, visit);
            continue;
        }
        PageJob job = absent(from, to);
        if (has(range.flags, PageFlags::Present)) {
            job.state = PageJob::State::Present;
            job.lazyAllowed = has(range.flags, PageFlags::Lazy);
            job.layer = layer;
            job.position = range.contentOffset + (from - range.vaddr);
        } else {
            job.state = PageJob::State::Lazy;
            job.lazyAllowed = true;
        }
        visit(job);
    }
    gap(done, end);
}

void PageSource::forEach(std::uint64_t start, std::uint64_t end,
                         const std::function<void(const PageJob&)>& visit) const {
    if (start < end)
        visitLayer(0, start, end, visit);
}

std::vector<PageJob> PageSource::jobs(std::uint64_t start, std::uint64_t end) const {
    std::vector<PageJob> jobs;
    forEach(start, end, [&jobs](const PageJob& job) { jobs.push_back(job); });
    return jobs;
}

bool PageSource::covers(std::uint64_t start, std::uint64_t end) const noexcept {
    const auto rest = rangesFrom(layers_.front()->ranges(), start);
    return !rest.empty() && rest.front().vaddr < end;
}

std::uint64_t PageSource::end() const noexcept {
    const auto ranges = layers_.front()->ranges();
    return ranges.empty() ? 0 : ranges.back().end();
}

void PageSource::addPresentBytes(std::uint64_t& bytes) const {
    forEach(0, end(), [&bytes](const PageJob& job) {
        if (job.state != PageJob::State::Absent)
            bytes += std::min(job.bytes, std::numeric_limits<std::uint64_t>::max() - bytes);
    });
}

PageSource PageSources::openRequired(const MemoryObject& object) const {
    auto source = open(object);
    if (!source) {
        Error error(ENOENT, fmt::format("the images have no {}", describe(object)));
        error.addHint(
            "after a dump with --page-server, the directory of the page server has them: put all images there");
        throw error;
    }
    return std::move(*source);
}

std::string PageSources::describe(const MemoryObject& object) const {
    constexpr const char* kNames[] = {"process", "shared memory", "the files of device", "device memory"};
    return fmt::format("pages of {} {}", kNames[static_cast<std::size_t>(object.kind)], object.id);
}

}  // namespace criu::memory
