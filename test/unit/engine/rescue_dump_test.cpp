// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/rescue.hpp"

#include <catch2/catch.hpp>

#include <compel/injection.hpp>
#include <compel/process.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "criu/base/journal.hpp"
#include "criu/kernel/names/created_name.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/net/iptables.hpp"
#include "criu/kernel/net/nftables.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/model/options.hpp"
#include "criu/pie/enter.hpp"
#include "criu/pie/injection_record.hpp"
#include "criu/sockets/iptables_rule.hpp"
#include "criu/sockets/network_lock.hpp"
#include "criu/sockets/tcp_repair.hpp"
#include "criu/tty/terminal_record.hpp"
#include "engine/rescue_fixture.hpp"

using namespace criu;
namespace fs = std::filesystem;
using test::freezerHierarchy;
using test::JournalFolder;
using test::ownPidNamespace;

TEST_CASE("rescue removes the temporary links of a killed dump", "[rescue]") {
    JournalFolder folder;
    folder.begin();
    CHECK_THAT(folder.rescue(), Catch::Contains("removed the temporary link") && Catch::Contains("link_remap.1"));
    CHECK_FALSE(folder.hasLink());
    CHECK_FALSE(fs::exists(folder.journal()));
    CHECK(folder.rescue() == "Nothing to do\n");
}

