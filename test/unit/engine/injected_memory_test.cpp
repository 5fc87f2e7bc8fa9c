// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/injected_memory.hpp"

#include <catch2/catch.hpp>

#include <compel/injection.hpp>
#include <compel/process.hpp>
#include <compel/remote_syscalls.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <future>
#include <iterator>
#include <span>
#include <string>
#include <thread>

#include "criu/base/machine.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/pie/enter.hpp"

using namespace criu;

namespace {

constexpr std::uint64_t kData = 10000;

/// Process that reads bytes 'a' until another byte arrives, which is its exit code.
class Reader {
public:
    Reader() {
        REQUIRE(::pipe2(bytes_, O_CLOEXEC) == 0);
        pid_ = ::fork();
        if (pid_ == 0) {
            char byte = 0;
            while (::read(bytes_[0], &byte, 1) == 1 && byte == 'a')
                continue;
            ::_exit(byte);
        }
    }
    ~Reader() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        ::close(bytes_[0]);
        ::close(bytes_[1]);
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    [[nodiscard]] std::string maps() const {
        std::ifstream file("/proc/" + std::to_string(pid_) + "/maps");
        return {std::istreambuf_iterator<char>(file), {}};
    }
    /// Returns the line that a dump records before it maps the blob.
    [[nodiscard]] JournalLine line() const {
        kernel::ProcBuffer buffer;
        const std::uint64_t startTime = kernel::readStat(kernel::ProcDir().open(pid_), buffer).startTime;
        return {"injects", std::to_string(pid_), std::to_string(startTime), "interpreter",
                std::to_string(pageAlignUp(kData))};
    }
    /// Injects the blob, and leaves it in the process. Returns its address.
    [[nodiscard]] compel::RemoteAddress inject() const {
        auto process = compel::FrozenProcess::freeze(pid_);
        compel::Injection injection(process.leader(), pie::interpreterBlob(), kData, process.syscallInstruction());
        const auto code = injection.code();
        injection.leave();
        return code;
    }
    /// Lets the process end. Returns true if it has read all bytes.
    [[nodiscard]] bool finishes() const {
        int status = 0;
        return ::write(bytes_[1], "aaz", 3) == 3 && ::waitpid(pid_, &status, WUNTRACED) == pid_ && WIFEXITED(status) &&
               WEXITSTATUS(status) == 'z';
    }

private:
    int bytes_[2] = {-1, -1};
    pid_t pid_ = 0;
};

std::uint64_t codeSize() {
    return pageAlignUp(pie::interpreterBlob().bytes.size());
}

enum class Mask : std::uint8_t { Own, AllBlocked };

/// Stops the process, and makes a tracer end that was about to let it map memory: the thread has the registers of this
/// call, and `mask`. It makes the call when it continues.
void leaveCall(pid_t pid, Mask mask) {
    ::kill(pid, SIGSTOP);
    const pid_t tracer = ::fork();
    if (tracer == 0) {
        try {
            auto process = compel::FrozenProcess::freeze(pid);
            const auto instruction = process.syscallInstruction().value();
            compel::RemoteSyscalls calls(process.leader(), instruction);
            (void)calls.call(SYS_getpid);  // places the signal frame
            compel::Registers registers = process.leader().registers();
            registers.setCall(SYS_mmap,
                              {0, codeSize() + pageAlignUp(kData), PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                               ~std::uint64_t{0}, 0},
                              instruction.address);
            process.leader().setRegisters(registers);
            if (mask == Mask::Own)
                process.leader().setSignalMask(calls.savedMask());
            ::_exit(0);
        } catch (const std::exception&) {
            ::_exit(1);
        }
    }
    int status = -1;
    REQUIRE(::waitpid(tracer, &status, 0) == tracer);
    REQUIRE(status == 0);
}

}  // namespace

TEST_CASE("rescue finds any part of a blob that a killed dump has mapped", "[injected]") {
    const Reader reader;
    const std::string before = reader.maps();
    SECTION("the whole blob") {
        (void)reader.inject();
    }
    SECTION("a blob whose data were unmapped first") {
        const auto code = reader.inject();
        auto process = compel::FrozenProcess::freeze(reader.pid());
        compel::RemoteSyscalls calls(process.leader(), process.syscallInstruction());
        calls.munmap(code + codeSize(), pageAlignUp(kData));
    }
    SECTION("memory for a blob whose data the kernel has refused") {
        auto process = compel::FrozenProcess::freeze(reader.pid());
        compel::RemoteSyscalls calls(process.leader(), process.syscallInstruction());
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
        const auto code = calls.mmap(0, codeSize() + pageAlignUp(kData), PROT_READ | PROT_EXEC, flags);
        rlimit limit{};
        REQUIRE(::prlimit(reader.pid(), RLIMIT_DATA, nullptr, &limit) == 0);
        const rlimit least{machinePageSize(), limit.rlim_max};
        REQUIRE(::prlimit(reader.pid(), RLIMIT_DATA, &least, nullptr) == 0);
        const int writable = PROT_READ | PROT_WRITE;
        CHECK_THROWS(calls.mmap(code + codeSize(), pageAlignUp(kData), writable, flags | MAP_FIXED));
    }
    CHECK(reader.maps() != before);
    CHECK(engine::unmapInjection(reader.line(), engine::rescueDeadline()));
    CHECK(reader.maps() == before);
    CHECK(reader.finishes());
}

