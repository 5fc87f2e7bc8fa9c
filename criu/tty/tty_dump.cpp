// SPDX-License-Identifier: GPL-2.0-only
#include "criu/tty/tty_dump.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <map>
#include <set>

#include "criu/base/error.hpp"
#include "criu/base/loss.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/device_number.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/model/id_map.hpp"
#include "criu/model/options.hpp"
#include "criu/model/tree_pids.hpp"
#include "criu/pie/injection_record.hpp"
#include "images/fdinfo.hpp"

namespace criu::tty {
namespace {

/// Returns the devpts file system of a master's slave; 0 if criu doesn't find it. Like the kernel, searches at the path
/// of the master, and in the directory "pts" beside this path.
dev_t devptsOf(const files::OpenFd& master) {
    struct statfs fs {};
    sys(::fstatfs(master.copy.get(), &fs), "find out the file system of {}", master.describe());
    if (fs.f_type == DEVPTS_SUPER_MAGIC)
        return master.stat.st_dev;
    const std::string root = fmt::format("/proc/{}/root", master.actor);
    const std::string beside = root + master.link.substr(0, master.link.rfind('/')) + "/pts";
    for (const std::string& path : {beside, root + "/dev/pts"}) {
        struct stat folder {};
        if (::statfs(path.c_str(), &fs) == 0 && fs.f_type == DEVPTS_SUPER_MAGIC && ::stat(path.c_str(), &folder) == 0)
            return folder.st_dev;
    }
    return 0;
}

bool isExternal(const std::string& name, const model::Options& options) {
    return std::any_of(options.externals.begin(), options.externals.end(), [&](const model::External& external) {
        return external.type == model::ExternalType::Tty && fmt::format("tty[{}]", external.id) == name;
    });
}

/// Returns true if the slave was open, and all its descriptors are now closed.
bool slaveWasClosed(int master) {
    pollfd state{master, 0, 0};
    sys(::poll(&state, 1, 0), "look at a pseudoterminal");
    return (state.revents & POLLHUP) != 0;
}

}  // namespace

bool TtyDump::Terminal::sameAs(const Terminal& other) const noexcept {
    if (role != other.role || hungUp != other.hungUp || external != other.external)
        return false;
    if (external)
        return device == other.device && fileSystem == other.fileSystem;
    if (isPty())
        return instance == other.instance && number == other.number;
    return real == other.real;
}

bool TtyDump::Terminal::pairsWith(const Terminal& other) const noexcept {
    return isPty() && other.isPty() && role != other.role && !hungUp && !other.hungUp && !external && !other.external &&
           instance == other.instance && number == other.number;
}

TtyDump::Terminal& TtyDump::find(Terminal seen) {
    for (const auto& known : terminals_)
        if (known->sameAs(seen))
            return *known;
    return *terminals_.emplace_back(std::make_unique<Terminal>(std::move(seen)));
}

void TtyDump::add(const files::OpenFd& file, Role role, FileEntry& entry, files::FileDump& dump) {
    Terminal seen;
    seen.role = role;
    seen.device = file.stat.st_rdev;
    seen.fileSystem = file.stat.st_dev;
    const int fd = file.copy.get();
    seen.hungUp = !kernel::readLineSettings(fd);
    const std::string name = externalName(seen.device, seen.fileSystem);
    seen.external = isExternal(name, dump.options());
    if (seen.hungUp && role != Role::PtySlave && role != Role::Own) {
        Error error(0, fmt::format("{} was hung up", file.describe()));
        error.addHint("have the program close it: nothing but an end of file comes from it any more");
        throw error;
    }
    if (!seen.hungUp)
        seen.real = kernel::terminalDevice(fd);
    if (role == Role::PtyMaster) {
        seen.number = kernel::ptyNumber(fd);
        seen.instance = devptsOf(file);
    } else if (role == Role::PtySlave) {
        seen.number = minor(seen.device);
        seen.instance = seen.fileSystem;
    }

    Terminal& terminal = find(std::move(seen));
    if (terminal.info == nullptr) {
        look(terminal, file, dump.ids(), dump.arena());
        if (!terminal.hungUp && kernel::hasUnusualModes(file.copy.get()))
            dump.log().loss(Loss::Terminals,
                            "{}: the keyboard mode and the graphics mode of the virtual terminal aren't kept",
                            file.describe());
    }
    auto& out = *dump.arena().make<TtyFileEntry>();
    entry.tty = &out;
    out.id = entry.id;
    out.flags = file.statusFlags();
    out.fown = dump.owner(file);
    terminal.files.push_back(&out);
    if (!terminal.external) {
        out.has_regf_id = 1;
        out.regf_id = dump.addPath(file, out.flags, nullptr).value;
    }
}

void TtyDump::look(Terminal& terminal, const files::OpenFd& file, const model::IdMap& ids, Arena& arena) {
    const int fd = file.copy.get();
    terminal.who = file.describe();
    terminal.fd.reset(sys(::fcntl(fd, F_DUPFD_CLOEXEC, 0), "copy {}", terminal.who));
    TtyInfoEntry& info = *arena.make<TtyInfoEntry>();
    terminal.info = &info;
    info.type = terminal.external ? TTY_TYPE__EXT_TTY : typeOf(terminal.role);
    info.rdev = static_cast<std::uint32_t>(terminal.device);
    info.has_dev = 1;
    info.dev = static_cast<std::uint32_t>(terminal.fileSystem);
    info.has_uid = info.has_gid = 1;
    info.uid = ids.innerUid(file.stat.st_uid);
    info.gid = ids.innerGid(file.stat.st_gid);
    if (info.type == TTY_TYPE__PTY) {
        info.pty = arena.make<TtyPtyEntry>();
        info.pty->index = terminal.number;
    }
    if (terminal.hungUp)
        return;
    info.exclusive = kernel::isExclusive(fd);
    if (terminal.role == Role::PtyMaster) {
        info.locked = kernel::isPtyLocked(fd);
        info.packet_mode = kernel::inPacketMode(fd);
    }
    info.termios = storeSettings(*kernel::readLineSettings(fd), arena);
    info.termios_locked = storeSettings(kernel::readLockedSettings(fd), arena);
    info.winsize = storeWindow(kernel::readWindowSize(fd), arena);
}

const TtyDump::Terminal* TtyDump::masterOf(const Terminal& slave) const {
    for (const auto& terminal : terminals_)
        if (terminal->role == Role::PtyMaster && terminal->pairsWith(slave))
            return terminal.get();
    return nullptr;
}

const TtyDump::Terminal* TtyDump::slaveOf(const Terminal& master) const {
    for (const auto& terminal : terminals_)
        if (terminal->role == Role::PtySlave && terminal->pairsWith(master))
            return terminal.get();
    return nullptr;
}

void TtyDump::findSession(Terminal& terminal, const model::TreePids& pids) const {
    if (terminal.hungUp)
        return;
    TtyInfoEntry& info = *terminal.info;
    const Terminal* const master = terminal.role == Role::PtyMaster ? &terminal : masterOf(terminal);
    // The query uses the master, because the kernel reports session and foreground group only there.
    if (master != nullptr) {
        const HostPid session(kernel::sessionOfPty(master->fd.get()).value_or(0));
        const HostPid foreground(kernel::foregroundOfPty(master->fd.get()).value_or(0));
        info.sid = static_cast<std::uint32_t>(pids.inside(session).value);
        info.pgrp = static_cast<std::uint32_t>(pids.inside(foreground).value);
        return;
    }
    const auto found = std::find_if(sessions_.begin(), sessions_.end(), [&](const SeenSession& session) {
        return session.terminal != 0 && session.terminal == terminal.real;
    });
    if (found == sessions_.end())
        return;
    info.sid = static_cast<std::uint32_t>(found->sid.value);
    info.pgrp = static_cast<std::uint32_t>(std::max(found->foreground.value, 0));
}

/// Throws Error if an outside process has a terminal open, unless an option says how to restore the terminal.
void TtyDump::checkOwners(files::FileDump& dump) const {
    const model::Options& options = dump.options();
    const auto inTree = [&](std::uint32_t sid) {
        return std::any_of(sessions_.begin(), sessions_.end(), [&](const SeenSession& session) {
            return session.sid == TreePid(static_cast<pid_t>(sid)) && session.leaderDumped;
        });
    };
    const Terminal* outside = nullptr;
    for (const auto& terminal : terminals_) {
        if (terminal->hungUp || terminal->external)
            continue;
        const bool lone = terminal->role == Role::PtySlave && masterOf(*terminal) == nullptr;
        if (lone && !options.shellJob && !options.orphanPtsMaster) {
            Error error(
                0, fmt::format("{} is a terminal whose other side isn't held by a process of the tree", terminal->who));
            error.addHint(fmt::format(
                "--shell-job, if it is the terminal the tree was started from; --external {}, if another will be "
                "given on restore",
                externalName(terminal->device, terminal->fileSystem)));
            throw error;
        }
        if (lone && outside != nullptr && !options.orphanPtsMaster)
            fail(
                "{} and {} are different terminals, which processes outside of the tree hold; only one can be "
                "replaced by that of the restoring criu",
                outside->who, terminal->who);
        if (lone)
            outside = terminal.get();
        if (terminal->info->sid != 0 && !inTree(terminal->info->sid) && !options.shellJob) {
            Error error(0, fmt::format("{} is the terminal of session {}, whose leader isn't in the tree",
                                       terminal->who, terminal->info->sid));
            error.addHint("dump the session's leader, too, or dump with --shell-job");
            throw error;
        }
    }
}

/// Returns the id that CRIU 4.2 gives to the first terminal of this type. For a pseudoterminal, returns the id of the
/// slave.
std::uint32_t TtyDump::usualId(const Terminal& terminal) {
    if (terminal.external)
        return kExternalIds;
    switch (terminal.role) {
        case Role::PtyMaster:
        case Role::PtySlave:
            return terminal.number < kPtyIds / 2 ? terminal.number * 2 : kOtherIds;
        case Role::Own:
            return kOwnId;
        case Role::Console:
            return kConsoleId;
        case Role::Virtual:
            return kVirtualId;
        case Role::Serial:
            break;
    }
    return kSerialId;
}

void TtyDump::assignIds() {
    std::set<std::uint32_t> used;
    const auto claim = [&used](std::uint32_t id) {
        if (used.contains(id))
            for (id = kOtherIds; used.contains(id);)
                id += 2;
        used.insert(id);
        return id;
    };
    // Assigns ids to live terminals first, because a hung up terminal may have the same number as a live one.
    std::vector<Terminal*> order;
    for (const auto& terminal : terminals_)
        order.push_back(terminal.get());
    std::stable_partition(order.begin(), order.end(), [](const Terminal* terminal) { return !terminal->hungUp; });
    std::map<const Terminal*, std::uint32_t> pairs;
    for (Terminal* const terminal : order) {
        const auto partner = std::find_if(pairs.begin(), pairs.end(),
                                          [&](const auto& known) { return known.first->pairsWith(*terminal); });
        const std::uint32_t pair = partner != pairs.end() ? partner->second : claim(usualId(*terminal));
        pairs.emplace(terminal, pair);
        terminal->info->id = pair + (terminal->role == Role::PtyMaster && !terminal->external ? 1 : 0);
        for (TtyFileEntry* const file : terminal->files)
            file->tty_info_id = terminal->info->id;
    }
}

void TtyDump::take(const Terminal& master, files::FileDump& dump) {
    const int fd = master.fd.get();
    const bool closed = slaveWasClosed(fd);
    const Terminal* const slave = slaveOf(master);
    if (slave == nullptr && !closed)
        return;  // no process, or only outside processes, have opened the slave
    if ((sys(::fcntl(fd, F_GETFL), "read the flags of {}", master.who) & O_ACCMODE) != O_RDWR) {
        dump.log().loss(Loss::Terminals, "{} can't be read and written: what waits in it is lost on restore",
                        master.who);
        return;
    }
    master.info->has_slave_closed = closed ? 1 : 0;
    master.info->slave_closed = closed ? 1 : 0;

    Taken inside;
    inside.outputId = master.info->id;
    inside.inputId = master.info->id - 1;
    if (takeInside(master, dump, inside)) {
        taken_.push_back(std::move(inside));
        return;
    }
    const UniqueFd slaveFd = openPrivateSlave(fd);
    const auto settings = kernel::readLineSettings(slaveFd.get());
    if (!settings)
        fail("it was hung up while it was dumped");
    // Adds the terminal to the list before the read, so that putBack() writes all bytes even after a failure.
    Taken& taken = taken_.emplace_back();
    taken.master = fd;
    taken.who = master.who;
    taken.outputId = master.info->id;
    taken.inputId = master.info->id - 1;
    taken.settings = *settings;
    taken.packets = master.info->packet_mode != 0;
    if (const auto recorded = dump.log().journal().isOpen() ? recordedMaster(master, dump) : std::nullopt)
        recordTerminal(*recorded, taken.packets, *settings, kernel::readLockedSettings(fd), dump.log().journal());
    if (taken.packets)
        kernel::setPacketMode(fd, false);
    takeOutput(fd, taken.output);
    // Also dumps the input of a closed slave, because a process may open the slave again and read this input.
    takeInput(slaveFd.get(), taken.input);
    // Writes the bytes again at once: if criu were killed later, they would be lost.
    putBack(taken, dump.log());
}

/// Returns a descriptor of the master in the tree; nothing if only messages in flight contain it.
std::optional<RecordedMaster> TtyDump::recordedMaster(const Terminal& master, const files::FileDump& dump) {
    for (const TtyFileEntry* const file : master.files)
        for (const HostPid pid : dump.users(FileId(file->id)))
            for (const files::SeenFd& seen : dump.descriptorsOf(pid))
                if (seen.id == FileId(file->id)) {
                    kernel::ProcBuffer buffer;
                    return RecordedMaster{pid, kernel::readStat(kernel::ProcDir().open(pid.value), buffer).startTime,
                                          seen.fd, master.number};
                }
    return std::nullopt;
}

/// Lets a process that has the master exchange the bytes. Returns false if no process can.
bool TtyDump::takeInside(const Terminal& master, files::FileDump& dump, Taken& taken) {
    if (kernel::readLockedSettings(master.fd.get()) != kernel::LineSettings{})
        return false;
    for (const TtyFileEntry* const file : master.files) {
        for (const HostPid pid : dump.users(FileId(file->id))) {
            compel::FrozenProcess* const process = dump.callable(pid);
            if (process == nullptr)
                continue;
            // The kernel lets no background process read or set up its controlling terminal (tty_check_change()).
            kernel::ProcBuffer buffer;
            const kernel::TaskStat stat = kernel::readStat(kernel::ProcDir().open(pid.value), buffer);
            if (kernel::decodeDevice(static_cast<std::uint32_t>(stat.ttyNumber)) == master.real)
                continue;
            const std::span<const files::SeenFd> all = dump.descriptorsOf(pid);
            const auto seen = std::find_if(all.begin(), all.end(),
                                           [&](const files::SeenFd& each) { return each.id == FileId(file->id); });
            if (seen == all.end())
                continue;
            const auto record = [&](std::size_t room) {
                pie::recordInjection(pie::InjectedBlob::PtyExchange, pid, stat.startTime, room, dump.log().journal());
            };
            if (auto found = exchangeInside(*process, seen->fd, record)) {
                taken.isBack = true;
                taken.output = std::move(found->output);
                taken.input = std::move(found->input);
                if (found->lost != 0)
                    dump.log().warn("{}: {} bytes that waited in it were lost", master.who, found->lost);
                return true;
            }
        }
    }
    return false;
}

void TtyDump::finish(files::FileDump& dump) {
    if (terminals_.empty())
        return;
    for (const auto& terminal : terminals_)
        findSession(*terminal, dump.pids());
    checkOwners(dump);
    assignIds();
    for (const auto& terminal : terminals_)
        if (terminal->role == Role::PtyMaster && !terminal->external) {
            const ErrorContext context([&] { return terminal->who; });
            take(*terminal, dump);
        }
    writeImages(dump);
}

void TtyDump::writeImages(files::FileDump& dump) {
    ImageWriter infos = dump.images().create(ImageKind::TtyInfo);
    for (const auto& terminal : terminals_)
        infos.write(*terminal->info);
    infos.finish();

    std::optional<ImageWriter> image;
    const auto write = [&](std::uint32_t id, const Queued& queued) {
        if (queued.empty())
            return;
        TtyDataEntry& entry = *dump.arena().make<TtyDataEntry>();
        entry.tty_id = id;
        entry.data = dump.arena().bytes(queued.bytes);
        entry.n_ends_of_file = queued.endsOfFile.size();
        entry.ends_of_file = dump.arena().copy(std::span<const std::uint32_t>(queued.endsOfFile));
        if (!image)
            image.emplace(dump.images().create(ImageKind::TtyData));
        image->write(entry);
    };
    for (const Taken& taken : taken_) {
        write(taken.outputId, taken.output);
        write(taken.inputId, taken.input);
    }
    if (image)
        image->finish();
}

void TtyDump::putBack(Taken& taken, Log& log) noexcept {
    if (std::exchange(taken.isBack, true))
        return;
    try {
        const UniqueFd slave = openPrivateSlave(taken.master);
        if (const std::size_t lost = putQueues(taken.master, slave.get(), taken.output, taken.input, taken.settings);
            lost != 0)
            log.warn("{}: {} bytes that waited in it were lost", taken.who, lost);
    } catch (const std::exception& error) {
        log.warn("{}: what waited in it was lost: {}", taken.who, error.what());
    }
    try {
        if (taken.packets)
            kernel::setPacketMode(taken.master, true);
    } catch (const std::exception& error) {
        log.warn("{}: it is no longer in packet mode: {}", taken.who, error.what());
    }
    recordTerminalEnd(log.journal());
}

void TtyDump::putBack(Log& log) noexcept {
    for (Taken& taken : taken_)
        putBack(taken, log);
    taken_.clear();
    // Closes criu's copies. After the resume, only descriptors of the tasks must keep the terminals open.
    terminals_.clear();
}

}  // namespace criu::tty
