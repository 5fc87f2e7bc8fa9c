// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/placed_files.hpp"
#include "criu/files/restored_tree.hpp"
#include "criu/tty/tty_restore.hpp"

namespace criu::tty {
namespace {

/// Restore half that all terminals except pseudoterminals have in common. Their open file descriptions are independent
/// of each other.
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
    RestoredDevice(Source source, const OutsideTerminals& outside) : source_(source), outside_(outside) {}

    [[nodiscard]] std::optional<TreePid> session() const override {
        const TreePid sid(static_cast<pid_t>(info().sid));
        return sid ? std::optional(sid) : std::nullopt;
    }

    void open(files::FileOpener& opener) override {
        for (const TtyFile& file : all()) {
            if (source_ == Source::Given)
                opener.provide(FileId{file.entry->id}, given(opener));
            else if (source_ == Source::OwnTerminal)
                provideTerminal(opener, file, openOwnTerminal(outside_, file));
            else
                provideTerminal(opener, file,
                                openTerminal(opener, file, static_cast<int>(file.entry->flags) & O_ACCMODE));
        }
    }

    void requireOpenable(const files::Surroundings&) const override {
        if (source_ == Source::OwnTerminal)
            OutsideTerminals::requireShellJobTerminal();
    }

    void complete(files::PlacedFiles& files) override {
        if (source_ == Source::OwnTerminal)
            return;
        // A terminal outside of the tree keeps changes after a failed restore. So changes its settings only here in
        // finish(), after all other steps have succeeded.
        const UniqueFd fd = files.fetch(FileId{all().front().entry->id});
        restoreSettings(fd.get(), info());
        if (info().exclusive != 0)
            kernel::makeExclusive(fd.get());
    }

    void finish(files::RestoredTree& tree) override {
        if (const FileId id{all().front().entry->id}; source_ == Source::OwnTerminal && tree.isHeld(id))
            takeOverOwnTerminal(tree.fetch(id).get(), info());
    }

    void beginSession(files::FileOpener& opener) override {
        tty::beginSession(opener.find(FileId{all().front().entry->id}), opener.log(), info());
    }

    void groupsJoined(files::PlacedFiles& files) override {
        pid_t group = files.numberOf(outside_.groupFor(TreePid(static_cast<pid_t>(info().pgrp))));
        if (group == 0 && source_ == Source::OwnTerminal)
            group = ::getpgrp();  // uses criu's group, because the dumped foreground process isn't restored
        joinForeground(files.fetch(FileId{all().front().entry->id}).get(), group, files.log(), info());
    }

private:
    UniqueFd given(files::FileOpener& opener) const {
        const std::string name = externalName(info().rdev, info().dev);
        const int fd = opener.inherited(name);
        if (fd < 0) {
            Error error(0, fmt::format("the external terminal {} isn't provided", name));
            error.addHint(fmt::format("restore with --inherit-fd fd[N]:{}", name));
            throw error;
        }
        return UniqueFd(sys(::fcntl(fd, F_DUPFD_CLOEXEC, 0), "copy inherited fd {}", fd));
    }

    Source source_;
    const OutsideTerminals& outside_;
};

/// Devtty. /dev/tty leads to the controlling terminal of the process that opens it. So a process of the session must
/// open it.
class RestoredDevTty final : public RestoredLines {
public:
    [[nodiscard]] bool late() const override { return true; }
    [[nodiscard]] std::optional<TreePid> session() const override { return TreePid(static_cast<pid_t>(info().sid)); }
    [[nodiscard]] bool opensOnlyInSession() const override { return true; }

    void open(files::FileOpener& opener) override {
        for (const TtyFile& file : all())
            provideTerminal(opener, file, openTerminal(opener, file, static_cast<int>(file.entry->flags) & O_ACCMODE));
    }
};

/// Devtty of a hung up terminal. A temporary session leader gets a new pseudoterminal as its controlling terminal,
/// opens /dev/tty, and ends.
class HungUpDevTty final : public RestoredLines {
public:
    /// Returns true, because the temporary session leader needs a pid: before all processes exist, it could take a pid
    /// of the tree.
    [[nodiscard]] bool late() const override { return true; }
    [[nodiscard]] std::optional<TreePid> session() const override { return std::nullopt; }

    void open(files::FileOpener& opener) override {
        UniqueFd master(sys(::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), "open /dev/ptmx"));
        kernel::setPtyLocked(master.get(), false);
        const Mapping shared = Mapping::anonymous(pageAlignUp(all().size() * sizeof(int)), MAP_SHARED);
        int* const numbers = shared.as<int>();
        std::fill_n(numbers, all().size(), -ECANCELED);
        // The child shares the descriptor table, so that descriptors which the child opens are also open in this
        // process.
        const auto child =
            static_cast<pid_t>(::syscall(SYS_clone, CLONE_FILES | SIGCHLD, nullptr, nullptr, nullptr, 0));
        if (child < 0)
            failErrno("create a process for a terminal");
        if (child == 0)
            openInSession(master.get(), numbers);
        sys(::waitpid(child, nullptr, 0), "wait for a process that opens a terminal");

        std::vector<UniqueFd> opened;
        int failure = 0;
        for (std::size_t i = 0; i < all().size(); ++i)
            if (numbers[i] < 0)
                failure = -numbers[i];
            else
                opened.push_back(opener.toServiceRange(UniqueFd(numbers[i])));
        if (failure != 0)
            failWith(failure, "open the terminal of a new session as /dev/tty");
        for (std::size_t i = 0; i < opened.size(); ++i)
            sys(::fcntl(opened[i].get(), F_SETFL, static_cast<int>(all()[i].entry->flags)), "set flags of a terminal");
        master.reset();
        for (std::size_t i = 0; i < opened.size(); ++i)
            opener.provide(FileId{all()[i].entry->id}, std::move(opened[i]));
    }

private:
    /// Opens /dev/tty in the child, once for each file. Stores the descriptor numbers in `numbers`; after a failure, a
    /// negative errno.
    [[noreturn]] void openInSession(int master, int* numbers) const {
        try {
            sys(::setsid(), "lead a session");
            if (!kernel::controlOwnSession(master))
                failWith(EPERM, "take the terminal");
            for (std::size_t i = 0; i < all().size(); ++i) {
                const int access = static_cast<int>(all()[i].entry->flags) & O_ACCMODE;
                numbers[i] = ::open("/dev/tty", access | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
                if (numbers[i] < 0)
                    numbers[i] = -errno;
            }
        } catch (const Error& error) {
            if (error.code() != 0)
                numbers[0] = -error.code();
        }
        ::_exit(0);
    }
};

}  // namespace

std::shared_ptr<RestoredTerminal> makeRestoredDevice(Source source, const OutsideTerminals& outside) {
    return std::make_shared<RestoredDevice>(source, outside);
}

std::shared_ptr<RestoredTerminal> makeHungUpDevTty() {
    return std::make_shared<HungUpDevTty>();
}

std::shared_ptr<RestoredTerminal> makeRestoredDevTty() {
    return std::make_shared<RestoredDevTty>();
}

}  // namespace criu::tty
