// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "criu/base/names.hpp"
#include "criu/image/image_outlet.hpp"

namespace criu {

class ImageDir;

/// Outlet that writes images into a directory, for commands that convert images. The destructor removes all files that
/// the outlet created, unless finish() was called.
class DirectoryOutlet final : public ImageOutlet {
public:
    /// `directory` must outlive this object.
    explicit DirectoryOutlet(const ImageDir& directory) noexcept : directory_(directory) {}
    ~DirectoryOutlet() override;

    [[nodiscard]] std::unique_ptr<File> create(const std::string& name) override;
    [[nodiscard]] bool inOrder() const noexcept override { return false; }
    void finish() override;

private:
    class WrittenFile;

    const ImageDir& directory_;
    std::mutex mutex_;
    std::map<std::string, Inode> made_;
};

}  // namespace criu
