// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "criu/image/checksum.hpp"
#include "images/inventory.fwd.hpp"

/// Lists of checksums of all files in an images directory (ImageKind::Checksums). They exclude the content of pages
/// files, because pagemaps have its checksums.
namespace criu {

class ImageDir;

/// Writer of a list; the number of its file.
enum class ChecksumList : std::uint32_t { OfDump = 1, OfPageServer = 2 };

/// Writes a list. Requires ImageDir::takeChecksums(). Throws Error.
void writeChecksums(const ImageDir& images, ChecksumList list, std::span<const FileSum> files);

/// Writes the inventory, the last image of a dump. If the directory takes checksums, it first writes a list of all
/// images including the inventory. Any thread calls `checkStop` between files; it throws to end the work. Throws
/// Error.
void completeImages(const ImageDir& images, InventoryEntry& inventory, const std::function<void()>& checkStop);

/// Comparison of a directory's files with its lists.
class ChecksumCheck {
public:
    /// Callback that gets each damage in words. Any thread calls it. It may throw to end the check.
    using Damaged = std::function<void(const std::string&)>;

    /// Compares the files, with all cores if they are large. Any thread calls `checkStop`, which throws to end the
    /// check. Throws Error if it can't read a file.
    ChecksumCheck(const ImageDir& images, const Damaged& damaged, const std::function<void()>& checkStop);

    /// Number of files that the lists name; 0 without lists.
    [[nodiscard]] std::size_t files() const noexcept { return files_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

private:
    std::size_t files_ = 0;
    std::uint64_t bytes_ = 0;
};

/// Compares the files of a directory and of all its opened parents with their lists. Throws Error at the first
/// damage. Does nothing for directories without lists.
void requireUndamaged(const ImageDir& images, const std::function<void()>& checkStop);

}  // namespace criu
