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

/// Records of tty-info.img and tty-data.img.
class TtyImages {
public:
    void load(const ImageDir& images);

    /// Throws Error if the images have no such record.
    [[nodiscard]] const TtyInfoEntry& info(std::uint32_t id) const;
    /// Returns the waiting bytes of that end.
    [[nodiscard]] Queued queued(std::uint32_t id) const;

private:
    std::map<std::uint32_t, Record<TtyInfoEntry>> infos_;
    std::map<std::uint32_t, Record<TtyDataEntry>> data_;
};

/// An open file description of a terminal in the images.
struct TtyFile {
    const TtyFileEntry* entry = nullptr;
    const TtyInfoEntry* info = nullptr;
    const RegFileEntry* path = nullptr;  ///< null for external ones
    bool master = false;
};

/// All open file descriptions of one terminal, or of both ends of a pseudoterminal.
class RestoredTerminal : public files::RestoredFile, public files::SessionTerminal {
public:
    [[nodiscard]] files::SessionTerminal* asTerminal() final { return this; }
    virtual void add(const TtyFile& file) = 0;
    /// Completes the restore in the coordinator, when all processes have their files.
    virtual void finish(files::RestoredTree&) {}
};

/// `lock`: held by the process that allocates pty numbers. `handOver`: a terminal without a master in the images gets a
/// new master, which is handed over.
std::shared_ptr<RestoredTerminal> makeRestoredPty(const TtyImages& images, const ProcessLock& lock,
                                                  const OutsideTerminals& outside, bool handOver);
/// Origin of a terminal that criu can't create.
enum class Source : std::uint8_t {
    Path,         ///< always exists: consoles, virtual terminals, serial lines
    Given,        ///< --inherit-fd
    OwnTerminal,  ///< the terminal criu was started from (--shell-job)
};
std::shared_ptr<RestoredTerminal> makeRestoredDevice(Source source, const OutsideTerminals& outside);
/// Restores /dev/tty, live or hung up.
std::shared_ptr<RestoredTerminal> makeRestoredDevTty();
std::shared_ptr<RestoredTerminal> makeHungUpDevTty();

/// Sets the flags of a descriptor, then calls provide(). Comes last, since opening needs flags such as O_NONBLOCK.
void provideTerminal(files::FileOpener& opener, const TtyFile& file, UniqueFd fd);

/// Opens a terminal's path without waiting for carrier and without making it the controlling terminal. Throws Error.
[[nodiscard]] UniqueFd openTerminal(files::FileOpener& opener, const TtyFile& file, int access);

/// Opens the terminal criu was started from, with the access mode of `file`. For slaves whose master a process outside
/// of the tree had. Throws Error.
[[nodiscard]] UniqueFd openOwnTerminal(const OutsideTerminals& outside, const TtyFile& file);

/// Decides if a terminal gets the window size of the image. A terminal that existed before keeps its own.
enum class Window : std::uint8_t { Set, Keep };
/// Restores line settings, window size and locks. Throws Error.
void restoreSettings(int fd, const TtyInfoEntry& info, Window window = Window::Set);

/// Gives the terminal criu was started from the image's line settings. Sends SIGWINCH to its foreground group if the
/// window size differs. Called as late as possible: after a failed restore the shell would keep these settings. Works
/// also if criu is in the background.
void takeOverOwnTerminal(int fd, const TtyInfoEntry& info);

/// Implement SessionTerminal::beginSession() and groupsJoined() in the session's leader.
void beginSession(int fd, Log& log, const TtyInfoEntry& info);
void joinForeground(int fd, pid_t group, Log& log, const TtyInfoEntry& info);

}  // namespace criu::tty
