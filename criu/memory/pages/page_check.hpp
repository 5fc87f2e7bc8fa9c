// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace criu {
class ImageDir;
}

namespace criu::memory {

/// Comparison of pages with their checksums, on all cores. It covers all pages that a restore from an images directory
/// reads, including pages of parents that no later dump replaced.
class PageCheck {
public:
    /// Function that gets a description of each damage, from any thread.
    using Damaged = std::function<void(const std::string&)>;

    /// Runs the check. `images` must have its parents open. `checkStop`: called between pieces, from any thread; if it
    /// throws, the check ends. Passes damaged pages to `damaged`, and throws Error only for other failures.
    PageCheck(const ImageDir& images, const Damaged& damaged, const std::function<void()>& checkStop);

    /// compared() returns the number of bytes with checksums, without() the number of bytes without.
    [[nodiscard]] std::uint64_t compared() const noexcept { return compared_; }
    [[nodiscard]] std::uint64_t without() const noexcept { return without_; }

private:
    std::uint64_t compared_ = 0;
    std::uint64_t without_ = 0;
};

}  // namespace criu::memory
