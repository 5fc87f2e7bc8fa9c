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
/// standard output or input. If the constructor created a file, the destructor removes it unless keep() was called,
/// because an incomplete stream can't be restored.
class ImageStreamFile {
public:
    ImageStreamFile() = default;
    /// Opens the stream if the options name one for this command. If this is a standard stream, replaces the standard
    /// stream, so that programs that criu starts don't write into the stream. Waits until a fifo of --stream-to has a
    /// reader. Throws Error.
    ImageStreamFile(options::Command command, const model::Options& options, StopRequest& stop);
    ~ImageStreamFile();
    ImageStreamFile(const ImageStreamFile&) = delete;
    ImageStreamFile& operator=(const ImageStreamFile&) = delete;

    /// Moves the descriptor of the stream to the caller. Returns an invalid descriptor if the options name no stream.
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
    UniqueFd made_;  ///< directory of the file that the destructor removes; invalid if it removes none
    std::string madeName_;
    Inode inode_;
};

}  // namespace criu::engine
