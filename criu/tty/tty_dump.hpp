// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "criu/files/file_dump.hpp"
#include "criu/tty/pty_queue.hpp"
#include "criu/tty/seen_session.hpp"
#include "criu/tty/terminal_record.hpp"
#include "criu/tty/tty_entry.hpp"

namespace criu::tty {

/// Dump half of terminals. Each end of a pseudoterminal is a separate terminal, as it is in the images.
class TtyDump {
public:
    /// `sessions`: sessions of all live processes of the tree; may still be incomplete here, but must be complete when
    /// finish() is called.
    explicit TtyDump(const std::vector<SeenSession>& sessions) : sessions_(sessions) {}

    void add(const files::OpenFd& file, Role role, FileEntry& entry, files::FileDump& dump);

    /// Finds the sessions, assigns ids, reads the waiting bytes, and writes the images. Called after the last add().
    /// Throws Error.
    void finish(files::FileDump& dump);

    /// Writes the bytes that finish() has read to the pseudoterminals again.
    void putBack(Log& log) noexcept;

private:
    struct Terminal {
        Role role{};
        dev_t device = 0;      ///< device number of the opened file
        dev_t fileSystem = 0;  ///< file system of the opened file
        dev_t instance = 0;    ///< device number of the devpts file system; 0 for terminals that aren't pseudoterminals
        unsigned number = 0;   ///< number of a pseudoterminal
        dev_t real = 0;        ///< device number of kernel::terminalDevice()
        bool hungUp = false;
        bool external = false;
        std::string who;  ///< description of the first descriptor, for messages
        UniqueFd fd;      ///< copy of the first descriptor
        TtyInfoEntry* info = nullptr;
        std::vector<TtyFileEntry*> files;

        [[nodiscard]] bool isPty() const noexcept { return role == Role::PtyMaster || role == Role::PtySlave; }
        [[nodiscard]] bool sameAs(const Terminal& other) const noexcept;
        [[nodiscard]] bool pairsWith(const Terminal& other) const noexcept;
    };

    /// Pseudoterminal whose waiting bytes criu has read.
    struct Taken {
        int master = -1;
        std::string who;
        std::uint32_t inputId = 0;
        std::uint32_t outputId = 0;
        kernel::LineSettings settings;
        bool packets = false;
        bool isBack = false;  ///< true if putBack() has written the waiting bytes and restored the packet mode
        Queued input;
        Queued output;
    };

    /// Writes the bytes that criu has read from one terminal to this terminal again. Does nothing if this has already
    /// happened. Only logs failures.
    static void putBack(Taken& taken, Log& log) noexcept;
    static std::optional<RecordedMaster> recordedMaster(const Terminal& master, const files::FileDump& dump);
    Terminal& find(Terminal seen);
    static void look(Terminal& terminal, const files::OpenFd& file, const model::IdMap& ids, Arena& arena);
    [[nodiscard]] const Terminal* masterOf(const Terminal& slave) const;
    [[nodiscard]] const Terminal* slaveOf(const Terminal& master) const;
    [[nodiscard]] static std::uint32_t usualId(const Terminal& terminal);
    void findSession(Terminal& terminal, const model::TreePids& pids) const;
    void checkOwners(files::FileDump& dump) const;
    void assignIds();
    void take(const Terminal& master, files::FileDump& dump);
    [[nodiscard]] static bool takeInside(const Terminal& master, files::FileDump& dump, Taken& taken);
    void writeImages(files::FileDump& dump);

    const std::vector<SeenSession>& sessions_;
    std::vector<std::unique_ptr<Terminal>> terminals_;
    std::vector<Taken> taken_;
};

}  // namespace criu::tty
