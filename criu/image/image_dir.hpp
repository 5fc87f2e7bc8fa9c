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
class Log;
class WrittenSums;

/// Images directory. criu accesses it only by a descriptor, so changes of working directory, root and mounts have no
/// effect. imageName() gives files their names. Several threads may call const members at the same time.
class ImageDir {
public:
    /// Opens a directory. Throws Error.
    static ImageDir open(const std::string& path);

    /// Becomes the owner of the descriptor of a directory, for instance from an RPC client. `name` appears only in
    /// messages.
    ImageDir(UniqueFd directory, std::string name);

    /// Opens the directory of the parent images through the link "parent"; returns nullopt if there is no link.
    [[nodiscard]] std::optional<ImageDir> openParent() const;

    /// Opens the parent directory, its parent, and so on, and keeps them open: after a change of root, the links may
    /// lead to other directories. Does nothing if the parents are open. Throws Error if a link is broken, or leads to a
    /// directory that is already in the chain.
    void openParents();
    /// Returns the parent that openParents() opened, or null. Settings of this directory, such as the usernsd and the
    /// version, also apply to the parent.
    [[nodiscard]] const ImageDir* parent() const noexcept { return parent_.get(); }

    /// Sets `parent` as the parent directory; openParents() then doesn't follow the link "parent".
    void adoptParent(ImageDir parent) { parent_ = std::make_unique<ImageDir>(std::move(parent)); }

    /// Creates or replaces the link "parent". `target`: path, relative to this directory.
    void linkParent(const std::string& target) const;
    /// Removes the link "parent" of an earlier dump if it exists. Throws Error.
    void unlinkParent() const;

    [[nodiscard]] bool exists(ImageKind kind, std::uint64_t id = 0) const;

    /// Removes a file. Returns false if the file didn't exist.
    bool unlink(ImageKind kind, std::uint64_t id = 0) const;

    /// Opens an image and checks its header. Returns nullopt if the file is missing.
    [[nodiscard]] std::optional<ImageReader> openRead(ImageKind kind, std::uint64_t id = 0) const;

    /// Opens an image and checks its header. Throws Error if the file is missing.
    [[nodiscard]] ImageReader openRequired(ImageKind kind, std::uint64_t id = 0) const;

    /// Creates an image (mode 0600) and its header. Replaces the image of an earlier dump.
    [[nodiscard]] ImageWriter create(ImageKind kind, std::uint64_t id = 0) const;

    /// Creates a file without header, for reading and writing. Replaces the file of an earlier dump.
    [[nodiscard]] UniqueFd createRaw(ImageKind kind, std::uint64_t id = 0) const;

    /// Opens a file without header; returns nullopt if it is missing. `flags`: flags of open(2), such as O_RDONLY,
    /// O_RDWR (to punch holes) or O_DIRECT.
    [[nodiscard]] std::optional<UniqueFd> openRaw(ImageKind kind, std::uint64_t id, int flags) const;

    /// createNamed() creates a file that belongs to no ImageKind, such as a file of a device driver. openNamed() opens
    /// such a file.
    [[nodiscard]] UniqueFd createNamed(const std::string& name) const;
    [[nodiscard]] std::optional<UniqueFd> openNamed(const std::string& name, int flags) const;

    /// Makes this object compute checksums of all files that it creates after this call. Throws Error if libxxhash
    /// isn't installed.
    void takeChecksums();
    /// Returns the checksums of created files; null if takeChecksums() wasn't called.
    [[nodiscard]] WrittenSums* sums() const noexcept { return sums_.get(); }

    /// Makes criu use the client's file rights when it opens, creates or removes files in the directory. The client may
    /// have created any files there. So criu then opens only regular files, and follows no links. Must precede
    /// openParents().
    void limitTo(const kernel::FileRights& rights);
    /// Applies the file rights of limitTo() to the calling thread until the result is destroyed. For code that uses
    /// fd() directly. Returns null if limitTo() wasn't called.
    [[nodiscard]] std::unique_ptr<kernel::FileRightsScope> takeRights() const;
    /// Applies the rules of --untrusted. criu opens no link in the directory, and no parent directory, because the
    /// author of the images may have created them. Readers accept only records in canonical form.
    void distrust() noexcept { distrusted_ = true; }
    [[nodiscard]] bool isDistrusted() const noexcept { return distrusted_; }

