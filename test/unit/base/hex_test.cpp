// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/hex.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <string>
#include <vector>

using criu::parseHex;
using criu::toHex;

TEST_CASE("every byte becomes two hexadecimal digits and back") {
    std::string all;
    for (unsigned value = 0; value < 256; ++value)
        all += static_cast<char>(value);
    const std::string text = toHex(all);
    CHECK(text.size() == 512);
    CHECK(text.substr(0, 6) == "000102");
    CHECK(text.substr(2 * 0x9a, 4) == "9a9b");
    CHECK(text.substr(510) == "ff");
    const auto bytes = parseHex(text);
    REQUIRE(bytes);
    CHECK(toHex(*bytes) == text);
    CHECK(std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) == all);
}

TEST_CASE("hexadecimal digits have both cases") {
    const std::vector expected{std::byte{0xab}, std::byte{0xcd}, std::byte{0xef}};
    CHECK(parseHex("abcdef") == expected);
    CHECK(parseHex("ABCDEF") == expected);
    CHECK(parseHex("aBCdeF") == expected);
}

TEST_CASE("no bytes are an empty text") {
    CHECK(toHex("").empty());
    REQUIRE(parseHex(""));
    CHECK(parseHex("")->empty());
}

TEST_CASE("other texts than pairs of hexadecimal digits are refused") {
    const char* const text =
        GENERATE("0", "123", "0g", "g0", "G0", "0G", "0/", "0:", "0@", "0`", " 1", "1 ", "+1", "-1", "0x12");
    CAPTURE(text);
    CHECK_FALSE(parseHex(text));
}

TEST_CASE("hexadecimal digits fill a buffer exactly") {
    std::array<std::byte, 2> bytes{};
    CHECK(parseHex("10fe", bytes));
    CHECK(bytes == std::array{std::byte{0x10}, std::byte{0xfe}});
    CHECK_FALSE(parseHex("10f", bytes));
    CHECK_FALSE(parseHex("10", bytes));
    CHECK_FALSE(parseHex("10fe5a", bytes));
    CHECK_FALSE(parseHex("10fx", bytes));
}
