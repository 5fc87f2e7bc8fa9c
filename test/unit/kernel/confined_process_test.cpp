// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/confined_process.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <array>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/mapping.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/landlock.hpp"
#include "image_fixture.hpp"

using Catch::Contains;
using criu::StopRequest;
using criu::UniqueFd;
using criu::kernel::runConfined;
using criu::test::errorOf;

namespace {

/// Returns the error of a confined process that runs `work` with these descriptors.
std::string errorOfConfined(const std::function<void()>& work, const std::vector<int>& descriptors = {}) {
    StopRequest stop;
    return errorOf([&] { runConfined("decode a.img", descriptors, stop, work); });
}

UniqueFd memoryFile() {
    return UniqueFd(::memfd_create("file", MFD_CLOEXEC));
}

/// Process that waits until the destructor kills it.
class Victim {
public:
    Victim() : pid_(::fork()) {
        if (pid_ == 0)
            for (;;)
                ::pause();
    }
    ~Victim() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    Victim(const Victim&) = delete;
    Victim& operator=(const Victim&) = delete;
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    [[nodiscard]] bool lives() const noexcept { return ::waitpid(pid_, nullptr, WNOHANG) == 0; }

private:
    pid_t pid_;
};

}  // namespace

TEST_CASE("a confined process reads and writes the descriptors that it got", "[confined]") {
    const UniqueFd from = memoryFile();
    const UniqueFd to = memoryFile();
    REQUIRE(::pwrite(from.get(), "content", 7, 0) == 7);
    StopRequest stop;
    runConfined("copy", std::array{from.get(), to.get()}, stop, [&] {
        // Allocates enough for mmap(2), and frees it again, as decoders do.
        std::vector<char> text(std::size_t{8} << 20);
        const ssize_t got = ::pread(from.get(), text.data(), text.size(), 0);
        criu::sys(::pwrite(to.get(), text.data(), static_cast<std::size_t>(got), 0), "write");
    });
    std::array<char, 8> text{};
    REQUIRE(::pread(to.get(), text.data(), text.size(), 0) == 7);
    CHECK(std::string(text.data()) == "content");
}

TEST_CASE("an exception in a confined process is an error with its message", "[confined]") {
    const std::string error = errorOfConfined([] { criu::fail("the header is \x1b wrong"); });
    CHECK_THAT(error, Contains("decode a.img") && Contains("the header is \\x1b wrong"));
}

TEST_CASE("the crash of a confined process is an error", "[confined]") {
    CHECK_THAT(errorOfConfined([] { ::prctl(PR_SET_NAME, "dead"); }), Contains("forbidden system call"));
    CHECK_THAT(errorOfConfined([] { __builtin_trap(); }), Contains("killed by signal"));
}

TEST_CASE("a confined process has no other descriptors", "[confined]") {
    const UniqueFd given = memoryFile();
    const UniqueFd other = memoryFile();
    CHECK_THAT(
        errorOfConfined([&] { criu::sys(::write(other.get(), "x", 1), "write to another file"); }, {given.get()}),
        Contains("write to another file: Bad file descriptor"));
    CHECK(errorOfConfined([&] { criu::sys(::write(given.get(), "x", 1), "write"); }, {given.get()}).empty());
}

TEST_CASE("an exploited decoder can't change memory that it would share with criu", "[confined]") {
    criu::Mapping shared = criu::Mapping::anonymous(4096, MAP_SHARED);
    auto* const byte = reinterpret_cast<volatile char*>(shared.data());
    *byte = 'a';
    for (const int protection : {PROT_READ | PROT_WRITE, PROT_READ}) {
        REQUIRE(::mprotect(shared.data(), 4096, protection) == 0);
        CHECK_THAT(errorOfConfined([&] {
                       ::mprotect(shared.data(), 4096, PROT_READ | PROT_WRITE);
                       *byte = 'b';
                   }),
                   Contains("killed by signal 11"));
        CHECK(*byte == 'a');
    }
    // The process keeps shared mappings of files that are open for reading, such as libc's table of character sets.
    const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    void* const mapped = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file.get(), 0);
    REQUIRE(mapped != MAP_FAILED);
    CHECK(errorOfConfined([&] {
              if (*static_cast<volatile char*>(mapped) != 0x7f)
                  criu::fail("not an ELF file");
          }).empty());
    ::munmap(mapped, 4096);
}

