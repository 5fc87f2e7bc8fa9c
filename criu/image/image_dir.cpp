// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/image_dir.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <utility>

#include "criu/base/names.hpp"
#include "criu/image/image_supply.hpp"
#include "criu/image/written_sums.hpp"
#include "criu/kernel/file_rights.hpp"
#include "criu/kernel/names/created_name.hpp"
#include "criu/kernel/usernsd.hpp"

namespace criu {
namespace {

constexpr const char* kParentLink = "parent";
constexpr mode_t kImageMode = 0600;

// Flags of open(2) for files that may be fifos. With them, criu waits neither when it opens a fifo nor when it reads
// one.
constexpr int kWithoutWaiting = O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

UniqueFd requireRegular(const ImageDir& dir, const std::string& name, UniqueFd fd) {
    struct stat status {};
    sys(::fstat(fd.get(), &status), "look at {} in {}", name, dir.name());
    if (!S_ISREG(status.st_mode))
        fail("{} in {} isn't a regular file", name, dir.name());
    return fd;
}

// Opens an existing file in a client's directory. Doesn't follow links, because the client may have created them.
// Returns an invalid descriptor if the file doesn't exist.
UniqueFd openOfClient(const ImageDir& dir, const std::string& name, int flags) {
    const auto rights = dir.takeRights();
    UniqueFd fd(::openat(dir.fd(), name.c_str(), flags | O_NOFOLLOW | kWithoutWaiting));
    if (fd)
        return requireRegular(dir, name, std::move(fd));
    if (errno != ENOENT)
        failErrno("open {} in {}", name, dir.name());
    return fd;
}

// Opens an existing file; returns an invalid descriptor if it doesn't exist.
UniqueFd openExisting(const ImageDir& dir, const std::string& name, int flags) {
    if (dir.isLimited())
        return openOfClient(dir, name, flags);
    if (dir.isDistrusted())
        flags |= O_NOFOLLOW;
    UniqueFd fd(::openat(dir.fd(), name.c_str(), flags | kWithoutWaiting));
    if (!fd && errno == EACCES && dir.usernsd() != nullptr)
        fd = dir.usernsd()->openBelow(dir.fd(), name, flags);
    if (fd)
        return requireRegular(dir, name, std::move(fd));
    if (errno != ENOENT)
        failErrno("open {} in {}", name, dir.name());
    return fd;
}

UniqueFd openSupplied(const ImageSupply* supply, const std::string& name, int flags) {
    return supply != nullptr ? supply->open(name, flags) : UniqueFd();
}

/// Opens a file of the supply or of the directory. Returns an invalid descriptor if it is missing.
UniqueFd openHere(const ImageDir& images, const ImageSupply* supply, const std::string& name, int flags) {
    UniqueFd fd = openSupplied(supply, name, flags);
    return fd ? std::move(fd) : openExisting(images, name, flags);
}

UniqueFd createFile(const ImageDir& dir, const std::string& name, int access) {
    const ErrorContext context([&] { return fmt::format("image directory {}", dir.name()); });
    const auto rights = dir.takeRights();
    return createReplacing(dir.fd(), name, access, kImageMode);
}

}  // namespace

ImageDir ImageDir::open(const std::string& path) {
    return {UniqueFd(sys(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open image directory {}", path)),
            path};
}

ImageDir::ImageDir(UniqueFd directory, std::string name) : directory_(std::move(directory)), name_(std::move(name)) {
    struct stat status {};
    sys(::fstat(directory_.get(), &status), "image directory {}", name_);
    if (!S_ISDIR(status.st_mode))
        failWith(ENOTDIR, "image directory {}", name_);
}

void ImageDir::limitTo(const kernel::FileRights& rights) {
    rights_ = std::make_shared<const kernel::FileRights>(rights);
}

std::unique_ptr<kernel::FileRightsScope> ImageDir::takeRights() const {
    return rights_ ? std::make_unique<kernel::FileRightsScope>(*rights_) : nullptr;
}

std::optional<ImageDir> ImageDir::openParent() const {
    const auto rights = takeRights();
    struct stat link {};
    if (::fstatat(fd(), kParentLink, &link, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno == ENOENT)
            return std::nullopt;
        failErrno("look up the parent of {}", name_);
    }
    if (distrusted_)
        fail("the images in {} have a parent directory, which --untrusted forbids", name_);
    UniqueFd parent(::openat(fd(), kParentLink, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!parent) {
        std::array<char, PATH_MAX> target{};
        Error error(errno, fmt::format("open the parent of {}", name_));
        if (::readlinkat(fd(), kParentLink, target.data(), target.size() - 1) > 0)
            error.addHint(fmt::format("the link {}/{} leads to {}: these images are needed, too, at this place", name_,
                                      kParentLink, target.data()));
        throw error;
    }
    return ImageDir(std::move(parent), name_ + "/" + kParentLink);
}

void ImageDir::openParents() {
    if (parent_)
        return;
    std::set<std::pair<dev_t, ino_t>> seen;
    const auto note = [&seen](const ImageDir& dir) {
        struct stat status {};
        sys(::fstat(dir.fd(), &status), "image directory {}", dir.name());
        if (!seen.emplace(status.st_dev, status.st_ino).second)
            failWith(ELOOP, "the parent links of the images lead in a circle, from {}", dir.name());
    };
    note(*this);
    for (ImageDir* dir = this; auto parent = dir->openParent(); dir = dir->parent_.get()) {
        note(*parent);
        parent->version_ = version_;
        parent->usernsd_ = usernsd_;
        parent->rights_ = rights_;
        parent->directIo_ = directIo_;
        parent->losses_ = losses_;
        dir->parent_ = std::make_unique<ImageDir>(std::move(*parent));
    }
}

void ImageDir::unlinkParent() const {
    const auto rights = takeRights();
    struct stat before {};
    if (::fstatat(fd(), kParentLink, &before, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    const int code = S_ISLNK(before.st_mode) ? removeIfSame(fd(), kParentLink, Inode::of(before)) : EEXIST;
    if (code != 0)
        failWith(code, "remove the parent link of {}", name_);
}

void ImageDir::linkParent(const std::string& target) const {
    unlinkParent();
    const auto rights = takeRights();
    const ErrorContext context([&] { return fmt::format("link {} as the parent of {}", target, name_); });
    makeLink(fd(), kParentLink, target);
}

bool ImageDir::exists(ImageKind kind, std::uint64_t id) const {
    const std::string file = imageName(kind, id);
    fetch(file);
    if (openSupplied(supply_, file, O_RDONLY))
        return true;
    if (isLimited())
        return openOfClient(*this, file, O_RDONLY).get() >= 0;
    if (::faccessat(fd(), file.c_str(), F_OK, 0) == 0)
        return true;
    if (errno != ENOENT)
        failErrno("look up {} in {}", file, name_);
    return false;
}

bool ImageDir::unlink(ImageKind kind, std::uint64_t id) const {
    const std::string file = imageName(kind, id);
    const auto rights = takeRights();
    if (sums_)
        sums_->forget(file);
    const int code = removeFile(fd(), file.c_str());
    if (code != 0 && code != ENOENT)
        failWith(code, "remove {} from {}", file, name_);
    return code == 0;
}

std::optional<ImageReader> ImageDir::openRead(ImageKind kind, std::uint64_t id) const {
    std::string file = imageName(kind, id);
    fetch(file);
    UniqueFd fd = openHere(*this, supply_, file, O_RDONLY);
    if (!fd)
        return std::nullopt;
    ImageReader reader(std::move(fd), kind, std::move(file), version_, losses_);
    if (distrusted_)
        reader.requireCanonical();
    return reader;
}

ImageReader ImageDir::openRequired(ImageKind kind, std::uint64_t id) const {
    auto reader = openRead(kind, id);
    if (!reader)
        failWith(ENOENT, "open {} in {}", imageName(kind, id), name_);
    return std::move(*reader);
}

ImageWriter ImageDir::create(ImageKind kind, std::uint64_t id) const {
    std::string file = imageName(kind, id);
    UniqueFd fd = createFile(*this, file, O_WRONLY);
    ImageWriter image(std::move(fd), kind, file);
    if (sums_) {
        sums_->forget(file);
        image.sumInto(sums_);
    }
    return image;
}

UniqueFd ImageDir::createRaw(ImageKind kind, std::uint64_t id) const {
    return createNamed(imageName(kind, id));
}

UniqueFd ImageDir::createNamed(const std::string& name) const {
    if (sums_)
        sums_->forget(name);
    return createFile(*this, name, O_RDWR);
}

std::optional<UniqueFd> ImageDir::openRaw(ImageKind kind, std::uint64_t id, int flags) const {
    return openNamed(imageName(kind, id), flags);
}

std::optional<UniqueFd> ImageDir::openNamed(const std::string& name, int flags) const {
    fetch(name);
    UniqueFd fd = openHere(*this, supply_, name, flags);
    if (!fd)
        return std::nullopt;
    return fd;
}

void ImageDir::takeChecksums() {
    sums_ = std::make_shared<WrittenSums>();
}

void ImageDir::fetch(const std::string& file) const {
    if (supply_ != nullptr)
        supply_->fetch(file);
}

int ImageDir::supplyDescriptor() const noexcept {
    return supply_ == nullptr ? -1 : supply_->descriptor();
}

}  // namespace criu
