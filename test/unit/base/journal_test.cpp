// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/journal.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>

using namespace criu;

TEST_CASE("a journal returns the fields that were recorded", "[journal]") {
    char path[] = "/tmp/journal-XXXXXX";
    UniqueFd file(::mkostemp(path, O_APPEND | O_CLOEXEC));
    REQUIRE(file);
    ::unlink(path);
    Journal journal;
    const int fd = file.get();
    journal.open(std::move(file), UniqueFd());
    journal.record({"link", "a b\n%41", "\xff", ""});
    journal.record({"complete"});
    std::array<char, 200> text{};
    const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
    REQUIRE(size > 0);
    const std::vector<JournalLine> lines = parseJournal({text.data(), static_cast<std::size_t>(size)});
    REQUIRE(lines.size() == 2);
    CHECK(lines[0] == JournalLine{"link", "a b\n%41", "\xff", ""});
    CHECK(lines[1] == JournalLine{"complete"});
}

TEST_CASE("a journal's last line without end is omitted", "[journal]") {
    CHECK(parseJournal("a b\nc").size() == 1);
    CHECK(parseJournal("").empty());
    CHECK(parseJournal("%\n%4\n%zz\n").size() == 3);
}
