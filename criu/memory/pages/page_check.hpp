// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace criu {
class ImageDir;
}

namespace criu::memory {

/// Comparison of all pages that a restore from an images directory reads with their checksums, on all cores. This
/// includes pages of parents that no later dump replaced.
class PageCheck {
public:
    /// Function that gets a description of each damage, from any thread.
    using Damaged = std::function<void(const std::string&)>;

    /// Runs the check. `images` must have its parents open. `checkStop` is called between pieces, from any thread; if
    /// it throws, the check ends. Damaged pages are only reported; Error is thrown for other failures.
    PageCheck(const ImageDir& images, const Damaged& damaged, const std::function<void()>& checkStop);

    /// compared() returns the bytes of content with checksums, without() the bytes of content that has none.
    [[nodiscard]] std::uint64_t compared() const noexcept { return compared_; }
    [[nodiscard]] std::uint64_t without() const noexcept { return without_; }

private:
    std::uint64_t compared_ = 0;
    std::uint64_t without_ = 0;
};

}  // namespace criu::memory