TEST_CASE("an exploited decoder can't exhaust the memory of the machine", "[confined]") {
    constexpr std::size_t kMuch = std::size_t{600} << 20;
    for (const int kind : {MAP_PRIVATE, MAP_SHARED}) {
        const auto attack = [kind] {
            void* const got =
                ::mmap(nullptr, kMuch, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (got == MAP_FAILED)
                criu::failErrno("allocate");
        };
        CHECK_THAT(errorOfConfined(attack), Contains("allocate: Cannot allocate memory"));
    }
    CHECK_THAT(errorOfConfined([] { throw std::bad_alloc(); }), Contains("needs more memory than it may allocate"));
}

TEST_CASE("an exploited decoder can't open files", "[confined]") {
    for (const char* const path : {"/etc/shadow", "/proc/self/mem", "/dev/null", "."}) {
        INFO(path);
        CHECK_THAT(errorOfConfined([&] { criu::sys(::open(path, O_RDONLY), "open it"); }),
                   Contains("Permission denied"));
    }
    const criu::test::TemporaryDir place;
    const std::string path = place.path() + "/planted";
    CHECK_THAT(errorOfConfined([&] { criu::sys(::open(path.c_str(), O_WRONLY | O_CREAT, 0600), "create it"); }),
               Contains("Permission denied"));
    CHECK(::access(path.c_str(), F_OK) != 0);
    // A directory descriptor gives no rights either.
    const UniqueFd directory(::open(place.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    CHECK_THAT(
        errorOfConfined([&] { criu::sys(::openat(directory.get(), "planted", O_WRONLY | O_CREAT, 0600), "create it"); },
                        {directory.get()}),
        Contains("Permission denied"));
    CHECK(::access(path.c_str(), F_OK) != 0);
}

TEST_CASE("the kernel kills an exploited decoder that attacks", "[confined]") {
    const Victim victim;
    const criu::test::TemporaryDir place;
    const std::string path = place.path() + "/planted";
    const UniqueFd file = memoryFile();
    const struct {
        const char* name;
        std::function<void()> attack;
    } attacks[] = {
        {"execve", [] { ::execl("/bin/sh", "sh", nullptr); }},
        {"socket", [] { ::socket(AF_INET, SOCK_STREAM, 0); }},
        {"Unix socket", [] { ::socket(AF_UNIX, SOCK_DGRAM, 0); }},
        {"kill", [&] { ::kill(victim.pid(), SIGKILL); }},
        {"pidfd_open", [&] { ::syscall(SYS_pidfd_open, victim.pid(), 0); }},
        {"ptrace", [&] { ::ptrace(PTRACE_SEIZE, victim.pid(), nullptr, nullptr); }},
        {"process_vm_writev", [&] { ::syscall(SYS_process_vm_writev, victim.pid(), nullptr, 0, nullptr, 0, 0); }},
        {"mount", [&] { ::mount("none", place.path().c_str(), "tmpfs", 0, nullptr); }},
        {"fsopen", [] { ::syscall(SYS_fsopen, "tmpfs", 0); }},
        {"unshare", [] { ::unshare(CLONE_NEWNS); }},
        {"fork", [] { (void)!::fork(); }},
        {"clone3", [] { ::syscall(SYS_clone3, nullptr, 0); }},
        {"mkdir", [&] { ::mkdir(path.c_str(), 0700); }},
        {"link", [&] { ::symlink("/etc/shadow", path.c_str()); }},
        {"unlink", [&] { ::rmdir(place.path().c_str()); }},
        {"mknod", [&] { ::mknod(path.c_str(), S_IFREG | 0600, 0); }},
        {"chmod", [&] { ::fchmod(file.get(), 04777); }},
        {"open by handle", [] { ::syscall(SYS_open_by_handle_at, AT_FDCWD, nullptr, 0); }},
        {"openat2", [] { ::syscall(SYS_openat2, AT_FDCWD, "/etc/shadow", nullptr, 0); }},
        {"io_uring", [] { ::syscall(SYS_io_uring_setup, 1, nullptr); }},
        {"futex of another kind", [] { ::syscall(SYS_futex, nullptr, FUTEX_LOCK_PI, 0, nullptr, nullptr, 0); }},
        {"bpf", [] { ::syscall(SYS_bpf, 0, nullptr, 0); }},
        {"setuid", [] { ::syscall(SYS_setuid, 0); }},
        {"sigaction", [] { ::signal(SIGSYS, SIG_IGN); }},
        {"memfd", [] { ::memfd_create("code", 0); }},
        {"ioctl", [&] { ::syscall(SYS_ioctl, file.get(), 0, 0); }},
        {"executable memory", [] { ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }},
        {"writable code",
         [] { ::mprotect(reinterpret_cast<void*>(std::uintptr_t{4096}), 4096, PROT_READ | PROT_WRITE | PROT_EXEC); }},
    };
    for (const auto& each : attacks) {
        INFO(each.name);
        CHECK_THAT(errorOfConfined(each.attack, {file.get()}), Contains("forbidden system call"));
    }
    CHECK(victim.lives());
    CHECK(::access(path.c_str(), F_OK) != 0);
}

#if defined(__x86_64__)
TEST_CASE("a confined process can't use calls of other interfaces of x86", "[confined]") {
    // getpid(2) of x32 has another number, and int $0x80 has other numbers. Number 1 is exit(2) there, not write(2).
    CHECK_THAT(errorOfConfined([] { ::syscall(0x40000000L + SYS_read, -1, nullptr, 0); }),
               Contains("forbidden system call"));
    CHECK_THAT(errorOfConfined([] {
                   long result = 1;
                   asm volatile("int $0x80" : "+a"(result) : "b"(0) : "memory");
               }),
               Contains("forbidden system call"));
}
#endif

TEST_CASE("a Landlock domain without rights stops a process whose filter has a hole", "[confined]") {
    if (!criu::kernel::hasLandlock()) {
        WARN("the kernel has no Landlock");
        return;
    }
    const pid_t child = ::fork();
    if (child == 0) {
        ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (!criu::kernel::enterEmptyDomain())
            ::_exit(1);
        ::_exit(::open("/etc/passwd", O_RDONLY) < 0 && errno == EACCES ? 0 : 2);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}

TEST_CASE("a stop request ends a confined process", "[confined]") {
    StopRequest stop;
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const UniqueFd in(ends[0]);
    const UniqueFd out(ends[1]);
    ::raise(SIGTERM);
    char byte = 0;
    CHECK_THAT(errorOf([&] {
                   // The process waits for a byte that never comes.
                   runConfined("wait", std::array{in.get()}, stop, [&] { (void)!::read(in.get(), &byte, 1); });
               }),
               Contains("SIGTERM"));
    CHECK(::waitpid(-1, nullptr, WNOHANG) < 0);  // the process was reaped
}

TEST_CASE("a confined process whose result is unknown has failed", "[confined]") {
    struct sigaction before {};
    struct sigaction ignored {};
    ignored.sa_handler = SIG_IGN;  // the kernel then reaps children
    REQUIRE(::sigaction(SIGCHLD, &ignored, &before) == 0);
    const std::string error = errorOfConfined([] { ::prctl(PR_SET_NAME, "dead"); });
    REQUIRE(::sigaction(SIGCHLD, &before, nullptr) == 0);
    CHECK_THAT(error, Contains("the result of the confined process is unknown"));
}

TEST_CASE("this kernel can confine processes", "[confined]") {
    CHECK(errorOf([] { criu::kernel::requireConfinement(); }).empty());
}
