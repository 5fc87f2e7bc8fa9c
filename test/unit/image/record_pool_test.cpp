// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/record_pool.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "criu/image/arena.hpp"
#include "criu/image/reader.hpp"
#include "criu/image/record.hpp"
#include "image_fixture.hpp"
#include "images/pstree.hpp"

using criu::decodeMessage;
using criu::Record;
using criu::RecordPool;

namespace {

std::vector<std::byte> packed(const ProtobufCMessage& message) {
    std::vector<std::byte> bytes(criu::encodedSize(message));
    ::protobuf_c_message_pack(&message, reinterpret_cast<std::uint8_t*>(bytes.data()));
    return bytes;
}

std::vector<std::byte> encodedProcess(std::uint32_t pid, std::size_t threads) {
    criu::Arena arena;
    PstreeEntry entry = PSTREE_ENTRY__INIT;
    entry.pid = entry.ppid = entry.pgid = entry.sid = pid;
    entry.n_threads = threads;
    entry.threads = arena.array<std::uint32_t>(threads);
    for (std::size_t i = 0; i < threads; ++i)
        entry.threads[i] = pid + static_cast<std::uint32_t>(i);
    return packed(entry.base);
}

Record<PstreeEntry> decodeInto(RecordPool& pool, std::uint32_t pid, std::size_t threads) {
    return Record<PstreeEntry>(decodeMessage(pstree_entry__descriptor, encodedProcess(pid, threads), nullptr, &pool));
}

/// Returns a field of smaps, such as "Rss:", for the mapping that begins at or below `address`, in kB.
long smapsField(std::uintptr_t address, const std::string& field) {
    std::ifstream smaps("/proc/self/smaps");
    bool inside = false;
    for (std::string line; std::getline(smaps, line);) {
        std::uintptr_t start = 0;
        std::uintptr_t end = 0;
        char dash = 0;
        std::istringstream text(line);
        if (text >> std::hex >> start >> dash >> end && dash == '-')
            inside = start <= address && address < end;
        else if (inside && line.rfind(field, 0) == 0)
            return std::stol(line.substr(field.size()));
    }
    return -1;
}

/// Calls `function` in a child, and returns the child's status of wait(2).
template <typename Function>
int statusOf(const Function& function) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0)
        ::_exit(function() ? 0 : 1);
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return status;
}

}  // namespace

TEST_CASE("messages in a record pool have all their content") {
    RecordPool pool;
    std::vector<Record<PstreeEntry>> records;
    for (std::uint32_t pid = 1; pid <= 500; ++pid)
        records.push_back(decodeInto(pool, pid, pid));
    for (std::uint32_t pid = 1; pid <= 500; ++pid) {
        const PstreeEntry& entry = *records[pid - 1];
        REQUIRE(entry.pid == pid);
        REQUIRE(entry.n_threads == pid);
        REQUIRE(entry.threads[pid - 1] == 2 * pid - 1);
    }
}

TEST_CASE("a record pool stores a message that is larger than its chunks") {
    RecordPool pool;
    constexpr std::size_t kThreads = 300'000;
    const auto record = decodeInto(pool, 7, kThreads);
    REQUIRE(record->n_threads == kThreads);
    CHECK(record->threads[kThreads - 1] == 7 + kThreads - 1);
    CHECK(decodeInto(pool, 8, 1)->pid == 8);
}

TEST_CASE("a record pool uses the memory that a decoder needed again") {
    RecordPool pool;
    (void)decodeInto(pool, 1, 1000);
    const ProtobufCAllocator& allocator = *pool.allocator();
    void* const block = allocator.alloc(allocator.allocator_data, 5000);
    allocator.free(allocator.allocator_data, block);
    CHECK(allocator.alloc(allocator.allocator_data, 6000) != nullptr);
    CHECK(allocator.alloc(allocator.allocator_data, 5000) == block);
    allocator.free(allocator.allocator_data, nullptr);
    CHECK(allocator.alloc(allocator.allocator_data, 5000) != block);
}

TEST_CASE("fork(2) copies no page tables of a record pool, and the child reads its messages") {
    RecordPool pool;
    const auto record = decodeInto(pool, 7, 1000);
    const auto at = reinterpret_cast<std::uintptr_t>(record.get());
    REQUIRE(smapsField(at, "Rss:") > 0);
    CHECK(statusOf([&] { return smapsField(at, "Rss:") == 0 && record->pid == 7 && record->threads[999] == 1006; }) ==
          0);
}

TEST_CASE("a sealed record pool is read-only and allocates nothing") {
    RecordPool pool;
    auto record = decodeInto(pool, 7, 1);
    record->pid = 8;
    pool.seal();
    CHECK(record->pid == 8);
    CHECK(pool.allocator()->alloc(pool.allocator()->allocator_data, 1) == nullptr);
    CHECK(criu::test::errorOf([&] { (void)decodeInto(pool, 9, 1); }) ==
          "store a pstree_entry of 10 bytes: Cannot allocate memory");
    const int status = statusOf([&] {
        ::signal(SIGSEGV, SIG_DFL);  // replaces the handler of a sanitizer
        record->pid = 9;
        return true;
    });
    REQUIRE(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGSEGV);
}

TEST_CASE("a record pool refuses sizes that it can't round up") {
    RecordPool pool;
    CHECK(pool.allocator()->alloc(pool.allocator()->allocator_data, SIZE_MAX) == nullptr);
}

TEST_CASE("a reader stores records in a pool") {
    RecordPool pool;
    PstreeEntry entry = PSTREE_ENTRY__INIT;
    entry.pid = entry.pgid = entry.sid = 5;
    const criu::test::Bytes bytes = criu::test::Bytes::headerOf(criu::ImageKind::Pstree).record(entry);
    criu::ImageReader reader(bytes.file(), criu::ImageKind::Pstree, "pstree.img");
    reader.storeIn(pool);
    const auto record = reader.only<PstreeEntry>();
    CHECK(record->pid == 5);
    CHECK(statusOf([&] { return smapsField(reinterpret_cast<std::uintptr_t>(record.get()), "Rss:") == 0; }) == 0);
}
