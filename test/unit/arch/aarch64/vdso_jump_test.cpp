// SPDX-License-Identifier: GPL-2.0-only
#include <catch2/catch.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "criu/memory/vdso/vdso_proxy.hpp"

using namespace criu::memory;

namespace {

constexpr std::uint64_t kTarget = 0x1122334455667788;
constexpr std::uint32_t kNop = 0xd503201f;
constexpr std::uint32_t kBranchTarget = 0xd503245f;  // bti c

using Instructions = std::vector<std::uint32_t>;

std::size_t writeJump(Instructions& code) {
    return writeVdsoJump(std::as_writable_bytes(std::span(code)), kTarget);
}

/// Returns the address that the 8 bytes after an instruction contain.
std::uint64_t addressAt(const Instructions& code, std::size_t index) {
    std::uint64_t value = 0;
    std::memcpy(&value, code.data() + index, sizeof(value));
    return value;
}

}  // namespace

TEST_CASE("a jump needs room, and leaves the target of indirect branches") {
    Instructions small(3, kNop);
    CHECK(writeJump(small) == 0);
    CHECK(small == Instructions(3, kNop));
    Instructions plain(6, kNop);
    CHECK(writeJump(plain) == 16);
    CHECK(plain[0] == 0x58000050);  // ldr x16, #8
    CHECK(plain[1] == 0xd61f0200);  // br x16
    CHECK(addressAt(plain, 2) == kTarget);
    CHECK(plain[4] == kNop);
    Instructions padded(6, kNop);
    padded[0] = kBranchTarget;
    CHECK(writeJump(padded) == 20);
    CHECK(padded[0] == kBranchTarget);
    CHECK(padded[1] == 0x58000050);
    CHECK(addressAt(padded, 3) == kTarget);
    CHECK(padded[5] == kNop);
    Instructions narrow(4, kNop);
    narrow[0] = kBranchTarget;
    CHECK(writeJump(narrow) == 0);
}

TEST_CASE("functions of 32-bit code are never redirected") {
    Instructions code(6, kNop);
    CHECK(writeCompatVdsoJump(std::as_writable_bytes(std::span(code)), 0x1000, 0x2000) == 0);
    CHECK(code == Instructions(6, kNop));
}
