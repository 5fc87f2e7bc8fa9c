// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/mapping.hpp"
#include "criu/tty/tty_restore.hpp"

namespace criu::tty {
namespace {

/// What all but pseudoterminals have in common: descriptions have nothing to do with each other.
class RestoredLines : public RestoredTerminal {
public:
    void add(const TtyFile& file) override { files_.push_back(file); }

    [[nodiscard]] std::string describe() const override {
        const TtyFile& first = files_.front();
        return first.path != nullptr ? first.path->name : externalName(first.info->rdev, first.info->dev);
    }

    [[nodiscard]] const FownEntry* owner(FileId id) const override {
        for (const TtyFile& file : files_)
            if (file.entry->id == id.value)
                return file.entry->fown;
        return nullptr;
    }

protected:
    [[nodiscard]] const TtyInfoEntry& info() const { return *files_.front().info; }
    [[nodiscard]] const std::vector<TtyFile>& all() const { return files_; }

private:
    std::vector<TtyFile> files_;
};

class RestoredDevice final : public RestoredLines {
public:
    explicit RestoredDevice(Source source) : source_(source) {}

    [[nodiscard]] std::optional<pid_t> session() const override {
        const pid_t sid = static_cast<pid_t>(info().sid);
        return sid != 0 ? std::optional(sid) : std::nullopt;
    }

    void open(files::FileOpener& opener) override {
        for (const TtyFile& file : all()) {
            UniqueFd fd;
            if (source_ == Source::Path)
                fd = openTerminal(opener, file, static_cast<int>(file.entry->flags) & O_ACCMODE);
            else
                fd = given(opener);
            if (source_ != Source::Given)
                sys(::fcntl(fd.get(), F_SETFL, static_cast<int>(file.entry->flags)), "set flags {:#o} of a terminal",
                    file.entry->flags);
            opener.provide(FileId{file.entry->id}, std::move(fd));
        }
    }

    void complete(files::PlacedFiles& files) override {
        // What isn't the tree's own is changed when all else has come true.
        const UniqueFd fd = files.fetch(FileId{all().front().entry->id});
        restoreSettings(fd.get(), info(), source_ == Source::OwnTerminal ? Window::Keep : Window::Set);
        if (source_ != Source::OwnTerminal && info().exclusive != 0)
            kernel::makeExclusive(fd.get());
    }

    void finish(files::RestoredTree& tree) override {
        if (const FileId id{all().front().entry->id}; source_ == Source::OwnTerminal && tree.isHeld(id))
            tellWindowSize(tree.fetch(id).get(), info());
    }

    void beginSession(files::FileOpener& opener) override {
        tty::beginSession(opener.find(FileId{all().front().entry->id}), opener.log(), info());
    }

    void groupsJoined(files::PlacedFiles& files) override {
        pid_t group = files.groupFor(static_cast<pid_t>(info().pgrp));
        if (group == 0 && source_ == Source::OwnTerminal)
            group = ::getpgrp();  // whoever was in the foreground then isn't here
        joinForeground(files.fetch(FileId{all().front().entry->id}).get(), group, files.log(), info());
    }

private:
    UniqueFd given(files::FileOpener& opener) const {
        const std::string name = externalName(info().rdev, info().dev);
        if (source_ == Source::Given) {
            const int fd = opener.inherited(name);
            if (fd < 0) {
                Error error(0, fmt::format("the external terminal {} isn't provided", name));
                error.addHint(fmt::format("restore with --inherit-fd fd[N]:{}", name));
                throw error;
            }
            return UniqueFd(sys(::fcntl(fd, F_DUPFD_CLOEXEC, 0), "copy inherited fd {}", fd));
        }
        if (opener.ownTerminal() < 0)
            fail("--shell-job: criu wasn't started from a terminal that could replace it");
        const std::string path = fmt::format("/proc/self/fd/{}", opener.ownTerminal());
        const int access = static_cast<int>(all().front().entry->flags) & O_ACCMODE;
        return UniqueFd(
            sys(::open(path.c_str(), access | O_NOCTTY | O_NONBLOCK | O_CLOEXEC), "open the terminal of criu"));
    }

    Source source_;
};

/// /dev/tty is the terminal of whoever opens it, so that must be one of the session.
class RestoredOwn final : public RestoredLines {
public:
    [[nodiscard]] bool late() const override { return true; }
    [[nodiscard]] bool opensIn(const model::Task& task) const override { return task.sid == sid(); }
    [[nodiscard]] std::optional<pid_t> session() const override { return sid(); }

    void open(files::FileOpener& opener) override {
        for (const TtyFile& file : all())
            provideTerminal(opener, file, openTerminal(opener, file, static_cast<int>(file.entry->flags) & O_ACCMODE));
    }

private:
    [[nodiscard]] pid_t sid() const { return static_cast<pid_t>(info().sid); }
};

/// A descriptor of /dev/tty whose terminal is gone: a short-lived process gets one, opens it, and it goes.
class HungUpOwn final : public RestoredLines {
public:
    void open(files::FileOpener& opener) override {
        UniqueFd master(sys(::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), "open /dev/ptmx"));
        kernel::setPtyLocked(master.get(), false);
        const Mapping shared = Mapping::anonymous(pageAlignUp(all().size() * sizeof(int)), MAP_SHARED);
        // It shares our descriptors, so what it opens is ours.
        const auto child =
            static_cast<pid_t>(::syscall(SYS_clone, CLONE_FILES | SIGCHLD, nullptr, nullptr, nullptr, 0));
        if (child < 0)
            failErrno("create a process for a terminal");
        if (child == 0)
            openInSession(master.get(), shared.as<int>());
        sys(::waitpid(child, nullptr, 0), "wait for a process that opens a terminal");

        std::vector<UniqueFd> opened;
        for (std::size_t i = 0; i < all().size(); ++i)
            if (const int fd = shared.as<int>()[i]; fd > 0)
                opened.push_back(opener.lift(UniqueFd(fd)));
        if (opened.size() != all().size())
            fail("a session's terminal couldn't be opened as /dev/tty");
        for (std::size_t i = 0; i < opened.size(); ++i)
            sys(::fcntl(opened[i].get(), F_SETFL, static_cast<int>(all()[i].entry->flags)), "set flags of a terminal");
        master.reset();
        for (std::size_t i = 0; i < opened.size(); ++i)
            opener.provide(FileId{all()[i].entry->id}, std::move(opened[i]));
    }

private:
    /// Leaves the descriptors' numbers behind, 0 for those that couldn't be opened.
    [[noreturn]] void openInSession(int master, int* numbers) const {
        try {
            sys(::setsid(), "lead a session");
            if (!kernel::controlOwnSession(master))
                ::_exit(1);
            for (std::size_t i = 0; i < all().size(); ++i) {
                const int access = static_cast<int>(all()[i].entry->flags) & O_ACCMODE;
                numbers[i] = std::max(::open("/dev/tty", access | O_NOCTTY | O_NONBLOCK | O_CLOEXEC), 0);
            }
        } catch (const Error&) {
            // Whoever waits finds out that nothing was opened.
        }
        ::_exit(0);
    }
};

}  // namespace

std::shared_ptr<RestoredTerminal> makeRestoredDevice(Source source) {
    return std::make_shared<RestoredDevice>(source);
}

std::shared_ptr<RestoredTerminal> makeHungUpOwn() {
    return std::make_shared<HungUpOwn>();
}

std::shared_ptr<RestoredTerminal> makeRestoredOwn() {
    return std::make_shared<RestoredOwn>();
}

}  // namespace criu::tty
