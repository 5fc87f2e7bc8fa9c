// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <string>

#include "criu/base/names.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/options/command.hpp"

namespace criu {
class StopRequest;
}

namespace criu::model {
struct Options;
}

namespace criu::engine {

/// This side of a stream that the user has named by --stream-to or --stream-from: "-" for standard output or input, the
/// number of a descriptor, or a path. A file that was made for a stream goes again with this object, unless it was
/// kept: without its end nobody can restore from it.
class ImageStreamFile {
public:
    ImageStreamFile() = default;
    /// Opens what the options name for this command; nothing if they name none. Standard streams are replaced, so that
    /// programs that criu starts neither write into the stream nor read from it. Where a path leads to a fifo, the
    /// other side is waited for. Throws Error.
    ImageStreamFile(options::Command command, const model::Options& options, StopRequest& stop);
    ~ImageStreamFile();
    ImageStreamFile(const ImageStreamFile&) = delete;
    ImageStreamFile& operator=(const ImageStreamFile&) = delete;

    /// The descriptor, for who works with it. Invalid if there is none.
    [[nodiscard]] UniqueFd take() noexcept { return std::move(fd_); }
    /// For messages.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Nobody reads from it any longer, or writes to it, than this: 0 for any time.
    [[nodiscard]] std::chrono::seconds patience() const noexcept { return patience_; }

    /// The stream is complete: a file stays.
    void keep() noexcept { made_.reset(); }

private:
    void openNamed(const std::string& value, bool toWrite, StopRequest& stop);
    void openPath(const std::string& path, bool toWrite, StopRequest& stop);
    void createFile(const std::string& path, const std::string& name);

    UniqueFd fd_;
    std::string name_;
    std::chrono::seconds patience_{0};
    UniqueFd made_;  ///< the directory of a file that was made
    std::string madeName_;
    Inode inode_;
};

}  // namespace criu::engine
