// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/images/image_stream_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "criu/base/error.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/model/options.hpp"
#include "criu/options/option_values.hpp"

namespace criu::engine {
namespace {

using options::Command;

constexpr mode_t kMode = 0600;
constexpr std::int64_t kMostFd = 1 << 30;

const std::optional<std::string>* namedFor(Command command, const model::Options& options) {
    switch (command) {
        case Command::Dump:
        case Command::PreDump:
        case Command::StreamPack:
            return &options.streamTo;
        case Command::Restore:
        case Command::StreamUnpack:
            return &options.streamFrom;
        default:
            return nullptr;
    }
}

/// Returns a duplicate of the standard stream with descriptor number `standard`. Then makes this number refer to the
/// file `instead`.
UniqueFd takeStandard(int standard, const UniqueFd& instead) {
    UniqueFd taken(sys(::fcntl(standard, F_DUPFD_CLOEXEC, 3), "take over standard stream {}", standard));
    sys(::dup2(instead.get(), standard), "replace standard stream {}", standard);
    return taken;
}

UniqueFd takeStandard(bool output) {
    if (output)
        return takeStandard(STDOUT_FILENO, UniqueFd(sys(::dup(STDERR_FILENO), "copy standard error")));
    return takeStandard(STDIN_FILENO, UniqueFd(sys(::open("/dev/null", O_RDONLY | O_CLOEXEC), "open /dev/null")));
}

/// Opens a fifo for writing, and waits until a process has opened it for reading.
UniqueFd openForReader(const std::string& path, StopRequest& stop, std::chrono::seconds patience) {
    constexpr std::chrono::milliseconds kBetween{20};
    for (std::chrono::milliseconds waited{0};; waited += kBetween) {
        UniqueFd fd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
        if (fd || errno != ENXIO) {
            sys(fd.get(), "open {}", path);
            return fd;
        }
        stop.throwIfRequested();
        if (patience.count() > 0 && waited >= patience)
            failWith(ETIMEDOUT, "no process has read from {} for {} s (--timeout)", path, patience.count());
        ::usleep(std::chrono::microseconds(kBetween).count());
    }
}

}  // namespace

ImageStreamFile::ImageStreamFile(Command command, const model::Options& options, StopRequest& stop) {
    const std::optional<std::string>* const named = namedFor(command, options);
    if (named == nullptr || !*named || options.dryRun)
        return;
    const bool toWrite = named == &options.streamTo;
    if (toWrite || options.timeoutGiven)
        patience_ = options.timeout;
    const ErrorContext context([&] { return toWrite ? "--stream-to" : "--stream-from"; });
    openNamed(**named, toWrite, stop);
}

ImageStreamFile::~ImageStreamFile() {
    if (made_)
        (void)removeIfSame(made_.get(), madeName_.c_str(), inode_);
}

void ImageStreamFile::openNamed(const std::string& value, bool toWrite, StopRequest& stop) {
    if (value == "-") {
        name_ = toWrite ? "standard output" : "standard input";
        fd_ = takeStandard(toWrite);
    } else if (value.find_first_not_of("0123456789") == std::string::npos) {
        name_ = "descriptor " + value;
        fd_.reset(sys(::fcntl(static_cast<int>(options::parseNumber(value, 0, kMostFd)), F_DUPFD_CLOEXEC, 3),
                      "descriptor {}", value));
    } else {
        name_ = value;
        openPath(value, toWrite, stop);
    }
}

void ImageStreamFile::openPath(const std::string& path, bool toWrite, StopRequest& stop) {
    if (!toWrite) {
        // With O_NONBLOCK, open(2) of a fifo doesn't wait for a writer. Later reads of the stream do.
        fd_.reset(sys(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), "open {}", path));
        return;
    }
    struct stat there {};
    if (::lstat(path.c_str(), &there) != 0 || S_ISREG(there.st_mode))
        createFile(path, path.substr(path.rfind('/') + 1));  // without a slash, rfind() returns npos, and npos + 1 is 0
    else
        fd_ = openForReader(path, stop, patience_);
}

void ImageStreamFile::createFile(const std::string& path, const std::string& name) {
    const std::string parent = parentDirectory(path);
    made_.reset(sys(::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                    "open the directory of {}", path));
    fd_ = createReplacing(made_.get(), name, O_WRONLY, kMode);
    struct stat status {};
    sys(::fstat(fd_.get(), &status), "look at {}", path);
    madeName_ = name;
    inode_ = Inode::of(status);
}

}  // namespace criu::engine
