// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/lazy/lazy_content.hpp"

#include <algorithm>

#include "criu/base/error.hpp"

namespace criu::memory {

const PageContent& LazyContent::content(std::size_t layer) const {
    const std::lock_guard lock(opening_);
    std::unique_ptr<PageContent>& content = contents_.at(layer);
    if (!content)
        content = source_.layers()[layer]->open();
    return *content;
}

void LazyContent::open() const {
    const ErrorContext context([&] { return fmt::format("process {}", object_.id); });
    for (std::size_t layer = 0; layer < contents_.size(); ++layer)
        (void)content(layer);
}

void LazyContent::read(std::uint64_t address, std::span<std::byte> into) const {
    const ErrorContext context([&] { return fmt::format("content of {:#x} of process {}", address, object_.id); });
    source_.forEach(address, address + into.size(), [&](const PageJob& job) {
        const std::span<std::byte> part = into.subspan(job.address - address, job.bytes);
        iovec target{part.data(), part.size()};
        switch (job.state) {
            case PageJob::State::Present:
                return content(job.layer).read(job.position, {&target, 1});
            case PageJob::State::Lazy:
                if (supplier_ == nullptr)
                    fail("the images don't have it: it is with the dump, which serves it (--page-server)");
                return supplier_->fetch(object_, job.address, part);
            case PageJob::State::Absent:
                std::fill(part.begin(), part.end(), std::byte{});
                return;
        }
    });
}

}  // namespace criu::memory
