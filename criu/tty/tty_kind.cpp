// SPDX-License-Identifier: GPL-2.0-only
#include "criu/tty/tty_kind.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/file_restore.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/restored_tree.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/model/options.hpp"
#include "criu/tty/tty_dump.hpp"
#include "criu/tty/tty_restore.hpp"
#include "images/fdinfo.hpp"

namespace criu::tty {
namespace {

class TtyKindDump final : public files::FileKindDump {
public:
    explicit TtyKindDump(const std::vector<SeenSession>& sessions) : dumped_(sessions) {}

    [[nodiscard]] bool claims(const files::OpenFd& file) const override {
        return S_ISCHR(file.stat.st_mode) && (file.info.flags & O_PATH) == 0 && roleOf(file.stat.st_rdev).has_value();
    }

    void dump(const files::OpenFd& file, FileEntry& entry, files::FileDump& dump) override {
        dumped_.add(file, *roleOf(file.stat.st_rdev), entry, dump);
    }

    void finish(files::FileDump& dump) override { dumped_.finish(dump); }
    void end(files::FinalTaskState aftermath, Log& log) noexcept override {
        if (aftermath != files::FinalTaskState::End)
            dumped_.putBack(log);
    }

private:
    TtyDump dumped_;
};

class TtyKindRestore final : public files::FileKindRestore {
public:
    explicit TtyKindRestore(const OutsideTerminals& outside) : outside_(outside) {}

    void prepare(files::FileRestore& restore) override { images_.load(restore.images()); }

    std::shared_ptr<files::RestoredFile> collect(const FileEntry& entry, files::FileRestore& restore) override {
        if (entry.tty == nullptr)
            fail("file {} is a terminal without data", entry.id);
        TtyFile file;
        file.entry = entry.tty;
        file.info = &images_.info(entry.tty->tty_info_id);
        check(*file.info);
        const bool given = isGiven(*file.info, restore.options());
        const std::uint32_t pair = file.info->type == TTY_TYPE__PTY && !given ? file.info->id & ~1U : file.info->id;
        file.master = pair != file.info->id;
        if (file.master && file.info->termios == nullptr)
            fail("terminal {:#x} is the master of a pseudoterminal and has no settings", file.info->id);
        if (!given) {
            const FileEntry& path =
                restore.entry(FileId{entry.tty->has_regf_id != 0 ? entry.tty->regf_id : entry.tty->id});
            if (path.reg == nullptr)
                fail("the path of terminal {} (file {}) is not a regular-file entry", entry.id, path.id);
            file.path = path.reg;
        }
        auto& terminal = terminals_[{file.info->type, pair}];
        if (!terminal)
            terminal = make(*file.info, given, restore);
        terminal->add(file);
        return terminal;
    }

    void finish(files::RestoredTree& tree) override {
        for (const auto& [id, terminal] : terminals_)
            terminal->finish(tree);
    }

private:
    static void check(const TtyInfoEntry& info) {
        if (info.type == TTY_TYPE__PTY && info.pty == nullptr)
            fail("terminal {:#x} is a pseudoterminal without a number", info.id);
        const auto role = roleOf(info.rdev);
        if (info.termios == nullptr && role != Role::PtySlave &&
            role != Role::Own)  // slaves and /dev/tty may be hung up
            fail("terminal {:#x} has no settings", info.id);
    }

    static bool isGiven(const TtyInfoEntry& info, const model::Options& options) {
        const std::string name = externalName(info.rdev, info.dev);
        return info.type == TTY_TYPE__EXT_TTY ||
               std::any_of(options.inheritFds.begin(), options.inheritFds.end(),
                           [&](const model::InheritFd& inherit) { return inherit.name == name; });
    }

    std::shared_ptr<RestoredTerminal> make(const TtyInfoEntry& info, bool given, files::FileRestore& restore) {
        if (given)
            return makeRestoredDevice(Source::Given, outside_);
        if (info.type == TTY_TYPE__PTY)
            return makeRestoredPty(images_, lock_, outside_, restore.options().orphanPtsMaster);
        if (info.type == TTY_TYPE__CTTY)
            return info.termios == nullptr ? makeHungUpDevTty() : makeRestoredDevTty();
        // In a shell job whose session leader is outside of the tree, the terminal becomes the shell job terminal.
        const bool job =
            restore.options().shellJob && info.sid != 0 && !restore.hasProcess(TreePid(static_cast<pid_t>(info.sid)));
        return makeRestoredDevice(job ? Source::OwnTerminal : Source::Path, outside_);
    }

    const OutsideTerminals& outside_;
    TtyImages images_;
    ProcessLock lock_;
    std::map<std::pair<TtyType, std::uint32_t>, std::shared_ptr<RestoredTerminal>> terminals_;
};

}  // namespace

std::unique_ptr<files::FileKindDump> makeTtyDump(const std::vector<SeenSession>& sessions) {
    return std::make_unique<TtyKindDump>(sessions);
}

std::unique_ptr<files::FileKindRestore> makeTtyRestore(const OutsideTerminals& outside) {
    return std::make_unique<TtyKindRestore>(outside);
}

}  // namespace criu::tty