    /// Sets the spool with the unpacked content of compressed images, which confined processes have decoded. criu then
    /// decodes no compressed image of this directory itself.
    void setUnpacked(ImageDir spool) { unpacked_ = std::make_unique<ImageDir>(std::move(spool)); }
    /// Returns the spool of setUnpacked(), or null. Its files have the names of the compressed images.
    [[nodiscard]] const ImageDir* unpacked() const noexcept { return unpacked_.get(); }
    [[nodiscard]] bool isLimited() const noexcept { return rights_ != nullptr; }

    /// Sets the usernsd, which opens files for processes that may not read the directory. `usernsd` must outlive this
    /// object.
    void setUsernsd(const kernel::Usernsd& usernsd) noexcept {
        usernsd_ = &usernsd;
        if (unpacked_)
            unpacked_->setUsernsd(usernsd);
        if (parent_)
            parent_->setUsernsd(usernsd);
    }
    [[nodiscard]] const kernel::Usernsd* usernsd() const noexcept { return usernsd_; }

    /// Sets the outlet. criu then passes large files to the outlet instead of writing them into the directory.
    /// sendImages() passes all small files at the end of the dump. If null, criu writes all files into the directory.
    /// The outlet must outlive this object.
    void setOutlet(ImageOutlet* outlet) noexcept { outlet_ = outlet; }
    [[nodiscard]] ImageOutlet* outlet() const noexcept { return outlet_; }

    /// Makes readers report unknown fields to `log` as losses. Without a log, readers throw Error. `log` must outlive
    /// this object. Also applies to parents.
    void setLossLog(Log& log) noexcept {
        losses_ = &log;
        if (parent_)
            parent_->setLossLog(log);
    }

    /// Sets the supply from which criu fetches each file before it opens the file. If null, all files are in the
    /// directory. The supply must outlive this object.
    void setSupply(const ImageSupply* supply) noexcept { supply_ = supply; }
    [[nodiscard]] bool hasSupply() const noexcept { return supply_ != nullptr; }
    /// Returns the descriptor of the supply (ImageSupply::descriptor()), or -1.
    [[nodiscard]] int supplyDescriptor() const noexcept;
    /// Fetches a file from the supply, for code that opens the file without this class.
    void fetch(const std::string& file) const;

    /// Makes criu read and write pages files without the page cache (O_DIRECT), if the file system supports it. Also
    /// applies to parents. Must precede the start of threads.
    void setDirectIo(bool direct) noexcept {
        directIo_ = direct;
        if (parent_)
            parent_->setDirectIo(direct);
    }
    [[nodiscard]] bool directIo() const noexcept { return directIo_; }

    /// Sets the version that the inventory contains: files of V1 have no common magic. Must precede the start of
    /// threads.
    void setVersion(ImageVersion version) noexcept {
        version_ = version;
        if (parent_)
            parent_->setVersion(version);
    }
    [[nodiscard]] ImageVersion version() const noexcept { return version_; }

    /// Calls `mover` for the descriptors of the directory and its parents, and keeps the results instead. `mover` moves
    /// a descriptor to another number, because restored files need the old number.
    template <typename Mover>
    void move(Mover&& mover) {
        directory_ = mover(std::move(directory_));
        if (unpacked_)
            unpacked_->move(mover);
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
    bool distrusted_ = false;
    const kernel::Usernsd* usernsd_ = nullptr;
    ImageOutlet* outlet_ = nullptr;
    const ImageSupply* supply_ = nullptr;
    Log* losses_ = nullptr;
    std::shared_ptr<const kernel::FileRights> rights_;  ///< file rights of the client; null if criu's own rights apply
    std::shared_ptr<WrittenSums> sums_;                 ///< checksums of created files; null if none are computed
    std::unique_ptr<ImageDir> parent_;
    std::unique_ptr<ImageDir> unpacked_;
};

}  // namespace criu
