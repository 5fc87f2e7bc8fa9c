// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace criu {
class ImageDir;
}

namespace criu::memory {

/// Compares all pages that a directory of images needs, those in its parents included, with their checksums, by all
/// cores. Pages of parents that newer ones replace aren't looked at.
class PageCheck {
public:
    /// What is called with each damage, in words, from any thread.
    using Damaged = std::function<void(const std::string&)>;

    /// Does it. `images` has its parents open. `checkStop` is called between pieces, from any thread, and throws if the
    /// work is to end. Throws Error for what `damaged` isn't asked about.
    PageCheck(const ImageDir& images, const Damaged& damaged, const std::function<void()>& checkStop);

    /// Bytes of content that have checksums, and that have none.
    [[nodiscard]] std::uint64_t compared() const noexcept { return compared_; }
    [[nodiscard]] std::uint64_t without() const noexcept { return without_; }

private:
    std::uint64_t compared_ = 0;
    std::uint64_t without_ = 0;
};

}  // namespace criu::memory
