// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace criu {
class ImageDir;
}

namespace criu::memory {

/// Compares all pages that an images directory needs with their checksums, on all cores. It includes pages of
/// parents, except replaced ones.
class PageCheck {
public:
    /// Receiver of a description of each damage, called from any thread.
    using Damaged = std::function<void(const std::string&)>;

    /// Runs the check. `images` must have its parents open. `checkStop` is called between pieces, from any thread,
    /// and throws to end the work. Throws Error for failures other than damages.
    PageCheck(const ImageDir& images, const Damaged& damaged, const std::function<void()>& checkStop);

    /// Return the bytes of content with and without checksums.
    [[nodiscard]] std::uint64_t compared() const noexcept { return compared_; }
    [[nodiscard]] std::uint64_t without() const noexcept { return without_; }

private:
    std::uint64_t compared_ = 0;
    std::uint64_t without_ = 0;
};

}  // namespace criu::memory
