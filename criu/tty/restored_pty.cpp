// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <functional>

#include "criu/base/error.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/placed_files.hpp"
#include "criu/files/restored_tree.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/model/options.hpp"
#include "criu/tty/tty_restore.hpp"

namespace criu::tty {
namespace {

class RestoredPty final : public RestoredTerminal {
public:
    RestoredPty(const TtyImages& images, const ProcessLock& lock, const OutsideTerminals& outside, bool handOver)
        : images_(images), lock_(lock), outside_(outside), handOver_(handOver) {}

    void add(const TtyFile& file) override {
        if (!file.master)
            slaves_.push_back(file);
        else if (master_.entry != nullptr)
            fail("files {} and {} are the same master of a pseudoterminal", master_.entry->id, file.entry->id);
        else
            master_ = file;
    }

    [[nodiscard]] std::string describe() const override { return fmt::format("pseudoterminal {}", number()); }

    [[nodiscard]] std::optional<TreePid> session() const override {
        const TreePid sid(static_cast<pid_t>(info().sid));
        return sid && !isHungUp() ? std::optional(sid) : std::nullopt;
    }

    void open(files::FileOpener& opener) override {
        if (master_.entry != nullptr)
            openPair(opener);
        else if (isHungUp())
            openHungUp(opener);
        else if (handOver_)
            openOrphan(opener);
        else
            openOutside(opener);
    }

    void requireOpenable(const files::Surroundings& around) const override {
        if (isOutside()) {
            requireShellJob(around.options);
            OutsideTerminals::requireShellJobTerminal();
        } else if (!isHungUp() && around.sharesPaths && isNumberTaken())
            refuseNumber();
    }

    void finish(files::RestoredTree& tree) override {
        if (const FileId id{slaves_.empty() ? 0 : slaves_.front().entry->id}; isOutside() && tree.isHeld(id))
            takeOverOwnTerminal(tree.fetch(id).get(), info());
    }

    void beginSession(files::FileOpener& opener) override {
        for (const FileId id : ids())
            if (const int fd = opener.find(id); fd >= 0) {
                tty::beginSession(fd, opener.log(), info());
                return;
            }
        fail("its session's leader hasn't got it");
    }

    void groupsJoined(files::PlacedFiles& files) override {
        pid_t group = files.numberOf(outside_.groupFor(TreePid(static_cast<pid_t>(info().pgrp))));
        if (group == 0 && isOutside())
            group = ::getpgrp();  // uses criu's group, because the dumped foreground process isn't restored
        joinForeground(files.fetch(ids().front()).get(), group, files.log(), info());
    }

    [[nodiscard]] const FownEntry* owner(FileId id) const override {
        if (master_.entry != nullptr && master_.entry->id == id.value)
            return master_.entry->fown;
        for (const TtyFile& slave : slaves_)
            if (slave.entry->id == id.value)
                return slave.entry->fown;
        return nullptr;
    }

private:
    [[nodiscard]] const TtyInfoEntry& info() const {
        return master_.info != nullptr ? *master_.info : *slaves_.front().info;
    }
    [[nodiscard]] unsigned number() const { return info().pty->index; }
    [[nodiscard]] bool isHungUp() const { return info().termios == nullptr; }
    [[nodiscard]] bool isOutside() const { return master_.entry == nullptr && !isHungUp() && !handOver_; }

    [[nodiscard]] bool isNumberTaken() const {
        return ::access(fmt::format("/dev/pts/{}", number()).c_str(), F_OK) == 0;
    }
    [[noreturn]] void refuseNumber() const {
        Error error(EBUSY, fmt::format("make pseudoterminal {}: the number is taken", number()));
        error.addHint(
            "end the program that uses it (see /dev/pts), or restore in a mount namespace with a devpts of its own");
        throw error;
    }

    [[nodiscard]] std::vector<FileId> ids() const {
        std::vector<FileId> all;
        for (const TtyFile& slave : slaves_)
            all.push_back(FileId{slave.entry->id});
        if (master_.entry != nullptr)
            all.push_back(FileId{master_.entry->id});
        return all;
    }

    /// Opens masters until the kernel assigns number(). Needed because the kernel always assigns the lowest free
    /// number. If `exactly` is false, also accepts a greater number.
    UniqueFd openNumber(files::FileOpener& opener, const std::function<UniqueFd()>& openMaster, bool exactly) const {
        const ProcessLock::Held held(lock_);
        std::vector<UniqueFd> below;
        for (;;) {
            UniqueFd fd = opener.toServiceRange(openMaster());
            const unsigned got = kernel::ptyNumber(fd.get());
            if (got == number() || (got > number() && !exactly))
                return fd;
            if (got > number())
                refuseNumber();
            below.push_back(std::move(fd));
        }
    }

    void openPair(files::FileOpener& opener) {
        const int access = static_cast<int>(master_.entry->flags) & O_ACCMODE;
        UniqueFd master = openNumber(
            opener, [&] { return openTerminal(opener, master_, access); }, true);
        kernel::setPtyLocked(master.get(), false);
        std::vector<UniqueFd> slaves;
        for (const TtyFile& slave : slaves_)
            slaves.push_back(openSlave(opener, slave));
        fill(opener, master.get());
        if (!slaves.empty())
            restoreNode(slaves_.front(), slaves.front().get());
        for (std::size_t i = 0; i < slaves.size(); ++i)
            provideTerminal(opener, slaves_[i], std::move(slaves[i]));
        if (master_.info->exclusive != 0)
            kernel::makeExclusive(master.get());
        kernel::setPtyLocked(master.get(), master_.info->locked != 0);
        provideTerminal(opener, master_, std::move(master));
    }

