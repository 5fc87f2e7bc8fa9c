// SPDX-License-Identifier: GPL-2.0-only
// Uses the vDSO of this kernel both as the dumped and as the present one.
#include <elf.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

#include <catch2/catch.hpp>

#include "criu/memory/vdso/vdso.hpp"
#include "criu/memory/vdso/vdso_proxy.hpp"
#include "criu/memory/vdso/vdso_symbols.hpp"
#include "image_fixture.hpp"

using namespace criu;
using namespace criu::memory;

namespace {

std::span<const std::byte> ownVdso() {
    const VdsoLayout layout = VdsoLayout::ofSelf();
    return {reinterpret_cast<const std::byte*>(layout.code.start), layout.code.size()};
}

std::vector<std::byte> copyOf(std::span<const std::byte> bytes) {
    return {bytes.begin(), bytes.end()};
}

/// Returns true for the vDSO's function for a system call. The first part of its name depends on the processor.
bool isFor(std::string_view call, const std::string& function) {
    return function.starts_with("__") && function.ends_with(fmt::format("_{}", call));
}

std::uint64_t offsetOf(std::string_view call) {
    for (const VdsoFunction& function : readVdsoFunctions(ownVdso()))
        if (isFor(call, function.name))
            return function.offset;
    fail("the vDSO has no function for {}", call);
}

template <typename T>
T& in(std::vector<std::byte>& bytes, std::uint64_t offset) {
    return *reinterpret_cast<T*>(bytes.data() + offset);
}

/// Returns the offset of a dynamic entry's value, which is itself an offset here.
std::uint64_t dynamicEntry(std::vector<std::byte>& bytes, Elf64_Sxword tag) {
    const auto header = in<Elf64_Ehdr>(bytes, 0);
    for (unsigned index = 0; index < header.e_phnum; ++index) {
        const auto segment = in<Elf64_Phdr>(bytes, header.e_phoff + index * sizeof(Elf64_Phdr));
        if (segment.p_type != PT_DYNAMIC)
            continue;
        for (std::uint64_t at = segment.p_offset; in<Elf64_Dyn>(bytes, at).d_tag != DT_NULL; at += sizeof(Elf64_Dyn))
            if (in<Elf64_Dyn>(bytes, at).d_tag == tag)
                return at;
    }
    return 0;
}

bool hasVdso() {
    if (ownVdso().empty())
        WARN("skipped: this kernel was booted without vDSO");
    return !ownVdso().empty();
}

}  // namespace

TEST_CASE("functions of the own vDSO") {
    if (!hasVdso())
        return;
    const auto functions = readVdsoFunctions(ownVdso());
    for (const char* const call : {"clock_gettime", "clock_getres", "gettimeofday"}) {
        INFO(call);
        CHECK(std::any_of(functions.begin(), functions.end(), [&](const VdsoFunction& function) {
            return isFor(call, function.name) && function.size > 0 && function.offset < ownVdso().size();
        }));
    }
}

TEST_CASE("both kinds of hash table tell the number of symbols") {
    if (!hasVdso())
        return;
    const auto wanted = readVdsoFunctions(ownVdso());
    for (const Elf64_Sxword tag : {Elf64_Sxword{DT_HASH}, Elf64_Sxword{DT_GNU_HASH}}) {
        auto bytes = copyOf(ownVdso());
        if (const std::uint64_t entry = dynamicEntry(bytes, tag); entry != 0) {
            in<Elf64_Dyn>(bytes, entry).d_tag = DT_DEBUG;
            if (dynamicEntry(bytes, DT_HASH) + dynamicEntry(bytes, DT_GNU_HASH) != 0)
                CHECK(readVdsoFunctions(bytes) == wanted);
        }
    }
}

