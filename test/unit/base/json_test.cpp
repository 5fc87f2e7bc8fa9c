// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/json.hpp"

#include <signal.h>
#include <catch2/catch.hpp>

#include <stdexcept>

#include "criu/base/error.hpp"
#include "criu/base/refusals.hpp"
#include "criu/base/stop_request.hpp"

using criu::Error;
using criu::ErrorContext;
using criu::JsonWriter;
using criu::Refusals;
using criu::StopRequest;

TEST_CASE("a JSON document has objects, lists and all kinds of values") {
    JsonWriter out;
    out.beginObject().add("text", "a \"b\" \\ \n").add("yes", true).add("count", std::uint64_t{18446744073709551615U});
    out.beginList("empty").end();
    out.beginList("list").add("", std::int64_t{-1}).beginObject().addOrNull("none", "").end().end().end();
    CHECK(out.take() == R"({
  "text": "a \"b\" \\ \\x0a",
  "yes": true,
  "count": 18446744073709551615,
  "empty": [],
  "list": [
    -1,
    {
      "none": null
    }
  ]
}
)");
}

TEST_CASE("refusals pass errors on, or collect each of them once with its contexts and its remedy") {
    Refusals refusals;
    CHECK(refusals.attempt([] {}));
    CHECK_THROWS_AS(refusals.attempt([] { criu::fail("no"); }), Error);

    StopRequest stop;
    refusals.collect(stop);
    const ErrorContext context([] { return "process 7"; });
    for (int i = 0; i < 2; ++i)
        CHECK_FALSE(refusals.attempt([] {
            Error error(ENOENT, "open x");
            error.addHint("put it back");
            throw error;
        }));
    CHECK_FALSE(refusals.attempt([] { throw std::runtime_error("other"); }));
    REQUIRE(refusals.all().size() == 2);
    CHECK(refusals.all()[0].reason == "process 7: open x: No such file or directory");
    CHECK(refusals.all()[0].remedy == "put it back");
    CHECK(refusals.all()[1].reason == "other");
    CHECK(refusals.all()[1].remedy.empty());
}

TEST_CASE("a stop request ends a dry run at the next failed check") {
    StopRequest stop;
    Refusals refusals;
    refusals.collect(stop);
    ::raise(SIGTERM);
    CHECK_THROWS_AS(refusals.attempt([&] { stop.throwIfRequested(); }), Error);
    CHECK(refusals.all().empty());
}
