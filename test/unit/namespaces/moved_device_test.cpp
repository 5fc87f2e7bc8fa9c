// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/net/moved_device.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "criu/base/journal.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/net/rtnl_links.hpp"
#include "criu/kernel/proc/proc_ns.hpp"

using namespace criu;

namespace {

/// Keeps a pin that a killed criu leaves, because its destructor would remove the mount.
void forget(std::unique_ptr<criu::namespaces::NetworkPin> pin) {
    static std::vector<std::unique_ptr<criu::namespaces::NetworkPin>>* const kept =
        new std::vector<std::unique_ptr<criu::namespaces::NetworkPin>>;
    kept->push_back(std::move(pin));
}

std::string readAll(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the number of mounted network namespaces that the calling thread sees.
std::size_t countPins() {
    const std::string all = readAll("/proc/thread-self/mountinfo");
    std::size_t count = 0;
    for (std::size_t at = all.find(" net:["); at != std::string::npos; at = all.find(" net:[", at + 1))
        ++count;
    return count;
}

}  // namespace

TEST_CASE("rescue returns a device that a killed restore has moved into the tree", "[rescue]") {
    kernel::runInThread([] {
        if (::unshare(CLONE_NEWNS | CLONE_NEWNET) != 0) {
            WARN("skipped: this user can't create mount and network namespaces");
            return;
        }
        char folder[] = "/tmp/moved-XXXXXX";
        REQUIRE(::mkdtemp(folder) != nullptr);
        REQUIRE(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
        REQUIRE(::mount("none", folder, "tmpfs", 0, nullptr) == 0);
        REQUIRE(::mount("none", folder, nullptr, MS_SHARED, nullptr) == 0);
        const std::size_t before = countPins();
        const UniqueFd home = kernel::openOwnNamespace(kernel::NamespaceKind::Net);
        kernel::NewLink spare;
        spare.name = "spare0";
        spare.kind = "veth";
        kernel::NewLink peer;
        peer.name = "spare1";
        spare.otherEnd = &peer;
        kernel::makeLink(spare);
        const kernel::NetworkLink device = kernel::readLink(kernel::linkIndex("spare0"));
        UniqueFd tree;
        kernel::runInThread([&] {
            REQUIRE(::unshare(CLONE_NEWNET) == 0);
            tree = kernel::openOwnNamespace(kernel::NamespaceKind::Net);
        });
        Journal journal;
        journal.open(UniqueFd(::openat(AT_FDCWD, (std::string(folder) + "/journal").c_str(),
                                       O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600)),
                     UniqueFd(::open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
        constexpr std::uint32_t kIndex = 77;
        const auto move = [&](const namespaces::NetworkPin& pin) {
            pin.recordMove(device, kIndex, home.get());
            kernel::changeLink(device.index, {.network = tree.get(), .newIndex = kIndex, .newName = "eth0"});
        };
        auto pin = std::make_unique<namespaces::NetworkPin>(tree.get(), journal);
        CHECK(countPins() == before + 1);
        SECTION("after a run, no mount is left, also in a copy of the mount namespace") {
            UniqueFd copy;
            kernel::runInThread([&] {
                REQUIRE(::unshare(CLONE_NEWNS) == 0);
                copy = kernel::openOwnNamespace(kernel::NamespaceKind::Mount);
            });
            const auto countThere = [&] {
                std::size_t count = 0;
                kernel::runInThread([&] {
                    REQUIRE(::unshare(CLONE_FS) == 0);
                    REQUIRE(::setns(copy.get(), CLONE_NEWNS) == 0);
                    count = countPins();
                });
                return count;
            };
            CHECK(countThere() == before + 1);
            pin.reset();
            CHECK(countThere() == before);
            CHECK(countPins() == before);
        }
        SECTION("after a kill") {
            move(*pin);
            forget(std::move(pin));
            tree.reset();  // the tree has ended
            const auto lines = parseJournal(readAll(std::string(folder) + "/journal"));
            REQUIRE(lines.size() == 2);
            CHECK(namespaces::returnDevice(lines.at(1), journal.directory()));
            CHECK(kernel::readLink(kernel::linkIndex("spare0")).index == device.index);
            namespaces::removePin(lines.at(0), journal.directory());
            CHECK(countPins() == before);
        }
        SECTION("after a kill before the move") {
            pin->recordMove(device, kIndex, home.get());
            forget(std::move(pin));
            const auto lines = parseJournal(readAll(std::string(folder) + "/journal"));
            CHECK_FALSE(namespaces::returnDevice(lines.at(1), journal.directory()));
            namespaces::removePin(lines.at(0), journal.directory());
            CHECK(countPins() == before);
        }
        journal.close();
        CHECK(::umount2(folder, MNT_DETACH) == 0);
        CHECK(::rmdir(folder) == 0);
    });
}