TEST_CASE("rescue doesn't touch what a running dump has changed", "[rescue]") {
    JournalFolder folder;
    folder.begin();
    const UniqueFd lock(::open(folder.journal().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(::flock(lock.get(), LOCK_EX) == 0);
    CHECK(folder.rescue() == "Nothing to do\n");
    CHECK(folder.hasLink());
    CHECK(fs::exists(folder.journal()));
}

TEST_CASE("rescue keeps the links of a dump that has ended its tree", "[rescue]") {
    JournalFolder folder;
    folder.begin(ownPidNamespace(), ::getpid(), JournalFolder::startTime() + 1);
    folder.lines().record({"ends"});
    CHECK(folder.rescue() == "Nothing to do\n");
    CHECK(folder.hasLink());
    CHECK_FALSE(fs::exists(folder.journal()));
}

TEST_CASE("rescue reverts a dump that was killed before it ended its tree", "[rescue]") {
    JournalFolder folder;
    folder.begin();
    folder.lines().record({"ends"});
    (void)folder.rescue();
    CHECK_FALSE(folder.hasLink());
}

TEST_CASE("rescue leaves journals of other pid namespaces", "[rescue]") {
    // In the initial pid namespace, rescue reverts journals of namespaces that have ended.
    const auto member = static_cast<pid_t>(::syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0));
    if (member == 0)
        for (;;)
            ::pause();
    if (member < 0) {
        WARN("skipped: this user can't create pid namespaces");
        return;
    }
    JournalFolder folder;
    folder.begin(kernel::readNamespaceId(kernel::ProcDir().open(member), kernel::NamespaceKind::Pid).value(),
                 ::getpid(), JournalFolder::startTime());
    CHECK(folder.rescue() == "Nothing to do\n");
    CHECK(folder.hasLink());
    CHECK(fs::exists(folder.journal()));
    ::kill(member, SIGKILL);
    CHECK(::waitpid(member, nullptr, 0) == member);
}

TEST_CASE("rescue removes no file that another process has created", "[rescue]") {
    JournalFolder folder;
    folder.begin();
    SECTION("with the name of a temporary link") {
        folder.recordLink("link_remap.1", "/other");
        (void)folder.rescue();
        CHECK(folder.has("/other"));
    }
    SECTION("with another name") {
        folder.recordLink("other", "/other");
        CHECK_THAT(folder.rescue(1), Catch::Contains("the journal is damaged"));
        CHECK(folder.has("/other"));
        CHECK_FALSE(folder.hasLink());
    }
}

TEST_CASE("rescue thaws the cgroup that a killed dump has frozen", "[rescue]") {
    const std::string hierarchy = freezerHierarchy();
    const std::string group = hierarchy + "/criu-rescue-test-" + std::to_string(::getpid());
    if (hierarchy.empty() || ::mkdir(group.c_str(), 0755) != 0) {
        WARN("skipped: no writable hierarchy of cgroups with a freezer");
        return;
    }
    const bool unified = fs::exists(group + "/cgroup.freeze");
    const std::string control = group + (unified ? "/cgroup.freeze" : "/freezer.state");
    const std::string frozen = unified ? "1" : "FROZEN";
    const std::string thawed = unified ? "0" : "THAWED";
    struct stat status {};
    REQUIRE(::stat(group.c_str(), &status) == 0);
    const auto state = [&] {
        std::string text;
        std::ifstream(control) >> text;
        return text;
    };
    std::ofstream(control) << frozen;
    REQUIRE(state() == frozen);
    JournalFolder folder;
    folder.begin();
    folder.lines().record({"freeze", std::to_string(status.st_dev), std::to_string(status.st_ino), group});
    SECTION("if the dump was killed while it was frozen") {
        CHECK_THAT(folder.rescue(), Catch::Contains("thawed the cgroup " + group));
        CHECK(state() == thawed);
    }
    SECTION("unless the dump has thawed it") {
        folder.lines().record({"thawed"});
        (void)folder.rescue();
        CHECK(state() == frozen);
    }
    std::ofstream(control) << thawed;
    ::rmdir(group.c_str());
}

TEST_CASE("rescue removes the network lock of a killed dump", "[rescue]") {
    if (!kernel::Nftables::available()) {
        WARN("skipped: libnftables isn't installed");
        return;
    }
    test::inNewNetwork([] {
        const auto tables = [] { return kernel::Nftables().run("list tables inet\n"); };
        kernel::Nftables().run("add table inet CRIU-0123-ab\nadd table inet kept\n");
        JournalFolder folder;
        folder.begin();
        const auto network = kernel::namespaceInode(kernel::openOwnNamespace(kernel::NamespaceKind::Net).get());
        folder.lines().record({"table", "inet CRIU-0123-ab", std::to_string(network)});
        CHECK_THAT(folder.rescue(), Catch::Contains("removed the network lock \"inet CRIU-0123-ab\""));
        CHECK_THAT(tables(), !Catch::Contains("CRIU-") && Catch::Contains("kept"));
    });
}

TEST_CASE("rescue removes the iptables rules of a killed dump", "[rescue]") {
    const kernel::Iptables iptables(kernel::Iptables::Family::V4);
    if (!iptables.available()) {
        WARN("skipped: iptables isn't installed");
        return;
    }
    test::inNewNetwork([&] {
        sockets::InetConnection connection;
        connection.local.words[0] = connection.remote.words[0] = htonl(INADDR_LOOPBACK);
        connection.local.port = 80;
        connection.remote.port = 4000;
        iptables.run(sockets::iptablesInsertions({&connection, 1}, AF_INET));
        iptables.run("*filter\n-A INPUT -p tcp --dport 81 -j DROP\nCOMMIT\n");
        REQUIRE_THAT(iptables.filterRules(), Catch::Contains("--dport 80 "));
        JournalFolder folder;
        folder.begin();
        const auto network = kernel::namespaceInode(kernel::openOwnNamespace(kernel::NamespaceKind::Net).get());
        const std::string method = std::to_string(sockets::networkLockNumber(model::NetworkLock::Iptables));
        folder.lines().record({"rules", std::to_string(network), method, "0123-ab", "connections"});
        folder.lines().record({"connection", connection.local.word(), connection.remote.word()});
        CHECK_THAT(folder.rescue(), Catch::Contains("removed the network lock of the tree"));
        CHECK_THAT(iptables.filterRules(), !Catch::Contains("--dport 80 ") && Catch::Contains("--dport 81 "));
    });
}

TEST_CASE("rescue restores options of sockets that a killed dump has changed", "[rescue]") {
    test::inNewNetwork([] {
        const auto make = [](int reuse) {
            UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
            REQUIRE(::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse)) == 0);
            return socket;
        };
        const auto reuses = [](const UniqueFd& socket) {
            int value = -1;
            socklen_t size = sizeof(value);
            REQUIRE(::getsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &value, &size) == 0);
            return value != 0;
        };
        const UniqueFd in = make(1), out = make(1), other = make(0);
        for (const UniqueFd* const each : {&in, &out, &other})
            sockets::enterRepair(each->get());
        sockets::leaveRepair(out.get());
        CHECK_FALSE(reuses(out));
        JournalFolder folder;
        folder.begin();
        const auto inode = [](const UniqueFd& socket) {
            struct stat status {};
            REQUIRE(::fstat(socket.get(), &status) == 0);
            return status.st_ino;
        };
        kernel::recordOptions({{inode(in), {{SO_REUSEADDR, 1}}}, {inode(out), {{SO_REUSEADDR, 1}, {SO_PEEK_OFF, 5}}}},
                              folder.lines());
        CHECK_THAT(folder.rescue(), Catch::Contains("ended the repair mode of 2 TCP sockets"));
        CHECK(reuses(in));
        CHECK(reuses(out));
        CHECK_FALSE(reuses(other));
        int offset = 0;
        socklen_t size = sizeof(offset);
        if (::getsockopt(out.get(), SOL_SOCKET, SO_PEEK_OFF, &offset, &size) == 0)  // Linux 6.9
            CHECK(offset == 5);
    });
}

