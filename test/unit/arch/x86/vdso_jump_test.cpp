// SPDX-License-Identifier: GPL-2.0-only
#include <catch2/catch.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "criu/memory/vdso/vdso_proxy.hpp"

using namespace criu::memory;

namespace {

/// Reads an operand of an instruction, which may be unaligned.
std::uint32_t operandAt(const std::vector<std::byte>& bytes, std::size_t offset) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

}  // namespace

TEST_CASE("a jump of 32-bit code leads as far as it says, around the end of memory, too") {
    std::vector<std::byte> small(4, std::byte{0x90});
    CHECK(writeCompatVdsoJump(small, 0x1000, 0x2000) == 0);
    std::vector<std::byte> plain(16, std::byte{0x90});
    CHECK(writeCompatVdsoJump(plain, 0xf7fc4540, 0x00106540) == 5);
    CHECK(plain[0] == std::byte{0xe9});
    CHECK(operandAt(plain, 1) == static_cast<std::uint32_t>(0x00106540 - 0xf7fc4545));
    CHECK(plain[5] == std::byte{0x90});
    std::vector<std::byte> padded(16, std::byte{0x90});
    const std::byte pad[] = {std::byte{0xf3}, std::byte{0x0f}, std::byte{0x1e}, std::byte{0xfb}};
    std::copy(std::begin(pad), std::end(pad), padded.begin());
    CHECK(writeCompatVdsoJump(padded, 0x1000, 0x2000) == 9);
    CHECK(padded[4] == std::byte{0xe9});
    CHECK(operandAt(padded, 5) == 0x2000 - 0x1009);
}

TEST_CASE("a jump needs room, and leaves the landing pad of indirect branches") {
    std::vector<std::byte> small(13, std::byte{0x90});
    CHECK(writeVdsoJump(small, 0x1122334455667788) == 0);
    CHECK(small == std::vector<std::byte>(13, std::byte{0x90}));
    std::vector<std::byte> plain(20, std::byte{0x90});
    CHECK(writeVdsoJump(plain, 0x1122334455667788) == 14);
    std::vector<std::byte> padded{std::byte{0xf3}, std::byte{0x0f}, std::byte{0x1e}, std::byte{0xfa}};
    padded.resize(20, std::byte{0x90});
    CHECK(writeVdsoJump(padded, 0x1122334455667788) == 18);
    CHECK(padded[0] == std::byte{0xf3});
    CHECK(padded[18] == std::byte{0x90});
}
