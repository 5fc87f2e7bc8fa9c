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

/// Entries of tty-info.img and tty-data.img.
class TtyImages {
public:
    void load(const ImageDir& images);

    /// Returns the entry of a terminal. Throws Error if the images lack it.
    [[nodiscard]] const TtyInfoEntry& info(std::uint32_t id) const;
    /// Returns the waiting bytes of the terminal with this id (one end of a pseudoterminal).
    [[nodiscard]] Queued queued(std::uint32_t id) const;

private:
    std::map<std::uint32_t, Record<TtyInfoEntry>> infos_;
    std::map<std::uint32_t, Record<TtyDataEntry>> data_;
};

/// Open file description of a terminal in the images.
struct TtyFile {
    const TtyFileEntry* entry = nullptr;
    const TtyInfoEntry* info = nullptr;
    const RegFileEntry* path = nullptr;  ///< path of the terminal; nullptr for external terminals
    bool master = false;
};

/// Restore half of one terminal, or of both ends of a pseudoterminal, with all its open file descriptions.
class RestoredTerminal : public files::RestoredFile, public files::SessionTerminal {
public:
    [[nodiscard]] files::SessionTerminal* asTerminal() final { return this; }
    virtual void add(const TtyFile& file) = 0;
    /// Completes the restore in the coordinator when all processes have their files.
    virtual void finish(files::RestoredTree&) {}
};

/// Creates the restore half of a pseudoterminal. `lock`: lock that a process locks while it allocates a pty number.
/// `handOver`: if true, a slave whose master isn't in the images gets a new master, and criu passes this master to the
/// client.
std::shared_ptr<RestoredTerminal> makeRestoredPty(const TtyImages& images, const ProcessLock& lock,
                                                  const OutsideTerminals& outside, bool handOver);
/// Source of a terminal that criu can't create.
enum class Source : std::uint8_t {
    Path,         ///< path that always exists: a console, virtual terminal or serial line
    Given,        ///< descriptor of --inherit-fd
    OwnTerminal,  ///< shell job terminal (--shell-job)
};
std::shared_ptr<RestoredTerminal> makeRestoredDevice(Source source, const OutsideTerminals& outside);
/// Makes the restore half of a devtty.
std::shared_ptr<RestoredTerminal> makeRestoredDevTty();
std::shared_ptr<RestoredTerminal> makeHungUpDevTty();

/// Sets the flags of a descriptor, and then calls provide(). Call it last, because opening a terminal needs flags such
/// as O_NONBLOCK.
void provideTerminal(files::FileOpener& opener, const TtyFile& file, UniqueFd fd);

/// Opens the path of a terminal, without waiting for carrier and without making it the controlling terminal. Throws
/// Error.
[[nodiscard]] UniqueFd openTerminal(files::FileOpener& opener, const TtyFile& file, int access);

/// Opens the shell job terminal with the access mode of `file`. It stands in for slaves whose master belonged to an
/// outside process. Throws Error.
[[nodiscard]] UniqueFd openOwnTerminal(const OutsideTerminals& outside, const TtyFile& file);

/// Window size that a restore gives a terminal: with Set, the size of the image; with Keep, the size that the terminal
/// already has.
enum class Window : std::uint8_t { Set, Keep };
/// Restores line settings, window size and locks. Throws Error.
void restoreSettings(int fd, const TtyInfoEntry& info, Window window = Window::Set);

/// Gives the shell job terminal the line settings of the image. Sends SIGWINCH to its foreground group if the window
/// size differs. Also works if criu is in the background. Call it as late as possible, because the shell's terminal
/// would have these settings even after a failed restore.
void takeOverOwnTerminal(int fd, const TtyInfoEntry& info);

/// Makes the terminal the controlling terminal of the calling session leader (SessionTerminal::beginSession()).
void beginSession(int fd, Log& log, const TtyInfoEntry& info);
void joinForeground(int fd, pid_t group, Log& log, const TtyInfoEntry& info);

}  // namespace criu::tty
