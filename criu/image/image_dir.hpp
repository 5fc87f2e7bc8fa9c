// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "criu/base/unique_fd.hpp"
#include "criu/image/catalogue.hpp"
#include "criu/image/reader.hpp"
#include "criu/image/writer.hpp"

namespace criu::kernel {
struct FileRights;
class FileRightsScope;
class Usernsd;
}  // namespace criu::kernel

namespace criu {

class ImageOutlet;
class ImageSupply;
class WrittenSums;

/// An images directory. It is open by descriptor, so changes of working directory, root and mounts don't affect it.
/// Several threads may call const members at the same time. imageName() names files by kind and number.
class ImageDir {
public:
    /// Opens a directory. Throws Error.
    static ImageDir open(const std::string& path);

    /// Takes over a descriptor of a directory, for instance of an RPC client. `name` appears only in messages.
    ImageDir(UniqueFd directory, std::string name);

    /// Opens the parent images through the link "parent"; nothing without a link.
    [[nodiscard]] std::optional<ImageDir> openParent() const;

    /// Opens all parents in turn and holds them, because their links may lead elsewhere for a process with another
    /// root. Does nothing if they are open. Throws Error if a link is broken or leads to a directory of the chain.
    void openParents();
    /// Returns the parent of openParents(), or null. Usernsd and version are those of this directory.
    [[nodiscard]] const ImageDir* parent() const noexcept { return parent_.get(); }

    /// Uses this directory as the parent instead of the target of the link.
    void adoptParent(ImageDir parent) { parent_ = std::make_unique<ImageDir>(std::move(parent)); }

    /// Creates or replaces the link "parent" with this text, relative to this directory.
    void linkParent(const std::string& target) const;
    /// Removes the link "parent" of an earlier dump, if it exists. Throws Error.
    void unlinkParent() const;

    [[nodiscard]] bool exists(ImageKind kind, std::uint64_t id = 0) const;

    /// Removes a file; returns false if there was none.
    bool unlink(ImageKind kind, std::uint64_t id = 0) const;

    /// Opens an image and checks its header; returns nothing if the file is missing.
    [[nodiscard]] std::optional<ImageReader> openRead(ImageKind kind, std::uint64_t id = 0) const;

    /// Opens an image and checks its header. Throws Error if the file is missing.
    [[nodiscard]] ImageReader openRequired(ImageKind kind, std::uint64_t id = 0) const;

    /// Creates an image (mode 0600) with its header, and replaces one of an earlier dump.
    [[nodiscard]] ImageWriter create(ImageKind kind, std::uint64_t id = 0) const;

    /// Creates a file without header for reading and writing, and replaces an earlier one.
    [[nodiscard]] UniqueFd createRaw(ImageKind kind, std::uint64_t id = 0) const;

    /// Opens a file without header. `flags` are those of open(2): O_RDONLY, O_RDWR (to punch holes), O_DIRECT.
    [[nodiscard]] std::optional<UniqueFd> openRaw(ImageKind kind, std::uint64_t id, int flags) const;

    /// Create and open files whose names belong to no ImageKind: files of device drivers and their contents.
    [[nodiscard]] UniqueFd createNamed(const std::string& name) const;
    [[nodiscard]] std::optional<UniqueFd> openNamed(const std::string& name, int flags) const;

    /// Takes checksums of all files created from now on. Throws Error if libxxhash isn't installed.
    void takeChecksums();
    /// Returns the checksums of created files; null if none are taken.
    [[nodiscard]] WrittenSums* sums() const noexcept { return sums_.get(); }

    /// Uses these rights, the client's, for all later lookups, creations and removals in the directory. The client
    /// may have put any file there, so criu then reads only regular files and follows no links. Must precede
    /// openParents().
    void limitTo(const kernel::FileRights& rights);
    /// Applies the rights of limitTo() while the result lives, for code that uses fd(). Returns null if criu's own
    /// rights apply.
    [[nodiscard]] std::unique_ptr<kernel::FileRightsScope> takeRights() const;
    [[nodiscard]] bool isLimited() const noexcept { return rights_ != nullptr; }

    /// Uses the usernsd to open files for processes that may not read the directory. `usernsd` must outlive this
    /// object.
    void setUsernsd(const kernel::Usernsd& usernsd) noexcept {
        usernsd_ = &usernsd;
        if (parent_)
            parent_->setUsernsd(usernsd);
    }
    [[nodiscard]] const kernel::Usernsd* usernsd() const noexcept { return usernsd_; }

    /// Writes large files to this outlet instead of the directory; sendImages() sends the small ones at the end.
    /// Null: all files stay. The outlet must outlive this object.
    void setOutlet(ImageOutlet* outlet) noexcept { outlet_ = outlet; }
    [[nodiscard]] ImageOutlet* outlet() const noexcept { return outlet_; }

    /// Fetches each file from this supply before a lookup; null means that all files are present. The supply must
    /// outlive this object.
    void setSupply(const ImageSupply* supply) noexcept { supply_ = supply; }
    /// Fetches a file from the supply for code that opens the file itself.
    void fetch(const std::string& file) const;

    /// Reads and writes pages files without the page cache (O_DIRECT) where the file system can. Applies to parents,
    /// too. Must precede the start of threads.
    void setDirectIo(bool direct) noexcept {
        directIo_ = direct;
        if (parent_)
            parent_->setDirectIo(direct);
    }
    [[nodiscard]] bool directIo() const noexcept { return directIo_; }

    /// Sets the version of inventory.img: files of V1 have no common magic. Must precede the start of threads.
    void setVersion(ImageVersion version) noexcept {
        version_ = version;
        if (parent_)
            parent_->setVersion(version);
    }
    [[nodiscard]] ImageVersion version() const noexcept { return version_; }

    /// Replaces the descriptors of the directory and its parents by results of `mover`, which frees their numbers
    /// for restored files.
    template <typename Mover>
    void move(Mover&& mover) {
        directory_ = mover(std::move(directory_));
        if (parent_)
            parent_->move(mover);
    }

    [[nodiscard]] int fd() const noexcept { return directory_.get(); }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

private:
    UniqueFd directory_;
    std::string name_;
    ImageVersion version_ = ImageVersion::V1_1;
    bool directIo_ = false;
    const kernel::Usernsd* usernsd_ = nullptr;
    ImageOutlet* outlet_ = nullptr;
    const ImageSupply* supply_ = nullptr;
    std::shared_ptr<const kernel::FileRights> rights_;  ///< null: criu's
    std::shared_ptr<WrittenSums> sums_;                 ///< null: no checksums are taken
    std::unique_ptr<ImageDir> parent_;
};

}  // namespace criu
