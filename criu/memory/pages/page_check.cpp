// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/page_check.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "criu/base/buffer_pool.hpp"
#include "criu/base/error.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/memory/pages/page_files.hpp"
#include "criu/memory/pages/stored_objects.hpp"

namespace criu::memory {
namespace {

/// Bytes that one thread reads and compares at once.
constexpr std::uint64_t kCheckedSlice = std::uint64_t{1} << 20;
/// Maximum number of damaged pages that criu names for each object; criu only counts further ones.
constexpr std::uint64_t kMostNamed = 16;
/// Maximum number of objects whose files are open at the same time.
constexpr std::size_t kMostObjects = 8;

/// Check of one object. Threads compare its slices in any order.
class ObjectCheck {
public:
    ObjectCheck(PageSource from, std::string name, const PageCheck::Damaged& damaged)
        : source_(std::move(from)), name_(std::move(name)), damaged_(damaged), contents_(source_.layers().size()) {}
    ObjectCheck(const ObjectCheck&) = delete;
    ObjectCheck& operator=(const ObjectCheck&) = delete;

    /// Reports the number of damaged pages that criu hasn't named. Must follow all compare() calls.
    void finish() const {
        if (bad_ > kMostNamed)
            damaged_(fmt::format("{}: {} more pages are damaged", name_, bad_ - kMostNamed));
    }

    /// Returns all content that has checksums, in slices. Adds the number of bytes without checksums to `without`.
    std::vector<PageJob> slices(std::uint64_t& without) {
        std::vector<PageJob> slices;
        source_.forEach(0, source_.end(), [&](const PageJob& job) {
            if (!job.present())
                return;
            open(job.layer);
            if (!source_.layers()[job.layer]->compares()) {
                without += job.bytes;
                return;
            }
            for (std::uint64_t done = 0; done < job.bytes; done += kCheckedSlice) {
                PageJob slice = job.from(job.address + done);
                slice.bytes = std::min(slice.bytes, kCheckedSlice);
                slices.push_back(slice);
            }
        });
        return slices;
    }

    void compare(const PageJob& slice, std::span<std::byte> buffer) {
        if (isGood(slice, buffer, nullptr))
            return;
        for (std::uint64_t done = 0; done < slice.bytes; done += kImagePageSize) {
            PageJob page = slice.from(slice.address + done);
            page.bytes = kImagePageSize;
            std::string why;
            if (!isGood(page, buffer, &why) && bad_++ < kMostNamed)
                damaged_(fmt::format("{} ({} at {:#x})", why, name_, page.address));
        }
    }

private:
    void open(std::size_t layer) {
        if (!contents_[layer])
            contents_[layer] = source_.layers()[layer]->open();
    }

    bool isGood(const PageJob& job, std::span<std::byte> buffer, std::string* why) const {
        try {
            iovec target{buffer.data(), job.bytes};
            contents_[job.layer]->read(job.position, {&target, 1});
            return true;
        } catch (const Error& error) {
            if (why != nullptr)
                *why = error.what();
            return false;
        }
    }

    const PageSource source_;
    const std::string name_;
    const PageCheck::Damaged& damaged_;
    std::vector<std::unique_ptr<PageContent>> contents_;
    std::atomic<std::uint64_t> bad_{0};
};

}  // namespace

PageCheck::PageCheck(const ImageDir& images, const Damaged& damaged, const std::function<void()>& checkStop) {
    const FilePageSources sources(images);
    BufferPool buffers(kCheckedSlice);
    ThreadPool pool(availableCores());
    std::vector<std::shared_ptr<ObjectCheck>> open;
    const auto finish = [&] {
        pool.wait();
        for (const auto& check : open)
            check->finish();
        open.clear();
    };
    const auto begin = [&](const MemoryObject& object) {
        auto source = sources.open(object);
        if (!source)
            return;
        const auto check = std::make_shared<ObjectCheck>(std::move(*source), sources.describe(object), damaged);
        for (const PageJob& slice : check->slices(without_)) {
            compared_ += slice.bytes;
            pool.submit([check, slice, &buffers, &checkStop] {
                checkStop();
                BufferPool::Use buffer(buffers);
                check->compare(slice, buffer.first(slice.bytes));
            });
        }
        open.push_back(check);
    };
    for (const MemoryObject& object : objectsIn(images)) {
        checkStop();
        try {
            begin(object);
        } catch (const Error& error) {
            damaged(error.what());
        }
        if (open.size() >= kMostObjects)
            finish();
    }
    finish();
}

}  // namespace criu::memory
