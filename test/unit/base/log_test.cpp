// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/log.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "criu/base/error.hpp"
#include "criu/base/loss.hpp"
#include "image_fixture.hpp"

using criu::Log;
using criu::LogLevel;
using criu::Loss;

namespace {

/// Returns the content of the log after `text` was written to it as an error.
std::string logged(const std::string& text, Log& log) {
    const criu::test::TemporaryDir place;
    const std::string path = place.path() + "/log";
    log.open(path);
    log.line(LogLevel::Error, nullptr, text);
    return criu::test::contentOf(path);
}

std::string logged(const std::string& text) {
    Log log;
    return logged(text, log);
}

}  // namespace

TEST_CASE("a name with control bytes makes neither lines nor escape sequences of a terminal", "[log]") {
    CHECK(logged("file /tmp/a\n(00.1) Error: forged") == "Error: file /tmp/a\\x0a(00.1) Error: forged\n");
    CHECK(logged("\x1b[2Jx\r\t\x7f") == "Error: \\x1b[2Jx\\x0d\\x09\\x7f\n");
    CHECK(logged(std::string("nul\0byte", 8)) == "Error: nul\\x00byte\n");
    // As one byte, and as a character of UTF-8, 0x9b also begins an escape sequence.
    CHECK(logged("a\x9b"
                 "31mb") == "Error: a\\x9b31mb\n");
    CHECK(logged("a\xc2\x9b"
                 "31mb") == "Error: a\\xc2\\x9b31mb\n");
}

TEST_CASE("text in UTF-8 stays as it is, and what isn't is shown byte by byte", "[log]") {
    CHECK(logged("Gr\xc3\xbc\xc3\x9f"
                 "e \xe2\x82\xac \xf0\x9f\x90\xa7") ==
          "Error: Gr\xc3\xbc\xc3\x9f"
          "e \xe2\x82\xac \xf0\x9f\x90\xa7\n");
    CHECK(logged("\xff\xc3") == "Error: \\xff\\xc3\n");
    CHECK(logged("\xe0\x80\x9b") == "Error: \\xe0\\x80\\x9b\n");           // an overlong form of 0x1b
    CHECK(logged("\xed\xa0\x80") == "Error: \\xed\\xa0\\x80\n");           // half of a surrogate pair
    CHECK(logged("\xf4\x90\x80\x80") == "Error: \\xf4\\x90\\x80\\x80\n");  // beyond the last character
}

TEST_CASE("what a client is told of the first error is one line, too", "[log]") {
    Log log;
    (void)logged("bad\n\x1b[31mname", log);
    CHECK(log.cause().text == "bad\\x0a\\x1b[31mname");
}

TEST_CASE("the number of warnings and the kinds of losses are known, also those of another process", "[log]") {
    const criu::test::TemporaryDir place;
    Log log;
    log.open(place.path() + "/log");
    CHECK(log.warnings().count == 0);
    log.warn("one");
    log.info("not one");
    log.loss(Loss::Keys, "keys");
    log.noteWarnings({3, std::uint64_t{1} << static_cast<unsigned>(Loss::Mounts)});
    CHECK(log.warnings().count == 5);
    CHECK(log.warnings().losses == (std::uint64_t{1} << static_cast<unsigned>(Loss::Keys) |
                                    std::uint64_t{1} << static_cast<unsigned>(Loss::Mounts)));
    log.setLevel(LogLevel::Error);
    log.warn("not written");
    CHECK(log.warnings().count == 5);
}

TEST_CASE("a loss is a warning with its kind, or an error with its remedies", "[log]") {
    const criu::test::TemporaryDir place;
    Log log;
    log.open(place.path() + "/log");
    const auto lose = [&log] { log.loss(Loss::Keys, "keys of {}", 7); };
    lose();
    CHECK(criu::test::contentOf(place.path() + "/log").ends_with("keys of 7 (loss: keys)\n"));
    criu::LossSet refused;
    log.refuseLosses(refused.set().reset(static_cast<std::size_t>(Loss::Keys)));
    CHECK_NOTHROW(lose());
    log.refuseLosses(refused.set());
    CHECK_THROWS_WITH(lose(), "keys of 7 (allow this loss with --allow-loss=keys, or dump without --no-loss)");
}

TEST_CASE("a dry run keeps each loss once, and refuses none", "[log]") {
    Log log;
    log.keepWarnings();
    log.refuseLosses(criu::LossSet().set(static_cast<std::size_t>(Loss::Keys)));
    for (const int thread : {7, 7, 8})
        log.loss(Loss::Keys, "keys of {}", thread);
    log.loss(Loss::Datagrams, "a datagram\n");
    const auto losses = log.keptLosses();
    REQUIRE(losses.size() == 3);
    CHECK((losses[0].text == "keys of 7" && losses[0].kind == Loss::Keys && losses[0].refused));
    CHECK((losses[1].text == "keys of 8" && losses[1].refused));
    CHECK((losses[2].text == "a datagram\\x0a" && losses[2].kind == Loss::Datagrams && !losses[2].refused));
    CHECK(log.keptWarnings().empty());
}