    /// Restores waiting bytes and settings by a temporary slave descriptor. If no process ever opened the slave, this
    /// function doesn't open it either: afterwards the kernel would report the slave as closed.
    void fill(files::FileOpener& opener, int master) const {
        const bool closed = master_.info->slave_closed != 0;
        const Queued output = images_.queued(master_.info->id);
        const Queued input = images_.queued(master_.info->id - 1);
        if (slaves_.empty() && !closed && output.empty() && input.empty()) {
            restoreLines(master);  // the settings of a master are those of its slave
        } else {
            const UniqueFd slave = opener.toServiceRange(openPrivateSlave(master));
            const std::size_t lost = putQueues(master, slave.get(), output, input, loadSettings(*info().termios));
            if (lost != 0)
                opener.log().warn("{}: {} bytes that waited in it are lost", describe(), lost);
            restoreLines(slave.get());
        }
        if (master_.info->packet_mode != 0)
            kernel::setPacketMode(master, true);
    }

    void restoreLines(int fd) const { restoreSettings(fd, info()); }

    static UniqueFd openSlave(files::FileOpener& opener, const TtyFile& slave) {
        UniqueFd fd = openTerminal(opener, slave, static_cast<int>(slave.entry->flags) & O_ACCMODE);
        struct stat stat {};
        sys(::fstat(fd.get(), &stat), "look at the slave of a pseudoterminal");
        if (roleOf(stat.st_rdev) != Role::PtySlave || minor(stat.st_rdev) != minor(slave.info->rdev))
            fail("the path of file {} leads to another terminal", slave.entry->id);
        return fd;
    }

    /// Restores owner, permissions and exclusive flag of the device node.
    static void restoreNode(const TtyFile& slave, int fd) {
        if (slave.info->has_uid != 0 && slave.info->has_gid != 0)
            sys(::fchown(fd, slave.info->uid, slave.info->gid), "give a terminal to uid {}, gid {}", slave.info->uid,
                slave.info->gid);
        if (slave.path != nullptr && slave.path->has_mode != 0)
            sys(::fchmod(fd, slave.path->mode & 07777), "set the permissions of a terminal");
        if (slave.info->exclusive != 0)
            kernel::makeExclusive(fd);
    }

    /// Restores slaves whose master was closed: opens a new master, and closes it again.
    void openHungUp(files::FileOpener& opener) {
        UniqueFd master = openNumber(
            opener, [] { return UniqueFd(sys(::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), "open /dev/ptmx")); },
            false);
        kernel::setPtyLocked(master.get(), false);
        std::vector<UniqueFd> slaves;
        for (const TtyFile& slave : slaves_) {
            const int flags = static_cast<int>(slave.entry->flags);
            UniqueFd fd(kernel::openSlaveOf(master.get(), (flags & O_ACCMODE) | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
            if (!fd)
                failErrno("open the slave of a pseudoterminal");
            sys(::fcntl(fd.get(), F_SETFL, flags), "set flags {:#o} of a terminal", flags);
            slaves.push_back(opener.toServiceRange(std::move(fd)));
        }
        master.reset();
        for (std::size_t i = 0; i < slaves.size(); ++i)
            opener.provide(FileId{slaves_[i].entry->id}, std::move(slaves[i]));
    }

    /// Restores slaves whose master belonged to an outside process. Creates a new master, which criu passes to the
    /// client.
    void openOrphan(files::FileOpener& opener) {
        const RegFileEntry* const path = slaves_.front().path;
        if (path == nullptr)
            fail("it has no path");
        const std::string slave = path->name;
        const std::string ptmx = slave.substr(0, slave.rfind('/')) + "/ptmx";
        UniqueFd master = openNumber(
            opener, [&] { return UniqueFd(sys(::open(ptmx.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC), "open {}", ptmx)); },
            true);
        kernel::setPtyLocked(master.get(), false);
        std::vector<UniqueFd> slaves;
        for (const TtyFile& file : slaves_)
            slaves.push_back(openSlave(opener, file));
        restoreLines(master.get());
        restoreNode(slaves_.front(), slaves.front().get());
        for (std::size_t i = 0; i < slaves.size(); ++i)
            provideTerminal(opener, slaves_[i], std::move(slaves[i]));
        outside_.handOver(std::move(master));
    }

    void requireShellJob(const model::Options& options) const {
        if (options.shellJob)
            return;
        Error error(0, "its master isn't in the images");
        error.addHint(
            fmt::format("restore with --shell-job to use the terminal criu is started from, or with "
                        "--inherit-fd fd[N]:{}",
                        externalName(info().rdev, info().dev)));
        throw error;
    }

    /// Restores slaves whose master belonged to an outside process. Opens the shell job terminal in their place.
    void openOutside(files::FileOpener& opener) {
        requireShellJob(opener.options());
        for (const TtyFile& slave : slaves_)
            provideTerminal(opener, slave, openOwnTerminal(outside_, slave));
    }

    const TtyImages& images_;
    const ProcessLock& lock_;
    const OutsideTerminals& outside_;
    bool handOver_;
    TtyFile master_;
    std::vector<TtyFile> slaves_;
};

}  // namespace

std::shared_ptr<RestoredTerminal> makeRestoredPty(const TtyImages& images, const ProcessLock& lock,
                                                  const OutsideTerminals& outside, bool handOver) {
    return std::make_shared<RestoredPty>(images, lock, outside, handOver);
}

}  // namespace criu::tty
