// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/names/pid_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::engine {

PidFile::PidFile(const std::string& path, HostPid pid) : name_(path) {
    const UniqueFd fd = [&] {
        try {
            return name_.createFile(O_WRONLY);
        } catch (const Error& failure) {
            Error error(failure.code(), fmt::format("create the pid file {}", path));
            if (failure.code() == EEXIST)
                error.addHint("remove it if no process of that pid needs it");
            throw error;
        }
    }();
    const std::string text = std::to_string(pid.value);
    const ssize_t written = ::write(fd.get(), text.data(), text.size());
    if (written != static_cast<ssize_t>(text.size()))
        failWith(written < 0 ? errno : ENOSPC, "write the pid file {}", path);
}

}  // namespace criu::engine
