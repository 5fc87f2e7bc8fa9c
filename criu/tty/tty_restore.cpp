// SPDX-License-Identifier: GPL-2.0-only
#include "criu/tty/tty_restore.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/image/image_dir.hpp"

namespace criu::tty {
namespace {

/// Scope in which SIGTTOU is blocked. Otherwise the kernel would stop a background process that changes its terminal.
class WritingFromBackground {
public:
    WritingFromBackground() {
        sigset_t stop;
        ::sigemptyset(&stop);
        ::sigaddset(&stop, SIGTTOU);
        ::pthread_sigmask(SIG_BLOCK, &stop, &before_);
    }
    ~WritingFromBackground() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    WritingFromBackground(const WritingFromBackground&) = delete;
    WritingFromBackground& operator=(const WritingFromBackground&) = delete;

private:
    sigset_t before_{};
};

}  // namespace

void TtyImages::load(const ImageDir& images) {
    if (auto reader = images.openRead(ImageKind::TtyInfo))
        for (auto& record : reader->all<TtyInfoEntry>())
            infos_.emplace(record->id, std::move(record));
    if (auto reader = images.openRead(ImageKind::TtyData))
        for (auto& record : reader->all<TtyDataEntry>())
            data_.emplace(record->tty_id, std::move(record));
}

const TtyInfoEntry& TtyImages::info(std::uint32_t id) const {
    const auto found = infos_.find(id);
    if (found == infos_.end())
        fail("tty-info.img has no terminal {:#x}", id);
    return *found->second;
}

Queued TtyImages::queued(std::uint32_t id) const {
    Queued queued;
    const auto found = data_.find(id);
    if (found == data_.end())
        return queued;
    const TtyDataEntry& entry = *found->second;
    const auto* const bytes = reinterpret_cast<const std::byte*>(entry.data.data);
    queued.bytes.assign(bytes, bytes + entry.data.len);
    queued.endsOfFile.assign(entry.ends_of_file, entry.ends_of_file + entry.n_ends_of_file);
    if (!std::is_sorted(queued.endsOfFile.begin(), queued.endsOfFile.end()) ||
        (!queued.endsOfFile.empty() && queued.endsOfFile.back() > queued.bytes.size()))
        fail("tty-data.img: ends of file of terminal {:#x} lie outside of its data", id);
    return queued;
}

void provideTerminal(files::FileOpener& opener, const TtyFile& file, UniqueFd fd) {
    const int flags = static_cast<int>(file.entry->flags);
    sys(::fcntl(fd.get(), F_SETFL, flags), "set flags {:#o} of terminal {:#x}", flags, file.info->id);
    opener.provide(FileId{file.entry->id}, std::move(fd));
}

UniqueFd openTerminal(files::FileOpener& opener, const TtyFile& file, int access) {
    if (file.path == nullptr)
        fail("terminal {:#x} has no path", file.info->id);
    return opener.toServiceRange(
        opener.openPath(FileId{file.path->id}, access | O_NOCTTY | O_NONBLOCK, files::PathCheck::Nothing));
}

void restoreSettings(int fd, const TtyInfoEntry& info, Window window) {
    // Sets the locks last, because the kernel doesn't change locked settings (TIOCSLCKTRMIOS).
    if (info.termios != nullptr)
        kernel::writeLineSettings(fd, loadSettings(*info.termios));
    if (info.winsize != nullptr && window == Window::Set)
        kernel::writeWindowSize(fd, loadWindow(*info.winsize));
    if (info.termios_locked == nullptr)
        return;
    const kernel::LineSettings locked = loadSettings(*info.termios_locked);
    // Skips equal values, because TIOCSLCKTRMIOS needs privileges that criu may lack in a user namespace.
    if (locked != kernel::readLockedSettings(fd))
        kernel::writeLockedSettings(fd, locked);
}

UniqueFd openOwnTerminal(const OutsideTerminals& outside, const TtyFile& file) {
    if (outside.own() < 0)
        failWithoutShellJobTerminal();
    const std::string path = fmt::format("/proc/self/fd/{}", outside.own());
    const int access = static_cast<int>(file.entry->flags) & O_ACCMODE;
    return UniqueFd(sys(::open(path.c_str(), access | O_NOCTTY | O_NONBLOCK | O_CLOEXEC), "open the terminal of criu"));
}

void takeOverOwnTerminal(int fd, const TtyInfoEntry& info) {
    {
        const WritingFromBackground allowed;
        restoreSettings(fd, info, Window::Keep);
    }
    if (info.winsize == nullptr || loadWindow(*info.winsize) == kernel::readWindowSize(fd))
        return;
    if (const pid_t group = ::tcgetpgrp(fd); group > 0)
        ::kill(-group, SIGWINCH);
}

void beginSession(int fd, Log& log, const TtyInfoEntry& info) {
    if (!kernel::controlOwnSession(fd))
        log.warn("terminal {:#x} controls another session: session {} has none", info.id, info.sid);
}

void joinForeground(int fd, pid_t group, Log& log, const TtyInfoEntry& info) {
    if (group != 0 && !kernel::setForeground(fd, group))
        log.warn("process group {} can't be put into the foreground of terminal {:#x}: {}", group, info.id,
                 std::strerror(errno));
}

}  // namespace criu::tty