TEST_CASE("a damaged vDSO is an error, never a crash") {
    if (!hasVdso())
        return;
    CHECK_THAT(test::errorOf([] { readVdsoFunctions({}); }), Catch::Contains("vDSO"));
    const auto whole = copyOf(ownVdso());
    for (std::size_t size = 0; size < 2048; size += 8)
        try {
            readVdsoFunctions(std::span(whole).first(size));
        } catch (const Error&) {
        }
    // Changes each byte of headers and tables in several ways.
    std::size_t errors = 0;
    for (std::size_t at = 0; at < 2048; ++at)
        for (const unsigned flip : {0x01U, 0x80U, 0xffU}) {
            auto bytes = whole;
            bytes[at] ^= static_cast<std::byte>(flip);
            try {
                readVdsoFunctions(bytes);
            } catch (const Error&) {
                ++errors;
            }
        }
    CHECK(errors > 0);
    auto bytes = whole;
    in<Elf64_Ehdr>(bytes, 0).e_ident[EI_CLASS] = ELFCLASS32;
    CHECK_THROWS_AS(readVdsoFunctions(bytes), Error);
    in<Elf64_Ehdr>(bytes, 0).e_ident[EI_CLASS] = 3;
    CHECK_THAT(test::errorOf([&] { readVdsoFunctions(bytes); }), Catch::Contains("64-bit"));
}

TEST_CASE("a redirected copy works through the real one") {
    if (!hasVdso())
        return;
    auto code = copyOf(ownVdso());
    const auto presentAt = reinterpret_cast<std::uint64_t>(ownVdso().data());
    const auto redirected = redirectVdso(code, ownVdso(), presentAt);
    CHECK(redirected.size() >= 3);
    for (const VdsoRedirection& function : redirected) {
        CHECK(function.size >= 14);
        CHECK(std::count_if(redirected.begin(), redirected.end(),
                            [&](const VdsoRedirection& other) { return other.offset == function.offset; }) == 1);
    }

    // Zeroes replace the kernel's data, as in a restored process.
    constexpr std::size_t kDataRoom = std::size_t{64} << 10;
    const Mapping room = Mapping::anonymous(kDataRoom + code.size());
    std::memcpy(room.as<char>() + kDataRoom, code.data(), code.size());
    __builtin___clear_cache(room.as<char>(), room.as<char>() + room.size());
    REQUIRE(::mprotect(room.data(), room.size(), PROT_READ | PROT_EXEC) == 0);
    const auto function = [&]<typename F>(std::string_view call, F*) {
        return reinterpret_cast<F*>(room.as<char>() + kDataRoom + offsetOf(call));
    };
    auto* const clockGettime = function("clock_gettime", static_cast<int (*)(clockid_t, timespec*)>(nullptr));
    auto* const timeOfDay = function("gettimeofday", static_cast<int (*)(timeval*, void*)>(nullptr));
    timespec before{};
    timespec got{};
    timespec after{};
    ::clock_gettime(CLOCK_MONOTONIC, &before);
    REQUIRE(clockGettime(CLOCK_MONOTONIC, &got) == 0);
    ::clock_gettime(CLOCK_MONOTONIC, &after);
    const auto nanoseconds = [](const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; };
    CHECK(nanoseconds(before) <= nanoseconds(got));
    CHECK(nanoseconds(got) <= nanoseconds(after));
    timeval now{};
    REQUIRE(timeOfDay(&now, nullptr) == 0);
    CHECK(std::abs(now.tv_sec - ::time(nullptr)) <= 1);
}

TEST_CASE("code that isn't redirected makes system calls") {
    if (!hasVdso())
        return;
    // vDSO of a kernel without any of the functions.
    auto stranger = copyOf(ownVdso());
    for (std::size_t at = in<Elf64_Dyn>(stranger, dynamicEntry(stranger, DT_STRTAB)).d_un.d_ptr, end = at + 200;
         at < end; ++at)
        if (stranger[at] == std::byte{'_'})
            stranger[at] = std::byte{'x'};
    auto code = copyOf(ownVdso());
    const auto redirected = redirectVdso(code, stranger, 0x1000);
    CHECK(std::none_of(redirected.begin(), redirected.end(),
                       [](const VdsoRedirection& function) { return isFor("clock_gettime", function.name); }));
}
