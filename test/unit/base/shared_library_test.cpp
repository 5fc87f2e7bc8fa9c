// SPDX-License-Identifier: GPL-2.0-only
#include <catch2/catch.hpp>

#include "criu/base/shared_library.hpp"
#include "image_fixture.hpp"

using Catch::Contains;
using criu::SharedLibrary;
using criu::test::errorOf;

TEST_CASE("a library is loaded when it is needed, and its functions have types") {
    const SharedLibrary library("libm.so.6");
    double (*const cosine)(double) = library["cos"];
    CHECK(cosine(0) == 1);
    void* const missing = library.find("no_such_function");
    CHECK(missing == nullptr);
    CHECK(SharedLibrary::isInstalled("libm.so.6"));
}

TEST_CASE("a library that can't be used is named, with its package") {
    CHECK_FALSE(SharedLibrary::isInstalled("libnosuch.so.1"));
    const std::string absent = errorOf([] { const SharedLibrary library("libnosuch.so.1", "libnosuch1"); });
    CHECK_THAT(absent, Contains("libnosuch.so.1") && Contains("install the package libnosuch1"));
    const SharedLibrary library("libm.so.6");
    CHECK_THAT(errorOf([&] { (void)library["no_such_function"]; }), Contains("libm.so.6 lacks no_such_function"));
}
