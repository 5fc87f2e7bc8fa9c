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
#include <thread>
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

TEST_CASE("several threads decode messages into one record pool") {
    RecordPool pool;
    std::vector<std::vector<Record<PstreeEntry>>> records(4);
    std::vector<std::thread> threads;
    for (std::uint32_t number = 0; number < records.size(); ++number)
        threads.emplace_back([&, number] {
            for (std::uint32_t i = 0; i < 1000; ++i)
                records[number].push_back(decodeInto(pool, number * 1000 + i, 3));
        });
    for (std::thread& thread : threads)
        thread.join();
    for (std::uint32_t number = 0; number < records.size(); ++number)
        for (std::uint32_t i = 0; i < 1000; ++i)
            REQUIRE(records[number][i]->threads[2] == number * 1000 + i + 2);
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
    CHECK_THROWS_AS(decodeInto(pool, 9, 1), criu::Error);
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
