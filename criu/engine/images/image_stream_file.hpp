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

/// File or descriptor of --stream-to or --stream-from. The option names a path, a descriptor number, or "-" for
/// standard output or input. Without keep(), the destructor removes a file that the constructor created, because an
/// incomplete stream can't be restored.
class ImageStreamFile {
public:
    ImageStreamFile() = default;
    /// Opens the stream that the options name for this command, if they name one. Replaces a used standard stream, so
    /// that programs that criu starts don't write to it. Waits until a fifo of --stream-to has a reader. Throws Error.
    ImageStreamFile(options::Command command, const model::Options& options, StopRequest& stop);
    ~ImageStreamFile();
    ImageStreamFile(const ImageStreamFile&) = delete;
    ImageStreamFile& operator=(const ImageStreamFile&) = delete;

    /// Moves the descriptor of the stream to the caller; an invalid descriptor without a stream.
    [[nodiscard]] UniqueFd take() noexcept { return std::move(fd_); }
    /// Returns the name of the stream for messages.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Returns how long criu waits for the process at the other end of the stream; 0 means no limit.
    [[nodiscard]] std::chrono::seconds patience() const noexcept { return patience_; }

    /// Keeps a created file. Call it when the stream is complete.
    void keep() noexcept { made_.reset(); }

private:
    void openNamed(const std::string& value, bool toWrite, StopRequest& stop);
    void openPath(const std::string& path, bool toWrite, StopRequest& stop);
    void createFile(const std::string& path, const std::string& name);

    UniqueFd fd_;
    std::string name_;
    std::chrono::seconds patience_{0};
    UniqueFd made_;  ///< directory of the created file; invalid if the destructor removes no file
    std::string madeName_;
    Inode inode_;
};

}  // namespace criu::engine
