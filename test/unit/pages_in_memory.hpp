// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "criu/memory/pages/page_sink.hpp"
#include "criu/memory/pages/page_source.hpp"

namespace criu::test {

/// Pages in memory of this process. Each object's content is distributed to three strings, so the storage has only the
/// interfaces in common with pages files.
class PagesInMemory final : public memory::PageSinks, public memory::PageSources {
public:
    static constexpr std::size_t kStripes = 3;

    struct Stored {
        std::vector<PagemapRange> ranges;
        std::string stripes[kStripes];
        std::uint64_t size = 0;     ///< size of the content
        std::uint64_t written = 0;  ///< number of written bytes; more than `size` if a range was written twice
        bool shared = false;
        bool finished = false;
        std::mutex mutex;

        std::string content() const {
            std::string all(size, '\0');
            for (std::uint64_t at = 0; at < size; at += kImagePageSize)
                std::memcpy(all.data() + at, const_cast<Stored*>(this)->page(at), kImagePageSize);
            return all;
        }
        char* page(std::uint64_t position) {
            const std::uint64_t number = position / kImagePageSize;
            return stripes[number % kStripes].data() + number / kStripes * kImagePageSize;
        }
    };

    explicit PagesInMemory(const PagesInMemory* parent = nullptr) : parent_(parent) {}

    std::unique_ptr<memory::PageSink> open(const memory::MemoryObject& object, std::uint64_t /*expected*/) override {
        return std::make_unique<Sink>(stored[object], failWrites);
    }

    std::optional<memory::PageSource> open(const memory::MemoryObject& object) const override {
        std::vector<std::unique_ptr<const memory::PageLayer>> layers;
        for (const PagesInMemory* one = this; one != nullptr && one->stored.contains(object); one = one->parent_)
            layers.push_back(std::make_unique<Layer>(const_cast<Stored&>(one->stored.at(object))));
        if (layers.empty())
            return std::nullopt;
        return memory::PageSource(std::move(layers));
    }

    std::map<memory::MemoryObject, Stored> stored;
    bool failWrites = false;

private:
    class Sink final : public memory::PageSink {
    public:
        Sink(Stored& stored, bool fails) : stored_(stored), fails_(fails) {}
        void share() override { stored_.shared = true; }

        std::uint64_t write(const memory::PageBlock& block) override {
            if (fails_)
                failWith(ENOSPC, "write {} bytes at {}", block.bytes.size(), block.position);
            const std::lock_guard lock(stored_.mutex);
            std::uint64_t named = 0;
            for (const kernel::RemoteRange& range : block.ranges)
                named += range.size;
            if (named != block.bytes.size() || block.position + named > stored_.size)
                fail("a block of {} bytes at {} is about {} bytes", block.bytes.size(), block.position, named);
            for (std::uint64_t at = 0; at < block.bytes.size(); at += kImagePageSize)
                std::memcpy(stored_.page(block.position + at), block.bytes.data() + at, kImagePageSize);
            stored_.written += block.bytes.size();
            return 0;
        }

        void finish() override { stored_.finished = true; }

    private:
        void append(std::span<const memory::PageRun> runs, std::uint64_t contentSize) override {
            const std::lock_guard lock(stored_.mutex);
            for (const memory::PageRun& run : runs) {
                stored_.ranges.push_back({run.address, run.bytes / kImagePageSize, run.flags, stored_.size});
                if (has(run.flags, PageFlags::Present))
                    stored_.size += run.bytes;
            }
            if (stored_.size != contentSize)
                fail("{} bytes of content were announced instead of {}", contentSize, stored_.size);
            for (std::string& stripe : stored_.stripes)
                stripe.resize((contentSize / kImagePageSize / kStripes + 1) * kImagePageSize);
        }

        Stored& stored_;
        bool fails_;
    };

    class Content final : public memory::PageContent {
    public:
        explicit Content(Stored& stored) : stored_(stored) {}
        void read(std::uint64_t position, std::span<iovec> targets) const override {
            for (const iovec& target : targets)
                for (std::size_t at = 0; at < target.iov_len;) {
                    const std::size_t inPage = position % kImagePageSize;
                    const std::size_t part = std::min<std::size_t>(kImagePageSize - inPage, target.iov_len - at);
                    if (position + part > stored_.size)
                        fail("there are {} bytes of content only", stored_.size);
                    std::memcpy(static_cast<char*>(target.iov_base) + at, stored_.page(position - inPage) + inPage,
                                part);
                    at += part;
                    position += part;
                }
        }

    private:
        Stored& stored_;
    };

    class Layer final : public memory::PageLayer {
    public:
        explicit Layer(Stored& stored) : stored_(stored) {}
        [[nodiscard]] std::span<const PagemapRange> ranges() const override { return stored_.ranges; }
        [[nodiscard]] std::unique_ptr<memory::PageContent> open() const override {
            return std::make_unique<Content>(stored_);
        }

    private:
        Stored& stored_;
    };

    const PagesInMemory* parent_;
};

}  // namespace criu::test