TEST_CASE("rescue restores the settings of a terminal that a killed dump was reading", "[rescue]") {
    const UniqueFd master(::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!master) {
        WARN("skipped: no pseudoterminals here");
        return;
    }
    kernel::setPtyLocked(master.get(), false);
    const UniqueFd slave(kernel::openSlaveOf(master.get(), O_RDWR | O_NOCTTY | O_CLOEXEC));
    REQUIRE(slave.get() >= 0);
    const auto before = kernel::readLineSettings(slave.get());
    REQUIRE(before);
    kernel::LineSettings locked;
    locked.local = ISIG;
    JournalFolder folder;
    folder.begin();
    const tty::RecordedMaster where{HostPid(::getpid()), JournalFolder::startTime(), master.get(),
                                    kernel::ptyNumber(master.get())};
    tty::recordTerminal(where, true, *before, locked, folder.lines());
    // The state in which a killed criu leaves the terminal.
    kernel::LineSettings raw = *before;
    raw.local &= ~static_cast<std::uint32_t>(ICANON);
    kernel::writeLineSettings(slave.get(), raw);
    SECTION("killed between begin and end") {
        CHECK_THAT(folder.rescue(), Catch::Contains("restored the settings of /dev/pts/"));
        CHECK(kernel::inPacketMode(master.get()));
        CHECK(kernel::readLineSettings(slave.get()) == before);
        CHECK(kernel::readLockedSettings(slave.get()) == locked);
    }
    SECTION("the program has set up the terminal since") {
        kernel::LineSettings own = *before;
        own.local &= ~static_cast<std::uint32_t>(ECHO);
        kernel::writeLineSettings(slave.get(), own);
        CHECK_THAT(folder.rescue(), Catch::Contains("restored the settings of /dev/pts/"));
        CHECK(kernel::inPacketMode(master.get()));
        CHECK(kernel::readLineSettings(slave.get()) == own);
    }
    SECTION("killed after the end") {
        tty::recordTerminalEnd(folder.lines());
        CHECK_THAT(folder.rescue(), !Catch::Contains("restored the settings"));
        CHECK_FALSE(kernel::inPacketMode(master.get()));
        CHECK(kernel::readLineSettings(slave.get()) == raw);
    }
}

