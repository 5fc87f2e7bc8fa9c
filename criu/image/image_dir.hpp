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

/// A directory of images, held by descriptor, so that it stays the same whatever happens to working directory, root and
/// mounts. Const members may be called by several threads at once. Files are named by kind and number (imageName()).
class ImageDir {
public:
    /// Opens a directory.
    static ImageDir open(const std::string& path);

    /// Takes over a descriptor of a directory, e.g. from an RPC client. `name` appears in messages only.
    ImageDir(UniqueFd directory, std::string name);

    /// The dump that this one is an increment of: the directory behind the link "parent"; nothing if there is no link.
    [[nodiscard]] std::optional<ImageDir> openParent() const;

    /// Opens the parent, the parent's parent and so on, and holds them from then on: what the links say may mean
    /// something else to a process with another root. Does nothing if they are open. Throws Error if a link leads
    /// nowhere or back.
    void openParents();
    /// The parent that openParents() has found, or null. Help and version are those of this directory.
    [[nodiscard]] const ImageDir* parent() const noexcept { return parent_.get(); }

    /// Takes this directory for the parent, instead of what a link leads to.
    void adoptParent(ImageDir parent) { parent_ = std::make_unique<ImageDir>(std::move(parent)); }

    /// Makes the link "parent" with the given text, relative to this directory. An existing one is replaced.
    void linkParent(const std::string& target) const;
    /// Removes that link, if there is one: of an earlier dump. Throws Error.
    void unlinkParent() const;

    [[nodiscard]] bool exists(ImageKind kind, std::uint64_t id = 0) const;

    /// Removes a file; false if there was none.
    bool unlink(ImageKind kind, std::uint64_t id = 0) const;

    /// Opens an image and checks its header; nothing if the file is missing.
    [[nodiscard]] std::optional<ImageReader> openRead(ImageKind kind, std::uint64_t id = 0) const;

    /// Same, for images that a dump can't be without: missing is an Error.
    [[nodiscard]] ImageReader openRequired(ImageKind kind, std::uint64_t id = 0) const;

    /// Makes an image (mode 0600), in place of an earlier dump's, and puts its header in front.
    [[nodiscard]] ImageWriter create(ImageKind kind, std::uint64_t id = 0) const;

    /// Makes a file without header, in place of an earlier one, open for reading and writing.
    [[nodiscard]] UniqueFd createRaw(ImageKind kind, std::uint64_t id = 0) const;

    /// Opens a file without header. `flags` are open(2)'s: O_RDONLY, O_RDWR (punching holes), O_DIRECT ….
    [[nodiscard]] std::optional<UniqueFd> openRaw(ImageKind kind, std::uint64_t id, int flags) const;

    /// The same for files whose names no ImageKind has: those of drivers and their contents.
    [[nodiscard]] UniqueFd createNamed(const std::string& name) const;
    [[nodiscard]] std::optional<UniqueFd> openNamed(const std::string& name, int flags) const;

    /// From here on checksums are taken of all files that are created here. Throws Error if there is no library for
    /// that.
    void takeChecksums();
    /// Those that were taken; null if none are.
    [[nodiscard]] WrittenSums* sums() const noexcept { return sums_.get(); }

    /// From here on names in the directory are looked up, made and removed with these rights, which are fewer than
    /// criu's: those of a client, who may have put anything there. Only regular files are read then, and none through a
    /// link. Set before parents are opened.
    void limitTo(const kernel::FileRights& rights);
    /// For whoever makes and opens files there by fd(): has the rights of limitTo() while what it returns lives. Null
    /// if criu's own count.
    [[nodiscard]] std::unique_ptr<kernel::FileRightsScope> takeRights() const;
    [[nodiscard]] bool isLimited() const noexcept { return rights_ != nullptr; }

    /// For processes that may not read there: whom they ask then. Outlives this object.
    void setUsernsd(const kernel::Usernsd& usernsd) noexcept {
        usernsd_ = &usernsd;
        if (parent_)
            parent_->setUsernsd(usernsd);
    }
    [[nodiscard]] const kernel::Usernsd* usernsd() const noexcept { return usernsd_; }

    /// Where large files go instead of into this directory, whose small ones are sent there at the end (sendImages());
    /// null: all stay. Outlives this object.
    void setOutlet(ImageOutlet* outlet) noexcept { outlet_ = outlet; }
    [[nodiscard]] ImageOutlet* outlet() const noexcept { return outlet_; }

    /// Asked for each file before it is looked up here; null: what isn't there doesn't exist. Outlives this object.
    void setSupply(const ImageSupply* supply) noexcept { supply_ = supply; }
    /// Has the supply bring a file that is going to be opened by somebody else.
    void fetch(const std::string& file) const;

    /// What inventory.img says; files of V1 have no common magic. Set before threads start.
    void setVersion(ImageVersion version) noexcept {
        version_ = version;
        if (parent_)
            parent_->setVersion(version);
    }
    [[nodiscard]] ImageVersion version() const noexcept { return version_; }

    /// Exchanges the descriptors of the directory and its parents for what `mover` makes of them: to keep numbers free
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
    const kernel::Usernsd* usernsd_ = nullptr;
    ImageOutlet* outlet_ = nullptr;
    const ImageSupply* supply_ = nullptr;
    std::shared_ptr<const kernel::FileRights> rights_;  ///< null: criu's
    std::shared_ptr<WrittenSums> sums_;                 ///< null: no checksums are taken
    std::unique_ptr<ImageDir> parent_;
};

}  // namespace criu
