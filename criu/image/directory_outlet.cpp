// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/directory_outlet.hpp"

#include <unistd.h>

#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/whole_io.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/file_rights.hpp"

namespace criu {

class DirectoryOutlet::WrittenFile final : public ImageOutlet::File {
public:
    WrittenFile(UniqueFd file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}

    void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
        const ErrorContext context([this] { return name_; });
        writeAt(file_.get(), bytes, offset);
    }

    void finish(std::uint64_t size) override {
        sys(::ftruncate(file_.get(), static_cast<off_t>(size)), "size {} to {} bytes", name_, size);
        closeWritten(std::move(file_), name_);
    }

private:
    UniqueFd file_;
    const std::string name_;
};

DirectoryOutlet::~DirectoryOutlet() {
    try {
        const auto rights = directory_.takeRights();
        for (const auto& [name, inode] : made_)
            (void)removeIfSame(directory_.fd(), name.c_str(), inode);
    } catch (const std::exception&) {
        // Criu may lack the right to remove files in a client's directory; without an inventory, the images are
        // invalid.
        return;
    }
}

std::unique_ptr<ImageOutlet::File> DirectoryOutlet::create(const std::string& name) {
    UniqueFd file = directory_.createNamed(name);
    struct stat status {};
    sys(::fstat(file.get(), &status), "look at {}", name);
    {
        const std::lock_guard lock(mutex_);
        made_.insert_or_assign(name, Inode::of(status));
    }
    return std::make_unique<WrittenFile>(std::move(file), fmt::format("{}/{}", directory_.name(), name));
}

void DirectoryOutlet::finish() {
    made_.clear();
}

}  // namespace criu