namespace {

/// Child that reads bytes in a loop. SIGUSR1 makes the child begin the loop again, so that it leaves the code of criu.
class ReadingChild {
public:
    ReadingChild() {
        int ends[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        socket_ = UniqueFd(ends[0]);
        const UniqueFd itsSocket(ends[1]);
        pid_ = ::fork();
        if (pid_ == 0)
            run(itsSocket.get());
        char byte = 0;
        REQUIRE(::read(socket_.get(), &byte, 1) == 1);
    }

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    [[nodiscard]] std::string maps() const {
        std::ifstream file("/proc/" + std::to_string(pid_) + "/maps");
        return std::string(std::istreambuf_iterator<char>(file), {});
    }

    /// Ends the loop. Returns true if the child has read all bytes.
    [[nodiscard]] bool endsWell() const {
        int status = 0;
        return ::write(socket_.get(), "aaz", 3) == 3 && ::waitpid(pid_, &status, 0) == pid_ && WIFEXITED(status) &&
               WEXITSTATUS(status) == 'z';
    }

private:
    [[noreturn]] static void run(int socket) {
        static sigjmp_buf begin;
        char byte = 0;
        if (sigsetjmp(begin, 1) == 0)
            ::signal(SIGUSR1, [](int) { siglongjmp(begin, 1); });
        if (::write(socket, "b", 1) != 1)
            ::_exit(1);
        while (::read(socket, &byte, 1) == 1 && byte == 'a')
            continue;
        ::_exit(byte);
    }

    UniqueFd socket_;
    pid_t pid_ = 0;
};

}  // namespace

TEST_CASE("rescue unmaps memory of a killed dump in a process", "[rescue]") {
    const ReadingChild child;
    const std::string before = child.maps();
    kernel::ProcBuffer buffer;
    const std::uint64_t startTime = kernel::readStat(kernel::ProcDir().open(child.pid()), buffer).startTime;
    JournalFolder folder;
    folder.begin(ownPidNamespace(), child.pid(), startTime);
    const auto inject = [&] {
        auto process = compel::FrozenProcess::freeze(child.pid());
        constexpr std::uint64_t kData = 10000;
        pie::recordInjection(pie::InjectedBlob::Interpreter, HostPid(child.pid()), startTime, kData, folder.lines());
        compel::Injection injection(process.leader(), pie::interpreterBlob(), kData, process.syscallInstruction());
        const auto code = injection.code();
        injection.leave();
        return code;
    };
    SECTION("once") {
        (void)inject();
        CHECK(child.maps() != before);
        CHECK_THAT(folder.rescue(),
                   Catch::Contains("unmapped memory of criu in process " + std::to_string(child.pid())));
        CHECK(child.maps() == before);
    }
    SECTION("when no thread executes it any more") {
        const auto code = inject();
        const auto& blob = pie::interpreterBlob().bytes;
        const auto call = std::search(blob.begin(), blob.end(), compel::syscallInstructionBytes.begin(),
                                      compel::syscallInstructionBytes.end());
        REQUIRE(call != blob.end());
        {
            auto process = compel::FrozenProcess::freeze(child.pid());
            compel::Registers sleeping = process.leader().registers().restarted();
            sleeping.setCall(SYS_ppoll, {}, code + static_cast<std::uint64_t>(call - blob.begin()));
            process.leader().setRegisters(sleeping);
        }
        std::thread waker([&child] {
            // Longer than rescue waits for threads that don't execute code of criu.
            std::this_thread::sleep_for(std::chrono::seconds(3));
            ::kill(child.pid(), SIGUSR1);
        });
        const std::string answer = folder.rescue();
        waker.join();
        CHECK_THAT(answer, Catch::Contains("unmapped memory of criu in process " + std::to_string(child.pid())));
        CHECK(child.maps() == before);
    }
    SECTION("unless other memory is there now") {
        auto code = inject();
        {
            auto process = compel::FrozenProcess::freeze(child.pid());
            constexpr std::uint8_t kOther = 0;
            process.memory().writeValue(code, kOther);
        }
        const std::string changed = child.maps();
        CHECK_THAT(folder.rescue(), !Catch::Contains("unmapped"));
        CHECK(child.maps() == changed);
    }
    CHECK(child.endsWell());
}
