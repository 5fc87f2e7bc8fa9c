// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace criu {

/// Hash of the content of a file. Contents that differ only by holes instead of zeroes have equal hashes. The hash is
/// only valid in this process.
class ContentHash {
public:
    /// Adds bytes. Offsets must ascend.
    void add(std::uint64_t offset, std::string_view bytes) {
        while (!bytes.empty()) {
            if (offset / kPage * kPage != start_) {
                addPage();
                start_ = offset / kPage * kPage;
            }
            page_.resize(offset - start_);
            const std::string_view part = bytes.substr(0, kPage - page_.size());
            page_ += part;
            bytes.remove_prefix(part.size());
            offset += part.size();
        }
    }

    [[nodiscard]] std::size_t finish() {
        addPage();
        return hash_;
    }

private:
    static constexpr std::uint64_t kPage = 4096;

    void addPage() {
        constexpr std::size_t kFactor = 1'000'003;
        if (page_.find_first_not_of('\0') != std::string::npos) {
            page_.resize(kPage);
            hash_ = hash_ * kFactor + std::hash<std::string>()(page_) + start_;
        }
        page_.clear();
    }

    std::size_t hash_ = 0;
    std::uint64_t start_ = 0;  ///< offset of page_
    std::string page_;
};

}  // namespace criu
