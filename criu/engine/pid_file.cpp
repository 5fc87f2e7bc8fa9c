// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/pid_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::engine {

PidFile::PidFile(std::string path, pid_t pid) : path_(std::move(path)) {
    const UniqueFd fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd) {
        Error error(errno, fmt::format("create the pid file {}", path_));
        if (errno == EEXIST)
            error.addHint("remove it if no process of that pid needs it");
        throw error;
    }
    const std::string text = std::to_string(pid);
    const ssize_t written = ::write(fd.get(), text.data(), text.size());
    if (written != static_cast<ssize_t>(text.size())) {
        const int code = written < 0 ? errno : ENOSPC;
        ::unlink(path_.c_str());
        failWith(code, "write the pid file {}", path_);
    }
}

PidFile::~PidFile() {
    if (!committed_)
        ::unlink(path_.c_str());
}

}  // namespace criu::engine
