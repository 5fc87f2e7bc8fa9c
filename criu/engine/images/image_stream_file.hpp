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

/// File or descriptor of --stream-to or --stream-from: "-" for standard output or input, a descriptor number, or a
/// path. The destructor removes a created file unless keep() was called: an incomplete stream can't be restored.
class ImageStreamFile {
public:
    ImageStreamFile() = default;
    /// Opens the stream that the options name for this command, if they name one. Replaces a standard stream, so that
    /// programs that criu starts don't use it. Waits for a reader of a fifo. Throws Error.
    ImageStreamFile(options::Command command, const model::Options& options, StopRequest& stop);
    ~ImageStreamFile();
    ImageStreamFile(const ImageStreamFile&) = delete;
    ImageStreamFile& operator=(const ImageStreamFile&) = delete;

    /// Returns the descriptor; invalid if there is no stream.
    [[nodiscard]] UniqueFd take() noexcept { return std::move(fd_); }
    /// Name for messages.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Timeout for the other end of the stream; 0 means none.
    [[nodiscard]] std::chrono::seconds patience() const noexcept { return patience_; }

    /// Keeps a created file, because the stream is complete.
    void keep() noexcept { made_.reset(); }

private:
    void openNamed(const std::string& value, bool toWrite, StopRequest& stop);
    void openPath(const std::string& path, bool toWrite, StopRequest& stop);
    void createFile(const std::string& path, const std::string& name);

    UniqueFd fd_;
    std::string name_;
    std::chrono::seconds patience_{0};
    UniqueFd made_;  ///< directory of the created file
    std::string madeName_;
    Inode inode_;
};

}  // namespace criu::engine