TEST_CASE("rescue keeps code of the program after a blob whose data were unmapped", "[injected]") {
    const Reader reader;
    const auto code = reader.inject();
    const std::uint64_t size = pageAlignUp(kData);
    {
        auto process = compel::FrozenProcess::freeze(reader.pid());
        compel::RemoteSyscalls calls(process.leader(), process.syscallInstruction());
        const auto path = calls.mmap(0, machinePageSize(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
        process.memory().write(path, std::as_bytes(std::span("/proc/self/exe")));
        const auto program =
            calls.checkedCall("openat", SYS_openat, {static_cast<std::uint64_t>(AT_FDCWD), path, O_RDONLY});
        calls.mmap(code + codeSize(), size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, static_cast<int>(program));
    }
    const auto mapsProgram = [&] {
        const std::string start = fmt::format("{:x}-", code + codeSize());
        return reader.maps().find(start) != std::string::npos;
    };
    REQUIRE(mapsProgram());
    CHECK(engine::unmapInjection(reader.line(), engine::rescueDeadline()));
    CHECK(mapsProgram());
    CHECK(reader.finishes());
}

TEST_CASE("rescue keeps files behind a restorer that is smaller than recorded", "[injected]") {
    const Reader reader;
    const auto code = reader.inject();
    const std::uint64_t page = machinePageSize();
    const std::uint64_t file = code + codeSize() + pageAlignUp(kData) - page;
    {
        auto process = compel::FrozenProcess::freeze(reader.pid());
        compel::RemoteSyscalls calls(process.leader(), process.syscallInstruction());
        const auto path = calls.mmap(0, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
        process.memory().write(path, std::as_bytes(std::span("/proc/self/exe")));
        const auto program =
            calls.checkedCall("openat", SYS_openat, {static_cast<std::uint64_t>(AT_FDCWD), path, O_RDONLY});
        calls.munmap(path, page);
        calls.mmap(file, page, PROT_READ, MAP_PRIVATE | MAP_FIXED, static_cast<int>(program));
    }
    CHECK(engine::unmapRestorer(reader.pid(), code, file + page - code, engine::rescueDeadline()));
    const std::string after = reader.maps();
    CHECK(after.find(fmt::format("{:x}-", file)) != std::string::npos);
    CHECK(after.find(fmt::format("{:x}-", code)) == std::string::npos);
    CHECK(reader.finishes());
}

TEST_CASE("rescue waits for a thread that hasn't mapped a blob yet", "[injected]") {
    const Reader reader;
    const std::string before = reader.maps();
    leaveCall(reader.pid(), Mask::Own);
    CHECK(reader.maps() == before);
    // The stop stands for a thread that the kernel doesn't run for some time.
    std::thread scheduler([&] {
        constexpr std::chrono::milliseconds kDelay{100};
        std::this_thread::sleep_for(kDelay);
        ::kill(reader.pid(), SIGCONT);
    });
    CHECK(engine::unmapInjection(reader.line(), engine::rescueDeadline()));
    scheduler.join();
    CHECK(reader.finishes());
}

TEST_CASE("rescue doesn't wait for a stopped thread that blocks all signals", "[injected]") {
    const Reader reader;
    leaveCall(reader.pid(), Mask::AllBlocked);
    std::promise<void> returned;
    // Without the SIGCONT, a rescue that waits would wait for an hour.
    std::thread waker([&, future = returned.get_future()] {
        constexpr std::chrono::seconds kDelay{20};
        if (future.wait_for(kDelay) != std::future_status::ready)
            ::kill(reader.pid(), SIGCONT);
    });
    CHECK_FALSE(engine::unmapInjection(reader.line(), engine::rescueDeadline() + std::chrono::hours(1)));
    returned.set_value();
    waker.join();
    ::kill(reader.pid(), SIGCONT);
    CHECK(reader.finishes());
}

TEST_CASE("rescue keeps memory that isn't a blob", "[injected]") {
    const Reader reader;
    const auto code = reader.inject();
    {
        auto process = compel::FrozenProcess::freeze(reader.pid());
        process.memory().writeValue(code, std::uint8_t{0});
    }
    const std::string before = reader.maps();
    CHECK_FALSE(engine::unmapInjection(reader.line(), engine::rescueDeadline()));
    CHECK(reader.maps() == before);
    CHECK(reader.finishes());
}
