// SPDX-License-Identifier: GPL-2.0-only
#include "criu/cgroup/freezer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/base/journal.hpp"
#include "criu/cgroup/hierarchies.hpp"
#include "criu/cgroup/properties.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::cgroup {
namespace {

constexpr const char* kState = "freezer.state";
constexpr const char* kFreeze = "cgroup.freeze";

std::string valueOf(int group, const std::string& name) {
    const auto property = readProperty(group, name);
    if (!property)
        failWith(ENOENT, "read {}", name);
    return property->value;
}

/// Writes one of the values, for version 2 or 1, unless the cgroup has it. Returns true if it wrote.
bool setOther(int group, const char* unified, const char* first) {
    const bool isUnified = ::faccessat(group, kFreeze, F_OK, 0) == 0;
    const char* const name = isUnified ? kFreeze : kState;
    const char* const value = isUnified ? unified : first;
    if (valueOf(group, name) == value)
        return false;
    writeFile(group, name, value);
    return true;
}

}  // namespace

UniqueFd Freezer::open(const std::string& path) {
    UniqueFd group(sys(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open cgroup {}", path));
    if (::faccessat(group.get(), kFreeze, F_OK, 0) != 0 && ::faccessat(group.get(), kState, F_OK, 0) != 0)
        fail("cgroup {}: can't be frozen: it has neither {} nor {}", path, kState, kFreeze);
    return group;
}

Freezer::Freezer(const std::string& path, std::chrono::seconds timeout, StopRequest& stop, Journal* journal)
    : group_(open(path)), path_(path), unified_(::faccessat(group_.get(), kFreeze, F_OK, 0) == 0) {
    const ErrorContext context([&] { return fmt::format("cgroup {}", path); });
    wasFrozen_ = valueOf(group_.get(), unified_ ? kFreeze : kState) != (unified_ ? "0" : "THAWED");
    if (journal != nullptr && !wasFrozen_) {
        struct stat status {};
        sys(::fstat(group_.get(), &status), "stat it");
        journal->record({"freeze", fmt::format("{}", status.st_dev), fmt::format("{}", status.st_ino),
                         kernel::ProcDir().self().readLink(fmt::format("fd/{}", group_.get()))});
    }
    try {
        set(true);
        const auto deadline = std::chrono::steady_clock::now() + timeout;
        while (!isFrozen()) {
            stop.throwIfRequested();
            if (timeout.count() > 0 && std::chrono::steady_clock::now() >= deadline)
                failWith(ETIMEDOUT, "freeze it");
            constexpr useconds_t kPause = 1000;
            ::usleep(kPause);
        }
    } catch (...) {
        restoreQuietly();
        throw;
    }
}

bool Freezer::thawOther(int group) {
    return setOther(group, "0", "THAWED");
}

bool Freezer::freezeOther(int group) {
    return setOther(group, "1", "FROZEN");
}

Freezer::~Freezer() {
    restoreQuietly();
}

void Freezer::restoreQuietly() noexcept {
    try {
        restore();
    } catch (const std::exception&) {
        return;  // ignores the failure: the cgroup was removed
    }
}

void Freezer::restore() {
    if (frozen_ != wasFrozen_) {
        const ErrorContext context([&] { return fmt::format("cgroup {}", path_); });
        set(wasFrozen_);
    }
}

void Freezer::set(bool frozen) {
    if (unified_)
        writeFile(group_.get(), kFreeze, frozen ? "1" : "0");
    else
        writeFile(group_.get(), kState, frozen ? "FROZEN" : "THAWED");
    frozen_ = frozen;
}

bool Freezer::isFrozen() const {
    if (!unified_)
        return valueOf(group_.get(), kState) == "FROZEN";
    return valueOf(group_.get(), "cgroup.events").find("frozen 1") != std::string::npos;
}

void Freezer::thaw() {
    const ErrorContext context([&] { return fmt::format("cgroup {}", path_); });
    set(false);
}

}  // namespace criu::cgroup
