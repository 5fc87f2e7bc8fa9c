// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <memory>

#include "criu/base/process_lock.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/files/restored_tree.hpp"
#include "criu/files/session_terminal.hpp"
#include "criu/image/record.hpp"
#include "criu/tty/outside_terminals.hpp"
#include "criu/tty/pty_queue.hpp"
#include "criu/tty/tty_entry.hpp"
#include "images/regfile.hpp"

namespace criu::tty {

/// What the images say of terminals beside the descriptions.
class TtyImages {
public:
    void load(const ImageDir& images);

    /// Throws Error if there is no such record.
    [[nodiscard]] const TtyInfoEntry& info(std::uint32_t id) const;
    /// What waited to be read at that end; empty if nothing did.
    [[nodiscard]] Queued queued(std::uint32_t id) const;

private:
    std::map<std::uint32_t, Record<TtyInfoEntry>> infos_;
    std::map<std::uint32_t, Record<TtyDataEntry>> data_;
};

/// An open terminal of the images.
struct TtyFile {
    const TtyFileEntry* entry = nullptr;
    const TtyInfoEntry* info = nullptr;
    const RegFileEntry* path = nullptr;  ///< null for external ones
    bool master = false;
};

/// All descriptions of one terminal; of a pseudoterminal those of both ends.
class RestoredTerminal : public files::RestoredFile, public files::SessionTerminal {
public:
    [[nodiscard]] files::SessionTerminal* asTerminal() final { return this; }
    virtual void add(const TtyFile& file) = 0;
    /// In the process that directs the restore, when all is in place.
    virtual void finish(files::RestoredTree&) {}
};

/// `lock`: one process at a time takes numbers of ptys. `handOver`: for one without a master in the images a new master
/// is made and handed over.
std::shared_ptr<RestoredTerminal> makeRestoredPty(const TtyImages& images, const ProcessLock& lock,
                                                  const OutsideTerminals& outside, bool handOver);
/// Where a terminal comes from that nobody can create.
enum class Source : std::uint8_t {
    Path,         ///< it is always there: consoles, virtual terminals, serial lines
    Given,        ///< --inherit-fd
    OwnTerminal,  ///< the one criu was started from (--shell-job)
};
std::shared_ptr<RestoredTerminal> makeRestoredDevice(Source source, const OutsideTerminals& outside);
/// /dev/tty; and where the terminal behind it was hung up.
std::shared_ptr<RestoredTerminal> makeRestoredDevTty();
std::shared_ptr<RestoredTerminal> makeHungUpDevTty();

/// Gives a description its place: flags, then provide(). A last step, since flags such as O_NONBLOCK serve opening.
void provideTerminal(files::FileOpener& opener, const TtyFile& file, UniqueFd fd);

/// Opens the path of a terminal, without waiting for a line and without making it the controlling one.
[[nodiscard]] UniqueFd openTerminal(files::FileOpener& opener, const TtyFile& file, int access);

/// For a terminal whose other side was held outside of the tree: opens the one criu was started from, with the access
/// that this description had.
[[nodiscard]] UniqueFd openOwnTerminal(const OutsideTerminals& outside, const TtyFile& file);

/// Whether a terminal takes the window size of the image. One that was there before has a window of its own.
enum class Window : std::uint8_t { Set, Keep };
/// Line settings, locks, window size.
void restoreSettings(int fd, const TtyInfoEntry& info, Window window = Window::Set);

/// Gives the terminal that criu was started from the line settings of the image, and sends SIGWINCH to the group in its
/// foreground if the window isn't as large as in the image. As late as possible: after a restore that fails, the shell
/// would be left with these settings. Criu may be in the background by then.
void takeOverOwnTerminal(int fd, const TtyInfoEntry& info);

/// In the leader of its session: what SessionTerminal::beginSession() and groupsJoined() are for.
void beginSession(int fd, Log& log, const TtyInfoEntry& info);
void joinForeground(int fd, pid_t group, Log& log, const TtyInfoEntry& info);

}  // namespace criu::tty
