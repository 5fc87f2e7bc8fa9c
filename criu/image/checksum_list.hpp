// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "criu/image/checksum.hpp"
#include "images/inventory.fwd.hpp"

/// Lists of checksums of all files in an images directory (ImageKind::Checksums). The lists don't cover pages files,
/// because pagemaps contain the checksums of pages.
namespace criu {

class ImageDir;

/// Program that writes a list. The file name of the list contains this value.
enum class ChecksumList : std::uint32_t { OfDump = 1, OfPageServer = 2 };

/// Writes a list of checksums. The caller must have called ImageDir::takeChecksums(). Throws Error.
void writeChecksums(const ImageDir& images, ChecksumList list, std::span<const FileSum> files);

/// Writes the inventory, the last image of a dump. If `images` computes checksums, first writes a list of the checksums
/// of all images including the inventory. Any thread may call `checkStop` between files; `checkStop` throws to stop the
/// dump. Throws Error.
void completeImages(const ImageDir& images, InventoryEntry& inventory, const std::function<void()>& checkStop);

/// Check that compares the files of an images directory with its lists of checksums.
class ChecksumCheck {
public:
    /// Function that receives a description of each damage. Any thread may call the function. The function may throw to
    /// stop the check.
    using Damaged = std::function<void(const std::string&)>;

    /// Compares all listed files. If the files are large, threads on all processors compare them. Any thread may call
    /// `checkStop`, which throws to stop the check. Throws Error if a file can't be read.
    ChecksumCheck(const ImageDir& images, const Damaged& damaged, const std::function<void()>& checkStop);

    /// Returns the number of listed files; 0 if the directory has no lists.
    [[nodiscard]] std::size_t files() const noexcept { return files_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

private:
    std::size_t files_ = 0;
    std::uint64_t bytes_ = 0;
};

/// Compares the files of a directory and of all its opened parents with their lists of checksums. Throws Error at the
/// first damage. Ignores directories without lists.
void requireUndamaged(const ImageDir& images, const std::function<void()>& checkStop);

}  // namespace criu
