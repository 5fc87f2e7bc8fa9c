// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/unique_fd.hpp"

namespace criu {

/// Fields of one line of a journal. The first field is the kind of the line.
using JournalLine = std::vector<std::string>;

/// Returns the complete lines of a journal. Omits a last line without end: criu was killed while it wrote the line.
[[nodiscard]] std::vector<JournalLine> parseJournal(std::string_view text);

/// Reads a decimal number of a journal. Throws Error.
[[nodiscard]] std::uint64_t numberOf(const std::string& field);

/// Journal of the changes that criu makes outside of itself, so that another criu can revert them after this one was
/// killed. Forked processes share the journal. Any thread may call record().
class Journal {
public:
    /// Begins a journal. `file`: empty file, open with O_APPEND. `directory`: directory of the file, with a lock
    /// (flock(2)) that lasts until all processes that share the journal have ended.
    void open(UniqueFd file, UniqueFd directory) noexcept;
    /// Adds a line by one write(2). Ignores failures, because a dump needs no journal.
    void record(std::initializer_list<std::string_view> fields) noexcept;
    void record(const JournalLine& fields) noexcept;

    /// Replaces both descriptors of an open journal by the results of `mover`, which gets each of them.
    void move(const std::function<UniqueFd(UniqueFd)>& mover);

    [[nodiscard]] bool isOpen() const noexcept { return static_cast<bool>(file_); }
    [[nodiscard]] int file() const noexcept { return file_.get(); }
    [[nodiscard]] int directory() const noexcept { return directory_.get(); }
    /// Ends the journal in this process.
    void close() noexcept;

private:
    template <typename Fields>
    void write(const Fields& fields) noexcept;

    UniqueFd file_;
    UniqueFd directory_;
};

}  // namespace criu
