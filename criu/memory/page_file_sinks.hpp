// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "criu/memory/page_sink.hpp"

namespace criu {
class ImageDir;
}

namespace criu::memory {

/// Writes pages as files of an image directory, see page_files.hpp. They are numbered from 1, since one object stands
/// for one dump.
class FilePageSinks final : public PageSinks {
public:
    /// `images` outlives this object.
    explicit FilePageSinks(const ImageDir& images) noexcept : images_(images) {}

    [[nodiscard]] std::unique_ptr<PageSink> open(const MemoryObject& object) override;

private:
    const ImageDir& images_;
    std::atomic<std::uint32_t> next_{1};
};

}  // namespace criu::memory
